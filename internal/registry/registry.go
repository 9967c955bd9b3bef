// Package registry is the office's address book, registry.json: every agent,
// alias and channel, and the only authority for where mail goes (design §3,
// §11; spool-format.md §2).
//
// Invariants. A name, an alias or a retired channel name belongs to its first
// holder for ever; agents and channels share one name space; names are
// compared whole. No two agents share a mailbox. A file that is torn,
// contradicts itself or is missing is an error that changes nothing: it is
// never read as empty and never written over with fewer agents. Fields that
// this version does not know are written back.
//
// Load reads the file once, verifies its checksum, notes where the agents stand
// and parses nothing; an entry is read and parsed when it is asked for. So a
// hook in an office of a thousand agents stays cheap. Reads may run at the same time as other reads; edits and Save want
// the router's lease and nobody else around.
package registry

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/vfs"
)

// File is the registry's name in the office.
const File = "registry.json"

// Entry is one agent (design §11). Entries returned by this package are
// copies.
type Entry struct {
	AID        string    `json:"aid"` // stable id; never changes, never given away
	Name       string    `json:"name"`
	Archived   bool      `json:"archived,omitempty"`
	Aliases    []string  `json:"aliases,omitempty"`    // earlier names, still good as addresses
	Transcript string    `json:"transcript,omitempty"` // file name in transcripts/; never "" when read
	Station    string    `json:"station,omitempty"`    // whose agent it is; Name and Aliases then end in @ and this; "" is ours
	Role       string    `json:"role,omitempty"`
	InboxPath  string    `json:"inbox_path,omitempty"` // absolute path of the mailbox's inbox/
	Workspace  string    `json:"workspace,omitempty"`  // absolute path; "" if none
	Runtime    string    `json:"runtime,omitempty"`
	Notify     []string  `json:"notify,omitempty"` // kind, then its arguments
	Launch     []string  `json:"launch,omitempty"` // argument list, no shell
	Joined     time.Time `json:"joined,omitzero"`

	Extra map[string]json.RawMessage `json:"-"` // fields of other versions, kept
}

// Channel is a named set of agents: aids, sorted.
type Channel struct {
	Name    string
	Members []string
	Extra   map[string]json.RawMessage
}

// Registry is one loaded registry. It implements policy.Directory.
type Registry struct {
	fsys     vfs.FS
	index    index
	channels []byte // the channels' lines

	// Entries are read from one of these: the file as it was loaded, which
	// stays open and which no Save of another process changes, or the canonical
	// text of what was edited.
	file vfs.File
	raw  []byte

	doc    *document // parsed; nil until an edit needs it
	onDisk stamp     // of the file as it was loaded or saved
	loaded int       // agents in it; Save never writes fewer
	edited bool
}

var _ policy.Directory = (*Registry)(nil)

// Edited reports whether the file was changed by something else than this
// package since it was last written. What it says is used; doctor shows it.
func (r *Registry) Edited() bool { return r.edited }

// Entry finds an agent by its name or an alias, exactly.
func (r *Registry) Entry(name string) (Entry, bool) {
	l, ok := r.byName(name)
	if !ok {
		return Entry{}, false
	}
	return r.entry(l)
}

// EntryByAID finds an agent by its stable id.
func (r *Registry) EntryByAID(aid string) (Entry, bool) {
	l, ok := r.byAID(aid)
	if !ok {
		return Entry{}, false
	}
	return r.entry(l)
}

// Entries lists every agent, the archived too, in the order of joining.
func (r *Registry) Entries() []Entry { return slices.Collect(r.All()) }

// Ours lists the agents of this office, without those of other stations, the
// archived too, in the order of joining. Of the others nothing is read.
func (r *Registry) Ours() (list []Entry) {
	for l := range r.lines() {
		if l.far() {
			continue
		}
		if e, ok := r.entry(l); ok {
			list = append(list, e)
		}
	}
	return list
}

// Len is how many agents there are, the archived too.
func (r *Registry) Len() (n int) {
	for range r.lines() {
		n++
	}
	return n
}

// All is Entries one by one: of a thousand, one is in memory at a time.
func (r *Registry) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for l := range r.lines() {
			if e, ok := r.entry(l); ok && !yield(e) {
				return
			}
		}
	}
}

// Agent implements policy.Directory.
func (r *Registry) Agent(name string) (policy.Agent, bool) {
	l, ok := r.byName(name)
	if !ok {
		return policy.Agent{}, false
	}
	return l.agent(), true
}

// ByAID implements policy.Directory.
func (r *Registry) ByAID(aid string) (policy.Agent, bool) {
	l, ok := r.byAID(aid)
	if !ok {
		return policy.Agent{}, false
	}
	return l.agent(), true
}

// Active lists the agents that are not archived, sorted by name.
func (r *Registry) Active() []policy.Agent {
	var as []policy.Agent
	for l := range r.lines() {
		if !l.archived {
			as = append(as, l.agent())
		}
	}
	slices.SortFunc(as, func(a, b policy.Agent) int { return strings.Compare(a.Name, b.Name) })
	return as
}

// Some lists n agents that are not archived, or all if there are no more, in
// the order of joining: those behind the first skip ones, and from the start
// again. Nothing is made of the others. Where there are more, far agents are none
// of them: whoever runs the link looks after those.
func (r *Registry) Some(skip uint64, n int) []policy.Agent {
	active, far := 0, 0
	for l := range r.lines() {
		if !l.archived {
			active++
			if l.far() {
				far++
			}
		}
	}
	pass := func(l line) bool { return l.archived }
	if far > 0 && active > n {
		active -= far
		pass = func(l line) bool { return l.archived || l.far() }
	}
	if n = min(n, active); n == 0 {
		return nil
	}
	first, at := int(skip%uint64(active)), 0
	var before, after []policy.Agent
	for l := range r.lines() {
		switch {
		case pass(l):
			continue
		case at >= first && at < first+n:
			after = append(after, l.agent())
		case at < first+n-active:
			before = append(before, l.agent())
		}
		at++
	}
	return append(after, before...)
}

// Channel implements policy.Directory.
func (r *Registry) Channel(name string) (policy.Channel, bool) {
	for c := range r.channelLines() {
		if c.Name == name {
			return policy.Channel{Name: c.Name, Members: c.Members}, true
		}
	}
	return policy.Channel{}, false
}

// Channels lists every channel in the order of its making.
func (r *Registry) Channels() []Channel {
	return slices.Collect(r.channelLines())
}
