package spool

import (
	"errors"
	"io/fs"
	"path"
	"strconv"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// Source is a stamped message file that was read and verified, about to be
// delivered.
type Source struct {
	FS   vfs.FS
	Path string
	Data []byte
	Info fs.FileInfo // of the file that was read
	// Link allows a hard link instead of a copy: sender and recipient both
	// live in the office, on one file system (limits: link, don't copy).
	Link bool
}

// Delivery says what Deliver found.
type Delivery int

// The outcomes of Deliver.
const (
	Fresh   Delivery = iota // it is in the inbox now
	Already                 // it was there, or its owner has dealt with it
)

// Deliver puts a message into the inbox. The caller syncs the inbox before
// anybody is told. A different file that squats on the name is set aside.
func (b Box) Deliver(src Source, id mail.ID) (Delivery, error) {
	name := FileName(id)
	err := b.put(src, name)
	if errors.Is(err, fs.ErrExist) {
		same, cerr := b.holds(b.Path(Inbox, name), src)
		if cerr != nil {
			return 0, cerr
		}
		if same {
			b.forget()
			return Already, nil
		}
		if err := b.setAside(Inbox, name); err != nil {
			return 0, err
		}
		err = b.put(src, name)
	}
	if err != nil {
		return 0, err
	}
	// Its owner may have moved it to .done between two passes, or just now: look
	// only after the link, so that there is no gap to fall into.
	handled, err := Exists(b.FS, b.Path(Done, name))
	if err != nil || !handled {
		return Fresh, err
	}
	return Already, b.FS.Remove(b.Path(Inbox, name))
}

func (b Box) put(src Source, name string) error { return b.putIn(b.Path(Inbox), name, src) }

func (b Box) putIn(dir, name string, src Source) error {
	if !src.Link || !b.Shared {
		return PutNew(b.FS, dir, name, src.Data)
	}
	target := path.Join(dir, name)
	if err := b.FS.Link(src.Path, target); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return err
		}
		return PutNew(b.FS, dir, name, src.Data) // no links here, too many, or gone
	}
	fi, err := b.FS.Lstat(target)
	if err == nil && vfs.SameFile(fi, src.Info) && fi.Size() == int64(len(src.Data)) {
		return nil
	}
	// The owner swapped the file after it was read: deliver what was read.
	if err := b.FS.Remove(target); err != nil {
		return err
	}
	return PutNew(b.FS, dir, name, src.Data)
}

func (b Box) holds(path string, src Source) (bool, error) {
	fi, err := b.FS.Lstat(path)
	if err != nil || !fi.Mode().IsRegular() {
		return false, err
	}
	if src.Info != nil && vfs.SameFile(fi, src.Info) && src.Link {
		return true, nil
	}
	data, _, err := ReadMail(b.FS, path)
	if err != nil {
		return false, nil
	}
	return mail.DigestOf(data) == mail.DigestOf(src.Data), nil
}

// setAside moves a squatter out of the way, under a hidden name that says so.
func (b Box) setAside(dir, name string) error {
	for n := 1; ; n++ {
		aside := b.Path(dir, ".stray-"+strconv.Itoa(n)+"-"+name)
		taken, err := Exists(b.FS, aside)
		if err != nil {
			return err
		}
		if !taken {
			return b.FS.Rename(b.Path(dir, name), aside)
		}
	}
}

// State says where a message is in its recipient's mailbox.
type State int

// Where a message can be.
const (
	Absent State = iota
	Waiting
	Handled
)

// Where looks for a message: .done first, since it is linked there before it
// leaves the inbox.
func (b Box) Where(id mail.ID) (State, error) {
	for _, look := range []struct {
		dir   string
		state State
	}{{Done, Handled}, {Inbox, Waiting}, {Done, Handled}} {
		ok, err := Exists(b.FS, b.Path(look.dir, FileName(id)))
		if err != nil {
			return Absent, err
		}
		if ok {
			return look.state, nil
		}
	}
	return Absent, nil
}

// Finish moves a message from the inbox to .done, durably. The caller holds the
// mailbox lock. false: it was not in the inbox.
func (b Box) Finish(id mail.ID, batch *Batch) (bool, error) {
	from, to := b.Path(Inbox, FileName(id)), b.Path(Done, FileName(id))
	if err := linkSame(b.FS, from, to); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return false, err
	}
	batch.Dir(b.FS, b.Path(Done))
	if err := batch.Flush(); err != nil {
		return false, err
	}
	if err := b.FS.Remove(from); err != nil {
		return false, err
	}
	batch.Dir(b.FS, b.Path(Inbox))
	return true, batch.Flush()
}

// FinishAll is Finish for many at once: each directory is synced once for all of
// them. What is not in the inbox is passed over. After an error some may stand in
// both places, which is no harm.
func (b Box) FinishAll(ids []mail.ID, batch *Batch) error {
	var moved []string
	for _, id := range ids {
		from := b.Path(Inbox, FileName(id))
		err := linkSame(b.FS, from, b.Path(Done, FileName(id)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		moved = append(moved, from)
	}
	if len(moved) == 0 {
		return nil
	}
	batch.Dir(b.FS, b.Path(Done))
	if err := batch.Flush(); err != nil {
		return err
	}
	for _, from := range moved {
		if err := b.FS.Remove(from); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	batch.Dir(b.FS, b.Path(Inbox))
	return batch.Flush()
}

// CopyTo gives the source a name in another directory of fsys: by link where
// the source allows it, else by copy. The caller syncs dir. fs.ErrExist: the
// name is taken.
func CopyTo(fsys vfs.FS, dir, name string, src Source) error {
	return Box{FS: fsys, Shared: true}.putIn(dir, name, src)
}
