// Package vfs is the seam between Postroom and the file system: the few calls
// the disk protocol needs, so that a strict in-memory file system can stand in
// for the real one and every crash state can be enumerated (design §16).
//
// Invariants. Names are relative to the root of the FS, use slashes, and never
// leave the root. No call follows a symlink, neither in the last component nor
// in one before it, so nobody who owns a directory below the root can point it
// at somebody else's. No call blocks on a FIFO. Nothing is durable until it was
// synced: data by File.Sync, a directory's entries by FS.SyncDir.
//
// Errors are *fs.PathError or *os.LinkError that carry the name as given;
// match them with errors.Is (fs.ErrNotExist, fs.ErrExist, fs.ErrPermission,
// fs.ErrInvalid for a bad name, ErrNotRegular).
package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrNotRegular is the cause when OpenFile meets a symlink, FIFO, device or
// socket.
var ErrNotRegular = errors.New("neither a regular file nor a directory")

// FS is a file system rooted at one directory.
type FS interface {
	// OpenFile opens a regular file (or, with os.O_RDONLY, a directory).
	// flag takes the os.O_* bits. It never follows a symlink in the last
	// component and never blocks on a FIFO: both are ErrNotRegular.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	Mkdir(name string, perm fs.FileMode) error
	// Link gives oldname's file a second name; fs.ErrExist if newname exists.
	Link(oldname, newname string) error
	// Move renames a file without ever replacing anything: fs.ErrExist if
	// newname exists. In doubt both names remain, never none.
	Move(oldname, newname string) error
	// Rename replaces newname if it exists, unless it is a directory: that is
	// fs.ErrExist. Used only where that is wanted
	// (state files that one writer owns), never for mail.
	Rename(oldname, newname string) error
	Remove(name string) error
	Lstat(name string) (fs.FileInfo, error)
	// ReadNames lists a directory's entries, unsorted, without . and ..
	ReadNames(name string) ([]string, error)
	// SyncDir makes the directory's entries durable.
	SyncDir(name string) error
	// Path returns the absolute path of name, for messages to people and for
	// watching; never for opening files.
	Path(name string) string
}

// File is one open file.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.WriterAt
	io.Closer
	Stat() (fs.FileInfo, error)
	Sync() error
	Truncate(size int64) error
	// TryLock takes an exclusive advisory lock (flock) that belongs to this
	// open file; false if somebody else holds it. Close releases it.
	TryLock() (bool, error)
}

// Inode returns a file's device and inode; ok is false on Windows, whose
// FileInfo carries none.
func Inode(fi fs.FileInfo) (dev, ino uint64, ok bool) {
	s, ok := SysOf(fi)
	return s.Dev, s.Ino, ok
}

// SameFile reports whether a and b, from any call of one FS or its files, are
// of one file. Not os.SameFile, which knows only its own.
func SameFile(a, b fs.FileInfo) bool {
	s, ok := SysOf(a)
	t, okToo := SysOf(b)
	if ok && okToo {
		return s.Dev == t.Dev && s.Ino == t.Ino
	}
	return os.SameFile(a, b)
}

// Sys is what FileInfo.Sys() returns here, except on Windows.
type Sys struct {
	Dev, Ino uint64
	Nlink    int
	// Changed is when the system last saw the file change, or a directory's
	// entries: nobody can set it, unlike the modification time.
	Changed time.Time
	// Owner is the user that it belongs to, by number; -1: nobody's.
	Owner int
}

// SysOf is fi.Sys() without a copy on the heap; ok is false on Windows.
func SysOf(fi fs.FileInfo) (s Sys, ok bool) {
	if i, ours := fi.(info); ours {
		return i.sys, true
	}
	s, ok = fi.Sys().(Sys)
	return s, ok
}

// Others reports whether a file belongs to another user; false where nobody
// can tell (Windows).
func Others(fi fs.FileInfo) bool {
	s, ok := SysOf(fi)
	return ok && s.Owner >= 0 && s.Owner != os.Geteuid()
}

// info is the FileInfo of every file system here, except on Windows.
type info struct {
	name  string
	size  int64
	mode  fs.FileMode
	mtime time.Time
	sys   Sys
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return i.mtime }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return i.sys }

// parent is split for who needs the directory only as one name: "." is the root.
func parent(name string) (dir, base string, err error) {
	if _, err := filepath.Localize(name); err != nil {
		return "", "", fs.ErrInvalid
	}
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i], name[i+1:], nil
	}
	return ".", name, nil
}

// split checks name and cuts it into the directories on the way and the last
// component, which is "." for the root itself.
func split(name string) (dirs []string, base string, err error) {
	if _, err := filepath.Localize(name); err != nil {
		return nil, "", fs.ErrInvalid
	}
	parts := strings.Split(name, "/")
	return parts[:len(parts)-1], parts[len(parts)-1], nil
}
