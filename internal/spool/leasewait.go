package spool

import (
	"os"
	"sync"

	"github.com/postroom/postroom/internal/vfs"
)

// LeaseWait waits in the kernel for the lease to be given back, as long as it
// takes: who waits costs nothing meanwhile, and comes in turn. It waits for the
// lock on the lease file and decides nothing: Take does all that AcquireLease
// does.
type LeaseWait struct {
	fsys vfs.FS
	file vfs.File
	free chan struct{}

	mu   sync.Mutex
	held bool // the file is locked, and ours
	left bool // nobody waits any more
}

// AwaitLease begins to wait; nil where that cannot be done, so that whoever
// waits has to look now and then.
func AwaitLease(fsys vfs.FS) *LeaseWait {
	f, err := fsys.OpenFile(LeaseFile, os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	blocks, ok := f.(interface{ Lock() error })
	if !ok {
		f.Close()
		return nil
	}
	w := &LeaseWait{fsys: fsys, file: f, free: make(chan struct{})}
	go func() {
		err := blocks.Lock()
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.held = err == nil && !w.left; !w.held {
			w.file.Close()
		}
		close(w.free)
	}()
	return w
}

// Free is closed when there is something to Take.
func (w *LeaseWait) Free() <-chan struct{} { return w.free }

// Take makes the lease of what was waited for; see AcquireLease for its errors.
// Once Free is closed it is called once, or Leave is.
func (w *LeaseWait) Take(h Holder) (*Lease, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.held {
		return nil, lockError(nil)
	}
	w.held = false
	dir, err := w.fsys.OpenFile(".", os.O_RDONLY, 0)
	if err != nil {
		w.file.Close()
		return nil, leaseError(err)
	}
	l := &Lease{file: w.file, dir: dir}
	return l.complete(w.fsys, h, dir)
}

// Leave ends the wait. A lock that comes later is given back at once.
func (w *LeaseWait) Leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left = true; w.held {
		w.held = false
		w.file.Close()
	}
}
