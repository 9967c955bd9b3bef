package spool

import (
	"sync"

	"github.com/postroom/postroom/internal/vfs"
)

// Batch collects what must become durable together and syncs it side by side:
// the kernel groups syncs that are under way at once, never those that follow
// one another (limits: serial syncs cost their sum).
type Batch struct {
	// Parallel is how many syncs may run at once; 0 and 1 mean in order, which
	// tests that count calls rely on.
	Parallel int
	tickets  []*Ticket
	dirs     map[dirKey]*Ticket
}

type dirKey struct {
	fs  vfs.FS
	dir string
}

// Ticket is one thing to be made durable. Err is valid after Flush.
type Ticket struct {
	Err  error
	sync func() error
	file vfs.File // to be closed, or nil
}

// Dir asks for a directory's entries; each directory is synced once.
func (b *Batch) Dir(fsys vfs.FS, dir string) *Ticket {
	key := dirKey{fsys, dir}
	if t, ok := b.dirs[key]; ok {
		return t
	}
	if b.dirs == nil {
		b.dirs = make(map[dirKey]*Ticket)
	}
	t := b.add(func() error { return fsys.SyncDir(dir) })
	b.dirs[key] = t
	return t
}

// File asks for a file's data and closes it.
func (b *Batch) File(f vfs.File) *Ticket {
	t := b.add(func() error {
		err := f.Sync()
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		return err
	})
	t.file = f
	return t
}

// Do asks for anything else that ends in a sync.
func (b *Batch) Do(sync func() error) *Ticket { return b.add(sync) }

func (b *Batch) add(sync func() error) *Ticket {
	t := &Ticket{sync: sync}
	b.tickets = append(b.tickets, t)
	return t
}

// Leave forgets what was asked for since the last Flush, unsynced, and closes
// the files: somebody else makes it durable later.
func (b *Batch) Leave() {
	for _, t := range b.tickets {
		if t.file != nil {
			t.Err = t.file.Close()
		}
	}
	b.tickets, b.dirs = nil, nil
}

// Flush syncs everything asked for since the last Flush and returns the first
// error. Each ticket holds its own.
func (b *Batch) Flush() error {
	tickets := b.tickets
	b.tickets, b.dirs = nil, nil
	if b.Parallel > 1 && len(tickets) > 1 {
		flushParallel(tickets, b.Parallel)
	} else {
		for _, t := range tickets {
			t.Err = t.sync()
		}
	}
	for _, t := range tickets {
		if t.Err != nil {
			return t.Err
		}
	}
	return nil
}

func flushParallel(tickets []*Ticket, width int) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, width)
	for _, t := range tickets {
		slots <- struct{}{}
		wg.Go(func() {
			t.Err = t.sync()
			<-slots
		})
	}
	wg.Wait()
}
