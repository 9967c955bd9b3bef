package spool

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/vfs"
)

// Listing is the file of a mailbox that remembers what was in an inbox whose
// directory has grown large (spool-format.md §6).
const Listing = ".listing"

const (
	// largeDir is from which size in bytes on a directory is slow to list: it held
	// some 2,000 names once, and ext4 never makes one smaller.
	largeDir = 128 << 10
	// fewNames is how many names are worth remembering; with more in it a large
	// directory is no surprise.
	fewNames = 64
	// settled is how long ago the inbox must have changed last: what changes
	// within one tick of the file system's clock can't be told apart.
	settled = 2 * time.Second
	// maxListing bounds the file.
	maxListing = 64 << 10
	listingEnd = "end\n"
)

// Waiting lists the names in the inbox. boot is the id of this boot, "" where
// nobody knows; write is asked whether this process may write here.
//
// A directory that once held very many names takes long to list though it is
// nearly empty. What was in it is remembered then, for as long as the system
// says that the directory has not changed since: by its inode and its change
// time, which nobody can set. What is remembered holds for this boot only, since
// a crash may bring back an old change time with new entries.
func (b Box) Waiting(boot func() string, write func() bool) ([]string, error) {
	before, err := b.FS.Lstat(b.Path(Inbox))
	if err != nil {
		return nil, err
	}
	if before.Size() < largeDir {
		return b.FS.ReadNames(b.Path(Inbox))
	}
	id := boot()
	head, sure := listingHead(before, id)
	if sure {
		if names, ok := b.remembered(head); ok {
			return names, nil
		}
	}
	names, err := b.FS.ReadNames(b.Path(Inbox))
	if err == nil && sure && len(names) <= fewNames && write() {
		b.remember(head, id, names)
	}
	return names, err
}

// listingHead says which state of a directory a listing is of. It is not sure
// where stamps are missing or too coarse: then a change could go unseen.
func listingHead(fi fs.FileInfo, boot string) (head string, sure bool) {
	sys, ok := vfs.SysOf(fi)
	if !ok || boot == "" || !fi.IsDir() || sys.Changed.Nanosecond() == 0 {
		return "", false
	}
	f := []string{"1", boot, strconv.FormatUint(sys.Dev, 10), strconv.FormatUint(sys.Ino, 10),
		strconv.FormatInt(sys.Changed.UnixNano(), 10), strconv.FormatInt(fi.ModTime().UnixNano(), 10), strconv.FormatInt(fi.Size(), 10)}
	return strings.Join(f, " ") + "\n", true
}

// remembered returns the names that were in the inbox in the state of head.
func (b Box) remembered(head string) ([]string, bool) {
	data, _, err := ReadFile(b.FS, b.Path(Listing), maxListing)
	if err != nil {
		return nil, false
	}
	rest, same := bytes.CutPrefix(data, []byte(head))
	rest, whole := bytes.CutSuffix(rest, []byte(listingEnd))
	if !same || !whole || len(rest) > 0 && rest[len(rest)-1] != '\n' {
		return nil, false
	}
	return strings.Fields(string(rest)), true
}

// remember writes what is in the inbox, if that has been so for a while. It is
// a hint: written whole, not synced, and of two writers one gives up.
func (b Box) remember(head, boot string, names []string) {
	var text strings.Builder
	text.WriteString(head)
	for _, n := range names {
		if strings.ContainsAny(n, " \t\r\n\v\f\u0085\u00a0") {
			return
		}
		text.WriteString(n + "\n")
	}
	text.WriteString(listingEnd)
	temp := b.Path(tmp + Listing)
	f, err := b.FS.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		if errors.Is(err, fs.ErrExist) { // somebody's who died, or is at it
			b.FS.Remove(temp)
		}
		return
	}
	_, err = f.Write([]byte(text.String()))
	written, serr := f.Stat()
	cerr := f.Close()
	if errors.Join(err, serr, cerr) == nil && b.unchanged(head, boot, written.ModTime()) && b.FS.Rename(temp, b.Path(Listing)) == nil {
		return
	}
	b.FS.Remove(temp)
}

// unchanged reports whether the inbox is in the state of head still and has
// been for a while, by the file system's own clock.
func (b Box) unchanged(head, boot string, now time.Time) bool {
	fi, err := b.FS.Lstat(b.Path(Inbox))
	if err != nil {
		return false
	}
	again, _ := listingHead(fi, boot)
	sys, _ := vfs.SysOf(fi)
	return again == head && now.Sub(sys.Changed) >= settled
}

// forget drops what is remembered of the inbox: a message was found to be there
// that was not expected, so a crash may have been in between.
func (b Box) forget() { b.FS.Remove(b.Path(Listing)) }
