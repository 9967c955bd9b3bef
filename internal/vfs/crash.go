package vfs

import (
	"bytes"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"time"
)

// The model of a crash. It is stricter than any one file system, so that what
// holds here holds on all of them:
//
//   - An entry of a directory points to anything it pointed to since the last
//     sync of the directory, whatever became of the other entries. So a rename
//     is two edits, also within one directory: a file system without a journal
//     writes the two blocks in any order, and a rename between directories may
//     lose the file from both. One entry never tears: a name that was replaced
//     shows the old file or the new one.
//   - Each write since the last sync of the file is lost; or only its first
//     half is there; or only the length is, with zeros in place of the data
//     (delayed allocation, data=writeback); or it is whole. What survived is
//     applied in the order of the writes. Each truncation is lost or whole.
//   - Syncing a file makes its data durable, not its name. Syncing a directory
//     makes its entries durable, not the directory's own name.
//   - Names are all that keeps a file: what no surviving entry reaches is gone.
//   - Modes, modification times and inode numbers are as they were.

// CrashStates returns every distinct state of the whole disk that a crash at
// this moment can leave, each as a new Mem that is fully synced and has no
// locks, in a fixed order. It panics if there are more than limit: a sample
// would prove nothing, so a test has to be made smaller.
func (m *Mem) CrashStates(limit int) iter.Seq[*Mem] {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	e := enumeration{limit: limit, fates: map[*node][]fate{}, chosen: map[*node]fate{}}
	e.decide([]*node{m.disk.root})
	now, root, ino := m.disk.now, m.disk.root, m.disk.ino
	return func(yield func(*Mem) bool) {
		for _, s := range e.states {
			d := &disk{now: now, ino: ino, root: build(s, root)}
			if !yield(&Mem{d, d.root, "/"}) {
				return
			}
		}
	}
}

// fate is what a crash may leave of one node.
type fate struct {
	data    []byte
	entries map[string]*node // in the old disk
	mode    fs.FileMode
	mtime   time.Time
}

// enumeration walks the tree of decisions. Each node's fates differ and only
// nodes that can be reached are decided, so no state comes twice.
type enumeration struct {
	limit  int
	fates  map[*node][]fate
	chosen map[*node]fate
	states []map[*node]fate
}

// decide adds every state that follows from what is chosen, given that the
// nodes in todo can be reached.
func (e *enumeration) decide(todo []*node) {
	for len(todo) > 0 {
		if _, done := e.chosen[todo[0]]; !done {
			break
		}
		todo = todo[1:]
	}
	if len(todo) == 0 {
		e.check(len(e.states) + 1)
		e.states = append(e.states, maps.Clone(e.chosen))
		return
	}
	n := todo[0]
	for _, f := range e.fatesOf(n) {
		e.chosen[n] = f
		next := slices.Clone(todo[1:])
		for _, name := range slices.Sorted(maps.Keys(f.entries)) {
			next = append(next, f.entries[name])
		}
		e.decide(next)
	}
	delete(e.chosen, n)
}

func (e *enumeration) check(states int) {
	if states > e.limit {
		panic(fmt.Sprintf("vfs: a crash can leave more than %d states; test fewer un-synced edits at once", e.limit))
	}
}

func (e *enumeration) fatesOf(n *node) []fate {
	if f, known := e.fates[n]; known {
		return f
	}
	var all []fate
	if n.mode.IsDir() {
		all = e.listings(n)
	} else {
		all = e.contents(n)
	}
	for i := range all {
		all[i].mode, all[i].mtime = n.mode, n.mtime
	}
	e.fates[n] = all
	return all
}

// listings returns the sets of entries that a directory may have.
func (e *enumeration) listings(n *node) []fate {
	all := []fate{{entries: n.entries}}
	for _, name := range slices.Sorted(maps.Keys(n.held)) {
		var next []fate
		for i, child := range n.held[name] {
			if slices.Contains(n.held[name][:i], child) {
				continue
			}
			for _, f := range all {
				entries := maps.Clone(f.entries)
				entries[name] = child
				if child == nil {
					delete(entries, name)
				}
				next = append(next, fate{entries: entries})
				e.check(len(next))
			}
		}
		all = next
	}
	// The current entries live on after this; a state must not change with them.
	all[0].entries = maps.Clone(all[0].entries)
	return all
}

// contents returns the contents that a file may have.
func (e *enumeration) contents(n *node) []fate {
	all := [][]byte{n.synced}
	for _, edit := range n.edits {
		next := slices.Clone(all)
		for _, old := range all {
			for _, outcome := range edit.outcomes() {
				c := outcome.apply(old)
				if !slices.ContainsFunc(next, func(b []byte) bool { return bytes.Equal(b, c) }) {
					next = append(next, c)
					e.check(len(next))
				}
			}
		}
		all = next
	}
	fates := make([]fate, len(all))
	for i, c := range all {
		fates[i].data = c
	}
	return fates
}

// outcomes returns what may become of e, other than nothing.
func (e edit) outcomes() []edit {
	if e.cuts {
		return []edit{e}
	}
	half, hole := e, e
	half.data = e.data[:len(e.data)/2]
	hole.data = nil
	hole.off += int64(len(e.data)) // no data, but the length
	return []edit{half, hole, e}
}

// build makes a disk of one state and returns its root.
func build(s map[*node]fate, root *node) *node {
	made := make(map[*node]*node, len(s))
	for old, f := range s {
		made[old] = &node{ino: old.ino, mode: f.mode, mtime: f.mtime, data: f.data, synced: f.data}
	}
	for old, f := range s {
		n := made[old]
		if !n.mode.IsDir() {
			continue
		}
		n.entries, n.held = make(map[string]*node, len(f.entries)), map[string][]*node{}
		for name, child := range f.entries {
			n.entries[name] = made[child]
			made[child].nlink++
		}
	}
	return made[root]
}
