package hook

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// MemoryFile is where hooks remember, in the agent's mailbox, what they said.
const MemoryFile = "hooks.json"

const (
	memoryMax  = 64 << 10 // bytes
	memoryIDs  = 400      // messages remembered
	triesMax   = 3        // announcements of one message of which no receipt could be kept
	sayAgain   = 15 * time.Minute
	wakePause  = 30 * time.Second // between two wakes, if no turn began
	lockWithin = 500 * time.Millisecond
)

// memory bounds what hooks say: it is written before they say it, so that a
// receipt that cannot be kept makes nobody hear the same for ever. What was
// surfaced or read, only receipts tell.
type memory struct {
	V       int             `json:"v"`
	Session string          `json:"session"` // of which the counts are
	Greeted bool            `json:"greeted,omitempty"`
	Tries   map[mail.ID]int `json:"tries,omitempty"`
	ToldAt  time.Time       `json:"told_at,omitzero"` // mail that obliges was last named
	Blocks  int             `json:"blocks,omitempty"` // in a row, while Because was the reason
	BlockAt time.Time       `json:"block_at,omitzero"`
	Because []mail.ID       `json:"because,omitempty"`
	WokeAt  time.Time       `json:"woke_at,omitzero"` // a wake that no turn has answered
}

// loadMemory returns what is remembered of this session. What cannot be read is
// forgotten.
func loadMemory(box spool.Box, session string) memory {
	m := memory{V: 1, Session: session, Tries: map[mail.ID]int{}}
	data, _, err := spool.ReadFile(box.FS, box.Path(MemoryFile), memoryMax)
	var known memory
	if err != nil || json.Unmarshal(data, &known) != nil || known.V != 1 {
		return m
	}
	if known.Session != session { // another session has another context
		m.Tries, m.WokeAt = known.Tries, known.WokeAt
	} else {
		m = known
	}
	if m.Tries == nil {
		m.Tries = map[mail.ID]int{}
	}
	return m
}

// save replaces the file; not synced.
func (m memory) save(box spool.Box) error {
	data, err := json.Marshal(m)
	if err == nil {
		err = vfs.PutHint(box.FS, box.Dir, MemoryFile, append(data, '\n'))
	}
	if err != nil {
		return &mail.Error{Op: "remember", Kind: mail.KindStore, Addr: box.FS.Path(box.Path(MemoryFile)), Err: err, Hint: `run "post doctor"`}
	}
	return nil
}

// keep forgets what is not unread any more.
func (m *memory) keep(items []mailbox.Item) {
	tries := make(map[mail.ID]int, len(m.Tries))
	for _, it := range items {
		if n := m.Tries[it.ID]; n > 0 && len(tries) < memoryIDs {
			tries[it.ID] = n
		}
	}
	m.Tries = tries
}

// fresh lists what was not announced yet.
func (m *memory) fresh(items []mailbox.Item) []mailbox.Item {
	var out []mailbox.Item
	for _, it := range items {
		if it.State == mailbox.Unread && m.Tries[it.ID] < triesMax {
			out = append(out, it)
		}
	}
	return out
}

// told records that items are about to be named.
func (m *memory) told(items []mailbox.Item, now time.Time) {
	for _, it := range items {
		m.Tries[it.ID]++
		if it.Obliges {
			m.ToldAt = now
		}
	}
}

// due reports whether mail that obliges, and was named, is to be named again.
func (m *memory) due(now time.Time) bool {
	return now.Sub(m.ToldAt).Abs() >= sayAgain
}

// mayBlock reports whether a stop may be held up once more for these, and counts
// it. Mail that came, or was read, begins a new count; so does a long time.
func (m *memory) mayBlock(because []mailbox.Item, most int, now time.Time) bool {
	ids := make([]mail.ID, 0, len(because))
	for _, it := range because {
		ids = append(ids, it.ID)
	}
	slices.Sort(ids)
	if len(ids) > memoryIDs {
		ids = ids[:memoryIDs]
	}
	if !slices.Equal(ids, m.Because) || now.Sub(m.BlockAt).Abs() >= sayAgain {
		m.Blocks = 0
	}
	m.Because = ids
	if m.Blocks >= most {
		return false
	}
	m.Blocks++
	m.BlockAt = now
	return true
}

func obliging(items []mailbox.Item) []mailbox.Item {
	return slices.DeleteFunc(slices.Clone(items), func(it mailbox.Item) bool { return !it.Obliges })
}
