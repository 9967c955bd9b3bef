package standing

import (
	"sync"
	"time"

	"github.com/postroom/postroom/internal/debt"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// Memo remembers what was unread and what is owed, for who looks at agents again
// and again: a mailbox or the ledger is read anew when it is not as it was. Any
// goroutine may use it. The zero Memo is empty.
type Memo struct {
	mu    sync.Mutex
	boxes map[string]tally // by aid

	debts  []policy.Debt
	ledger fileState // of which debts are
}

// Debts lists what is owed in the office, the earliest due first. The list is
// everybody's: it is not to be changed.
func (m *Memo) Debts(o *office.Office) ([]policy.Debt, error) {
	if m == nil {
		book, err := debt.Load(o.FS)
		return book.Open(o.Settings()), err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now, ok := fileStateOf(o.FS, debt.Ledger)
	if ok && m.ledger == now {
		return m.debts, nil
	}
	book, err := debt.Load(o.FS)
	if err != nil {
		return nil, err
	}
	// What is appended makes the file longer, so unlike a directory it never looks
	// as it did.
	m.debts, m.ledger = book.Open(o.Settings()), now
	return m.debts, nil
}

func fileStateOf(fsys vfs.FS, name string) (fileState, bool) {
	fi, err := fsys.Lstat(name)
	if err != nil {
		return fileState{}, false
	}
	sys, ok := vfs.SysOf(fi)
	if !ok || sys.Changed.IsZero() {
		return fileState{}, false
	}
	return fileState{sys.Changed, fi.Size(), sys.Dev, sys.Ino}, true
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
		is, ok := fileStateOf(b.FS, b.Path(name))
		if ok && now.Sub(is.changed) < atRest {
			return state, false
		}
		if !ok && name != spool.Receipts { // it may never have read anything
			return state, false
		}
		state[i] = is
	}
	return state, true
}
