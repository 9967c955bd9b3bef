package vfs

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Mem is a strict file system in memory: what was not synced may be gone after
// a crash, and CrashStates returns every state in which the disk can then be.
// It behaves as Real does for a user who is not root, with a umask of 0. Safe
// for use by several goroutines.
type Mem struct {
	disk *disk
	root *node
	path string // of root, from the disk's root
}

// disk is what all views of one Mem share.
type disk struct {
	mu   sync.Mutex
	now  func() time.Time
	root *node
	ino  uint64 // the last one given out
}

// node is an inode: a file, directory, symlink or FIFO.
type node struct {
	ino   uint64
	mode  fs.FileMode
	mtime time.Time
	nlink int

	data   []byte // never changed in place, so that states can share it
	synced []byte // what survives a crash for certain
	edits  []edit // since synced, in order
	lock   *memFile

	entries map[string]*node
	most    int // how many entries it had at most
	// held has, for each name changed since the last sync of the directory,
	// what it pointed to then and after each change; nil for nothing.
	held map[string][]*node
}

// NewMem returns an empty file system. Files get their modification times from
// now.
func NewMem(now func() time.Time) *Mem {
	d := &disk{now: now}
	d.root = d.newNode(fs.ModeDir | 0o700)
	return &Mem{d, d.root, "/"}
}

// Sub returns the directory dir as a file system of its own on the same disk;
// like a Real it stays on that directory when it is renamed. dir is a name in m
// or a path that m.Path returned.
func (m *Mem) Sub(dir string) (*Mem, error) {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if dir == m.path {
		dir = "."
	}
	dir = strings.TrimPrefix(dir, strings.TrimSuffix(m.path, "/")+"/")
	n, err := m.dir(dir)
	if err != nil {
		return nil, pathError("open", dir, err)
	}
	return &Mem{m.disk, n, m.Path(dir)}, nil
}

// Path implements FS.
func (m *Mem) Path(name string) string { return path.Join(m.path, name) }

// OpenFile implements FS.
func (m *Mem) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	n, err := m.open(name, flag, perm)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return &memFile{disk: m.disk, node: n, name: name, flag: flag}, nil
}

func (m *Mem) open(name string, flag int, perm fs.FileMode) (*node, error) {
	dir, base, err := m.find(name)
	if err != nil {
		return nil, err
	}
	n := dir.at(base)
	switch {
	case n == nil && flag&os.O_CREATE == 0:
		return nil, syscall.ENOENT
	case n == nil:
		n = m.disk.newNode(perm.Perm())
		return n, dir.put(m.disk.now(), base, n)
	case flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0:
		return nil, syscall.EEXIST
	}
	if err := openable(n.mode, flag); err != nil {
		return nil, err
	}
	reads, writes := access(flag)
	if reads && n.mode&0o400 == 0 || writes && n.mode&0o200 == 0 {
		return nil, syscall.EACCES
	}
	if flag&os.O_TRUNC != 0 {
		n.change(m.disk.now(), edit{size: 0, cuts: true})
	}
	return n, nil
}

// Mkdir implements FS.
func (m *Mem) Mkdir(name string, perm fs.FileMode) error {
	return pathError("mkdir", name, m.add(name, fs.ModeDir|perm.Perm(), ""))
}

// Symlink creates a symlink, for tests of what must refuse it.
func (m *Mem) Symlink(target, name string) error {
	return pathError("symlink", name, m.add(name, fs.ModeSymlink|0o777, target))
}

// Mkfifo creates a FIFO, for tests of what must refuse it.
func (m *Mem) Mkfifo(name string) error {
	return pathError("mkfifo", name, m.add(name, fs.ModeNamedPipe|0o600, ""))
}

func (m *Mem) add(name string, mode fs.FileMode, data string) error {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	dir, base, err := m.find(name)
	if err != nil {
		return err
	}
	if dir.at(base) != nil {
		return syscall.EEXIST
	}
	n := m.disk.newNode(mode)
	n.data, n.synced = []byte(data), []byte(data)
	return dir.put(m.disk.now(), base, n)
}

// Link implements FS.
func (m *Mem) Link(oldname, newname string) error {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	return linkError("link", oldname, newname, m.link(oldname, newname))
}

func (m *Mem) link(oldname, newname string) error {
	from, old, err := m.find(oldname)
	if err != nil {
		return err
	}
	to, base, err := m.find(newname)
	if err != nil {
		return err
	}
	n := from.at(old)
	switch {
	case n == nil:
		return syscall.ENOENT
	case to.at(base) != nil:
		return syscall.EEXIST
	case n.mode.IsDir():
		return syscall.EPERM
	}
	return to.put(m.disk.now(), base, n)
}

