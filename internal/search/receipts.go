package search

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// receiptChunk is how much of one owner's receipts is read at a time, in bytes.
const receiptChunk = 1 << 20

// Receipts takes in what the owners of all mailboxes read and did since the last
// time: states come from there and not from the journal, which has them later and
// does not tell a part of a body from all of it. A mailbox that can't be read is
// named in blind, and what its owner did is not known.
func (x *Index) Receipts(ctx context.Context) (blind []string, err error) {
	return x.receiptsBy(ctx, x.Registry.All())
}

func (x *Index) receiptsBy(ctx context.Context, owners iter.Seq[registry.Entry]) (blind []string, err error) {
	known, err := x.read(ctx)
	if err != nil {
		return nil, x.failed(err)
	}
	for e := range owners {
		at, ok := known[e.AID]
		if !ok {
			continue // it never got anything
		}
		for whole := x.unchanged(e, at); !whole; {
			var looked error
			err := x.patiently(ctx, func(tx *sql.Tx) error {
				whole, looked, err = x.receiptsOf(ctx, tx, e)
				return err
			})
			if err != nil {
				return blind, x.failed(err)
			}
			if looked != nil {
				blind, whole = append(blind, e.Name), true
			}
		}
	}
	return blind, nil
}

// unchanged reports that an owner has written nothing since. In doubt it is false:
// who reads on then finds out.
func (x *Index) unchanged(e registry.Entry, at place) bool {
	box, err := x.Office.Box(e)
	if err != nil {
		return false
	}
	fi, err := box.FS.Lstat(box.Path(spool.Receipts))
	if err != nil || !fi.Mode().IsRegular() {
		return errors.Is(err, fs.ErrNotExist)
	}
	_, ino, _ := vfs.Inode(fi)
	return at == place{int64(ino), fi.Size()}
}

// place is how far one owner's receipts have been read.
type place struct{ inode, end int64 }

func (x *Index) read(ctx context.Context) (map[string]place, error) {
	rows, err := x.db.QueryContext(ctx, `SELECT aid, inode, end FROM agent`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]place{}
	for rows.Next() {
		var aid string
		var p place
		if err := rows.Scan(&aid, &p.inode, &p.end); err != nil {
			return nil, err
		}
		out[aid] = p
	}
	return out, rows.Err()
}

// receiptsOf takes in a piece of one owner's receipts. looked is what the mailbox
// said, err what the index did.
func (x *Index) receiptsOf(ctx context.Context, tx *sql.Tx, e registry.Entry) (whole bool, looked, err error) {
	var n int64
	var at place
	if err := tx.QueryRowContext(ctx, `SELECT n, inode, end FROM agent WHERE aid = ?`, e.AID).Scan(&n, &at.inode, &at.end); err != nil {
		return false, nil, err
	}
	data, is, size, looked := x.receipts(e, at, receiptChunk)
	if looked != nil || len(data) == 0 {
		return true, looked, nil
	}
	list, _, used := mail.ParseReceipts(data)
	if used == 0 {
		if len(data) < receiptChunk {
			return true, nil, nil // a line that is being written
		}
		used = len(data) // no receipt is as long as that
	}
	if err := receive(ctx, tx, n, list); err != nil {
		return false, nil, err
	}
	if is != at.inode || size < at.end {
		at.end = 0
	}
	at.end += int64(used)
	_, err = tx.ExecContext(ctx, `UPDATE agent SET inode = ?, end = ? WHERE n = ?`, is, at.end, n)
	return at.end >= size || len(data) < receiptChunk, nil, err
}

// receive takes in what one owner says. What it got after the journal was read
// waits until that is read on.
func receive(ctx context.Context, tx *sql.Tx, agent int64, list []mail.Receipt) error {
	set, err := tx.PrepareContext(ctx, `UPDATE delivery SET state = max(state, ?1) WHERE agent = ?2 AND row = (SELECT row FROM message WHERE id = ?3)`)
	if err != nil {
		return err
	}
	for _, r := range list {
		state := unread
		switch {
		case r.Event == mail.EventDone:
			state = done
		case r.Event == mail.EventRead && r.Part == r.Parts:
			state = read
		}
		if state == unread {
			continue
		}
		res, err := set.ExecContext(ctx, state, agent, string(r.ID))
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			continue
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO early (agent, id, state) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET state = max(state, excluded.state)`,
			agent, string(r.ID), state); err != nil {
			return err
		}
	}
	return nil
}

// receipts reads at most limit bytes on from where the last time ended. A file
// that is another one, or shorter than it was, is read from its beginning: to
// take a receipt in twice changes nothing.
func (x *Index) receipts(e registry.Entry, at place, limit int64) (data []byte, is, size int64, err error) {
	box, err := x.Office.Box(e)
	if err != nil {
		return nil, 0, 0, err
	}
	f, err := box.FS.OpenFile(box.Path(spool.Receipts), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, at.inode, at.end, nil
	}
	if err != nil {
		return nil, 0, 0, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, 0, 0, err
	}
	if _, ino, ok := vfs.Inode(fi); ok {
		is = int64(ino)
	}
	if is != at.inode || fi.Size() < at.end {
		at.end = 0
	}
	data = make([]byte, min(limit, fi.Size()-at.end))
	n, err := f.ReadAt(data, at.end)
	if err == io.EOF {
		err = nil
	}
	return data[:n], is, fi.Size(), err
}
