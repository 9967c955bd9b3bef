package spool

import (
	"errors"
	"io/fs"
	"sync"

	"github.com/postroom/postroom/internal/mail"
)

// Letter is one stamped message on its way into an outbox.
type Letter struct {
	ID   mail.ID
	Data []byte
	Keys []Key
	// Err is valid after StoreAll; fs.ErrExist: the id is taken.
	Err error

	temp string
}

// StoreAll puts stamped messages into the outbox, durably: their data is synced
// side by side, the directories once. Each letter keeps its own error; one that
// has none is durable. After any error but fs.ErrExist the letter is not in the
// outbox any more; a router may have taken it from there meanwhile, so look
// before saying that nothing was sent. The caller holds the mailbox lock.
func (b Box) StoreAll(letters []*Letter, batch *Batch) {
	b.writeAll(letters, batch.Parallel)
	b.linkKept(letters, batch)
	for _, l := range letters {
		if l.Err == nil {
			l.Err = b.name(l)
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

// writeAll writes the letters under temporary names, width at once.
func (b Box) writeAll(letters []*Letter, width int) {
	write := func(l *Letter) { l.temp, l.Err = writeTemp(b.FS, b.Path(Outbox), FileName(l.ID), l.Data) }
	if width < 2 || len(letters) < 2 {
		for _, l := range letters {
			write(l)
		}
		return
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, width)
	for _, l := range letters {
		slots <- struct{}{}
		wg.Go(func() {
			write(l)
			<-slots
		})
	}
	wg.Wait()
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