// Move implements FS.
func (m *Mem) Move(oldname, newname string) error {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	return linkError("move", oldname, newname, m.move(oldname, newname))
}

func (m *Mem) move(oldname, newname string) error {
	from, old, err := m.find(oldname)
	if err != nil {
		return err
	}
	to, base, err := m.find(newname)
	switch {
	case err != nil:
		return err
	case from.at(old) == nil:
		return syscall.ENOENT
	case to.at(base) != nil:
		return syscall.EEXIST
	}
	return m.rename(oldname, newname)
}

// Rename implements FS.
func (m *Mem) Rename(oldname, newname string) error {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	return linkError("rename", oldname, newname, m.rename(oldname, newname))
}

func (m *Mem) rename(oldname, newname string) error {
	from, old, err := m.find(oldname)
	if err != nil {
		return err
	}
	to, base, err := m.find(newname)
	if err != nil {
		return err
	}
	n, gone := from.at(old), to.at(base)
	switch {
	case n == nil:
		return syscall.ENOENT
	case old == "." || base == ".":
		return syscall.EBUSY
	case gone != nil && gone.mode.IsDir():
		return syscall.EEXIST
	case n == gone:
		return nil // two names of one file: both stay
	case n.mode.IsDir() && n.holds(to):
		return syscall.EINVAL
	case gone != nil && n.mode.IsDir():
		return syscall.ENOTDIR
	}
	if from.mode&0o200 == 0 {
		return syscall.EACCES
	}
	if err := to.put(m.disk.now(), base, n); err != nil {
		return err
	}
	return from.put(m.disk.now(), old, nil)
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	return pathError("remove", name, m.remove(name))
}

func (m *Mem) remove(name string) error {
	dir, base, err := m.find(name)
	if err != nil {
		return err
	}
	n := dir.at(base)
	switch {
	case n == nil:
		return syscall.ENOENT
	case base == ".":
		return syscall.EINVAL
	case len(n.entries) > 0:
		return syscall.ENOTEMPTY
	}
	return dir.put(m.disk.now(), base, nil)
}

// Lstat implements FS.
func (m *Mem) Lstat(name string) (fs.FileInfo, error) {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	n, err := m.node(name)
	if err != nil {
		return nil, pathError("lstat", name, err)
	}
	return n.info(path.Base(name)), nil
}

// ReadNames implements FS. The names come in an order of their own, which is
// the same in every run.
func (m *Mem) ReadNames(name string) ([]string, error) {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	n, err := m.dir(name)
	if err == nil && n.mode&0o400 == 0 {
		err = syscall.EACCES
	}
	if err != nil {
		return nil, pathError("readnames", name, err)
	}
	// By inode, newest first: nobody may rely on names being sorted.
	return slices.SortedFunc(maps.Keys(n.entries), func(a, b string) int {
		return cmp.Or(cmp.Compare(n.entries[b].ino, n.entries[a].ino), cmp.Compare(b, a))
	}), nil
}

// SyncDir implements FS.
func (m *Mem) SyncDir(name string) error {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	n, err := m.dir(name)
	if err == nil {
		n.sync()
	}
	return pathError("sync", name, err)
}

// SyncAll makes everything durable, for the set-up of a test.
func (m *Mem) SyncAll() {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	for _, n := range m.disk.walk() {
		n.node.sync()
	}
}

// SetModTime sets the modification time of name.
func (m *Mem) SetModTime(name string, t time.Time) error {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	n, err := m.node(name)
	if err == nil {
		n.mtime = t
	}
	return pathError("chtimes", name, err)
}

// Chmod sets the permission bits of name. Without the owner's w a directory
// cannot be changed, without x nothing below it be reached.
func (m *Mem) Chmod(name string, perm fs.FileMode) error {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	n, err := m.node(name)
	if err == nil {
		n.mode = n.mode.Type() | perm.Perm()
	}
	return pathError("chmod", name, err)
}

// String lists the whole disk, one line per name, for messages of tests.
func (m *Mem) String() string {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	var b strings.Builder
	for _, n := range m.disk.walk() {
		fmt.Fprintf(&b, "%v %d %s", n.node.mode, n.node.ino, n.path)
		if !n.node.mode.IsDir() {
			fmt.Fprintf(&b, " %q", n.node.data)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
