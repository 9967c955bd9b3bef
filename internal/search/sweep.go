package search

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
)

// sweep looks again for messages that had no copy, and, once in the life of an
// index, for copies that the journal has nothing of.
func (x *Index) sweep(ctx context.Context, t *Taken) error {
	var swept, missing int
	if err := x.db.QueryRowContext(ctx, `SELECT swept, (SELECT count(*) FROM missing) FROM meta`).Scan(&swept, &missing); err != nil {
		return err
	}
	if swept == 1 && missing == 0 {
		return nil
	}
	return x.patiently(ctx, func(tx *sql.Tx) error {
		b, err := newBatch(ctx, x.Office, tx)
		if err != nil {
			return err
		}
		if err := b.lookAgain(); err != nil {
			return err
		}
		if swept == 0 {
			if err := b.strays(); err != nil {
				return err
			}
			if err := b.exec(`UPDATE meta SET swept = 1`); err != nil {
				return err
			}
		}
		t.Messages += b.new
		return b.put()
	})
}

// lookAgain tries the newest messages that had no copy. What the journal told of
// them meanwhile is told again.
func (b *batch) lookAgain() error {
	ids, err := b.list(`SELECT id FROM missing ORDER BY id DESC LIMIT ?`, missingRetries)
	if err != nil {
		return err
	}
	for _, id := range ids {
		var digest string
		if err := b.tx.QueryRowContext(b.ctx, `SELECT digest FROM missing WHERE id = ?`, string(id)).Scan(&digest); err != nil {
			return err
		}
		why, err := b.message(b.next, id, mail.Digest(digest))
		if err != nil {
			return err
		}
		if why != "" {
			continue
		}
		b.rows[id] = b.next
		b.next++
		if err := b.exec(`DELETE FROM missing WHERE id = ?`, string(id)); err != nil {
			return err
		}
		err = journal.EachMatching(b.o.FS, id.Time().Add(-settleTime), []byte(id), func(r journal.Record) error {
			if r.ID != id || r.N > b.pos.N {
				return nil
			}
			return b.record(r)
		})
		if err != nil && mail.KindOf(err) != mail.KindCorrupt {
			return err
		}
	}
	return nil
}

func (b *batch) list(query string, args ...any) (ids []mail.ID, err error) {
	rows, err := b.tx.QueryContext(b.ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, mail.ID(id))
	}
	return ids, rows.Err()
}

// strays takes in the copies that the journal has nothing of, as older than all
// else: the oldest has the least row.
func (b *batch) strays() error {
	newest := b.o.Sys.Now().Add(-settleTime)
	told, err := b.list(`SELECT id FROM missing`) // and their copies are unsound
	if err != nil {
		return err
	}
	var ids []mail.ID
	err = copies(b.o, func(id mail.ID) error {
		if id.Time().After(newest) || slices.Contains(told, id) {
			return nil
		}
		row, err := b.known(id)
		if row == 0 {
			ids = append(ids, id)
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	row := min(b.first, 0)
	for _, id := range ids {
		why, err := b.message(row-1, id, "")
		if err != nil {
			return err
		}
		if why == "" {
			row--
			b.rows[id] = row
		}
	}
	return nil
}

// copies lists the office's copies, month by month.
func copies(o *office.Office, fn func(mail.ID) error) error {
	months, err := o.FS.ReadNames(office.MessagesDir)
	if err != nil {
		return err
	}
	slices.Sort(months)
	for _, month := range months {
		names, err := o.FS.ReadNames(office.MessagesDir + "/" + month)
		if err != nil {
			continue // no directory of ours
		}
		slices.Sort(names)
		for _, name := range names {
			id := mail.ID(strings.TrimSuffix(name, ".json"))
			if !id.Valid() || id.Month() != month || string(id)+".json" != name {
				continue
			}
			if err := fn(id); err != nil {
				return err
			}
		}
	}
	return nil
}
