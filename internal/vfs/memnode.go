package vfs

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"syscall"
	"time"
)

const (
	maxBase   = 255 // bytes in one component of a name
	entrySize = 64  // what an entry adds to a directory, for ever, as on ext4
)

// find returns the directory that holds name, and the last component.
func (m *Mem) find(name string) (*node, string, error) {
	dirs, base, err := split(name)
	if err != nil {
		return nil, "", err
	}
	dir := m.root
	for _, d := range append(dirs, "") {
		switch {
		case dir == nil:
			return nil, "", syscall.ENOENT
		case !dir.mode.IsDir():
			return nil, "", syscall.ENOTDIR
		case dir.mode&0o100 == 0:
			return nil, "", syscall.EACCES
		case len(d) > maxBase || len(base) > maxBase:
			return nil, "", syscall.ENAMETOOLONG
		case d != "":
			dir = dir.entries[d]
		}
	}
	return dir, base, nil
}

// node returns what name points to.
func (m *Mem) node(name string) (*node, error) {
	dir, base, err := m.find(name)
	if err != nil {
		return nil, err
	}
	n := dir.at(base)
	if n == nil {
		return nil, syscall.ENOENT
	}
	return n, nil
}

// dir returns the directory that name points to.
func (m *Mem) dir(name string) (*node, error) {
	n, err := m.node(name)
	if err == nil && !n.mode.IsDir() {
		err = syscall.ENOTDIR
	}
	return n, err
}

// newNode returns a node that no directory holds yet.
func (d *disk) newNode(mode fs.FileMode) *node {
	d.ino++
	n := &node{ino: d.ino, mode: mode, mtime: d.now()}
	if mode.IsDir() {
		n.entries, n.held = map[string]*node{}, map[string][]*node{}
	}
	return n
}

// at returns the entry base, nil if there is none. "." is the directory itself.
func (n *node) at(base string) *node {
	if base == "." {
		return n
	}
	return n.entries[base]
}

// put points the entry base to child, or to nothing.
func (n *node) put(now time.Time, base string, child *node) error {
	if n.mode&0o200 == 0 {
		return syscall.EACCES
	}
	old := n.entries[base]
	if len(n.held[base]) == 0 {
		n.held[base] = []*node{old}
	}
	n.held[base] = append(n.held[base], child)
	n.mtime = now
	if old != nil {
		old.nlink--
	}
	if child == nil {
		delete(n.entries, base)
		return nil
	}
	child.nlink++
	n.entries[base] = child
	n.most = max(n.most, len(n.entries))
	return nil
}

// holds reports whether n is other or a directory above it.
func (n *node) holds(other *node) bool {
	if n == other {
		return true
	}
	for _, e := range n.entries {
		if e.mode.IsDir() && e.holds(other) {
			return true
		}
	}
	return false
}

func (n *node) sync() {
	n.synced, n.edits = n.data, nil
	clear(n.held)
}

// named is a node under one of its names.
type named struct {
	path string
	node *node
}

// walk returns every name on the disk, each directory once, in a fixed order.
func (d *disk) walk() []named {
	all := []named{{"/", d.root}}
	seen := map[*node]bool{d.root: true}
	for i := 0; i < len(all); i++ {
		dir := all[i]
		for _, name := range slices.Sorted(maps.Keys(dir.node.entries)) {
			n := dir.node.entries[name]
			if n.mode.IsDir() && seen[n] {
				continue
			}
			seen[n] = true
			all = append(all, named{path.Join(dir.path, name), n})
		}
	}
	return all
}

func (n *node) info(name string) fs.FileInfo {
	size := int64(len(n.data))
	if n.mode.IsDir() {
		size = entrySize * int64(n.most)
	}
	return info{name, size, n.mode, n.mtime, Sys{Dev: 1, Ino: n.ino, Nlink: n.nlink, Changed: n.mtime, Owner: -1}}
}
