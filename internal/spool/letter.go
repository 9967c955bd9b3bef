package spool

import (
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
// has none is durable. The caller holds the mailbox lock.
func (b Box) StoreAll(letters []*Letter, batch *Batch) {
	write := func(l *Letter) { l.temp, l.Err = writeTemp(b.FS, b.Path(Outbox), FileName(l.ID), l.Data) }
	if batch.Parallel > 1 && len(letters) > 1 {
		var wg sync.WaitGroup
		slots := make(chan struct{}, batch.Parallel)
		for _, l := range letters {
			slots <- struct{}{}
			wg.Go(func() {
				write(l)
				<-slots
			})
		}
		wg.Wait()
	} else {
		for _, l := range letters {
			write(l)
		}
	}
	for _, l := range letters {
		if l.Err == nil {
			l.Err = b.name(l, batch)
		}
	}
	if err := batch.Flush(); err != nil {
		b.withdraw(letters, err)
	}
}

// name gives a written letter its names: the keys first, so that no message is
// sent whose key a repeat would not find.
func (b Box) name(l *Letter, batch *Batch) error {
	for i, key := range l.Keys {
		if err := b.linkKey(l.temp, key); err != nil {
			b.FS.Remove(l.temp)
			b.dropKeys(l.Keys[:i])
			return err
		}
		if key.Kept {
			batch.Dir(b.FS, b.Path(Keys))
		}
	}
	if err := b.FS.Move(l.temp, b.Path(Outbox, FileName(l.ID))); err != nil {
		b.FS.Remove(l.temp)
		b.dropKeys(l.Keys)
		return err
	}
	batch.Dir(b.FS, b.Path(Outbox))
	return nil
}

// withdraw takes back letters that are not known to be durable: they must not
// be sent behind their author's back.
func (b Box) withdraw(letters []*Letter, err error) {
	for _, l := range letters {
		if l.Err == nil {
			b.FS.Remove(b.Path(Outbox, FileName(l.ID)))
			b.dropKeys(l.Keys)
			l.Err = err
		}
	}
}
