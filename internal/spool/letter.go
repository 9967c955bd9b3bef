package spool

import (
	"errors"
	"io/fs"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// mostOpen bounds how many files are open at once, waiting for their syncs.
const mostOpen = 256

// Letter is one stamped message on its way into an outbox.
type Letter struct {
	ID   mail.ID
	Data []byte
	Keys []Key
	// Err is valid after StoreAll; fs.ErrExist: the id is taken.
	Err error

	temp string
	info fs.FileInfo // of the file as it was written
}

// Draft is the letter as it stands in the outbox, if StoreAll had no error.
func (l *Letter) Draft() Draft {
	return Draft{Dir: Outbox, Name: FileName(l.ID), Data: l.Data, Info: l.info, Digest: mail.DigestOf(l.Data)}
}

// Unchanged reports whether the outbox file is the very one that d was read
// from, or written to, and nobody has written to it since.
func (b Box) Unchanged(d Draft) bool {
	if d.Info == nil {
		return false
	}
	fi, err := b.FS.Lstat(b.Path(d.Dir, d.Name))
	return err == nil && fi.Mode().IsRegular() && vfs.SameFile(fi, d.Info) && fi.Size() == d.Info.Size() && fi.ModTime().Equal(d.Info.ModTime())
}

// StoreAll puts stamped messages into the outbox, durably: their data is synced
// side by side, the directories once. Each letter keeps its own error; one that
// has none is durable. After any error but fs.ErrExist the letter is not in the
// outbox any more; a router may have taken it from there meanwhile, so look
// before saying that nothing was sent. The caller holds the mailbox lock.
func (b Box) StoreAll(letters []*Letter, batch *Batch) { b.store(letters, batch, false) }

// StoreInOrder is StoreAll for letters that may not overtake each other: behind
// one that could not be stored (fs.ErrExist is no such error) none is, and has its
// error.
func (b Box) StoreInOrder(letters []*Letter, batch *Batch) { b.store(letters, batch, true) }

func (b Box) store(letters []*Letter, batch *Batch, inOrder bool) {
	defer vfs.Hold(b.FS)()
	b.writeAll(letters, batch.Parallel)
	b.linkKept(letters, batch)
	var before error
	for _, l := range letters {
		if before != nil && l.Err == nil {
			l.Err = before
			b.discard(l)
		}
		if l.Err == nil {
			l.Err = b.name(l)
		}
		if inOrder && l.Err != nil && !errors.Is(l.Err, fs.ErrExist) {
			before = l.Err
		}
		if l.Err == nil {
			batch.Dir(b.FS, b.Path(Outbox))
		}
	}
	if err := batch.Flush(); err != nil {
		for _, l := range letters {
			if l.Err == nil {
				l.Err = b.takeBack(l.ID, err)
			}
		}
	}
}

// writeAll writes the letters under temporary names and makes them durable,
// width at once: the kernel groups syncs that run side by side.
func (b Box) writeAll(letters []*Letter, width int) {
	syncs := Batch{Parallel: width}
	for i, l := range letters {
		var f vfs.File
		if l.temp, f, l.Err = beginTemp(b.FS, b.Path(Outbox), FileName(l.ID), l.Data); l.Err != nil {
			continue
		}
		syncs.Do(func() error {
			l.info, _ = f.Stat() // nil: whoever wants to know looks itself
			l.Err = endTemp(b.FS, l.temp, f)
			return l.Err
		})
		if width < 2 || i%mostOpen == mostOpen-1 {
			syncs.Flush()
		}
	}
	syncs.Flush()
}

// linkKept makes the keys that hold for ever durable, before any message is.
func (b Box) linkKept(letters []*Letter, batch *Batch) {
	var linked []*Letter
	for _, l := range letters {
		for _, key := range l.Keys {
			if l.Err == nil && key.Kept {
				l.Err = b.linkKey(l.temp, key)
				linked = append(linked, l)
			}
		}
	}
	if len(linked) == 0 {
		return
	}
	batch.Dir(b.FS, b.Path(Keys))
	err := batch.Flush()
	for _, l := range linked {
		if l.Err == nil {
			l.Err = err
		}
		if l.Err != nil {
			b.discard(l)
		}
	}
}

// name gives a written letter its name in the outbox, its loose keys first.
func (b Box) name(l *Letter) error {
	for _, key := range l.Keys {
		if key.Kept {
			continue
		}
		if err := b.linkKey(l.temp, key); err != nil {
			b.discard(l)
			return err
		}
	}
	err := b.FS.Move(l.temp, b.Path(Outbox, FileName(l.ID)))
	if err != nil {
		b.discard(l)
	}
	return err
}

// linkKey gives a key to a new message, taking it from one that no longer
// suppresses anything.
func (b Box) linkKey(temp string, key Key) error {
	err := b.FS.Link(temp, b.Path(Keys, key.Name))
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := b.FS.Remove(b.Path(Keys, key.Name)); err != nil {
		return err
	}
	return b.FS.Link(temp, b.Path(Keys, key.Name))
}

// discard removes a letter that was never in the outbox, and its keys.
func (b Box) discard(l *Letter) {
	for _, key := range l.Keys {
		b.FS.Remove(b.Path(Keys, key.Name))
	}
	b.FS.Remove(l.temp)
}
