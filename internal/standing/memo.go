package standing

import (
	"sync"
	"time"

	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// Memo remembers what was unread, for who looks at agents again and again: a
// mailbox is counted anew when it is not as it was. Any goroutine may use it.
// The zero Memo is empty.
type Memo struct {
	mu    sync.Mutex
	boxes map[string]tally // by aid
}

// Remember makes the Looker use m, and returns it.
func (x *Looker) Remember(m *Memo) *Looker {
	x.memo = m
	return x
}

// tally is what a mailbox in one state holds unread.
type tally struct {
	state  [3]fileState
	unread int
	oldest time.Time // zero if nothing is unread
}

// fileState tells whether a file or directory is another one.
type fileState struct {
	changed  time.Time
	size     int64
	dev, ino uint64
}

// atRest is how long a file must have been as it is before that is trusted:
// what changes within one tick of a file system's clock looks the same.
const atRest = 2 * time.Second

// count is what is unread in the mailbox.
func (m *Memo) count(box *mailbox.Mailbox) (tally, error) {
	if m == nil {
		return count(box)
	}
	state, sure := stateOf(box.Author.Box)
	m.mu.Lock()
	known, ok := m.boxes[box.Author.AID]
	m.mu.Unlock()
	if ok && sure && known.state == state {
		return known, nil
	}
	t, err := count(box)
	if err != nil || !sure {
		return t, err
	}
	t.state = state
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.boxes == nil {
		m.boxes = map[string]tally{}
	}
	m.boxes[box.Author.AID] = t
	return t, nil
}

func count(box *mailbox.Mailbox) (t tally, err error) {
	items, err := box.List(true)
	if err != nil {
		return t, err
	}
	t.unread = len(items)
	for _, it := range items {
		if at := it.ID.Time(); t.oldest.IsZero() || at.Before(t.oldest) {
			t.oldest = at
		}
	}
	return t, nil
}

// stateOf looks at all that List goes by. It is not sure of what changed just
// now, and where the system does not say when something changed.
func stateOf(b spool.Box) (state [3]fileState, sure bool) {
	now := time.Now()
	for i, name := range []string{spool.Inbox, spool.Done, spool.Receipts} {
		fi, err := b.FS.Lstat(b.Path(name))
		if err != nil {
			if name != spool.Receipts {
				return state, false
			}
			continue // it never read anything
		}
		sys, ok := fi.Sys().(vfs.Sys)
		if !ok || sys.Changed.IsZero() || now.Sub(sys.Changed) < atRest {
			return state, false
		}
		state[i] = fileState{sys.Changed, fi.Size(), sys.Dev, sys.Ino}
	}
	return state, true
}
