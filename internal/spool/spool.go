// Package spool is the disk protocol: how a message file is written, adopted,
// delivered, indexed and retired, and who may do so (design §3,
// docs/spool-format.md §1, §5, §6, docs/crash-safety.md).
//
// Invariants. A mail file appears whole or not at all, and a name that exists
// is never overwritten. Moving between directories is link, sync of the target
// directory, unlink, sync of the source directory. A function that returns a
// file or asks for a sync leaves durability to the caller's Batch, so that the
// syncs of one pass can run side by side; nothing counts as durable before the
// Batch says so. Symlinks, FIFOs, devices and oversized files are never opened
// as mail.
package spool

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// The directories and files of a mailbox.
const (
	Inbox    = "inbox"
	Done     = "inbox/.done"
	Outbox   = "outbox"
	Sent     = "outbox/.sent"
	Failed   = "outbox/.failed"
	Keys     = "outbox/.keys"
	Index    = "index.jsonl"
	Receipts = "receipts.jsonl"
	lockFile = ".lock"
	clock    = ".clock"
	tmp      = ".tmp-"
	ext      = ".json"
)

// envelopeRoom is how much a stamped file may exceed mail.MaxSize: the stamps
// and the resolved recipients of a broadcast to a thousand agents.
const envelopeRoom = 64 << 10

// Box is one mailbox on disk.
type Box struct {
	FS  vfs.FS
	Dir string // the mailbox within FS
	// Shared says that FS is the office's own, so mail may be linked into it.
	Shared bool
}

// Path returns the path within b.FS of one of the mailbox's names.
func (b Box) Path(elem ...string) string {
	switch { // ours are clean already, and there are dozens of them a message
	case b.Dir == "." || b.Dir == "" || slices.Contains(elem, ""):
		return path.Join(append([]string{b.Dir}, elem...)...)
	case len(elem) == 1:
		return b.Dir + "/" + elem[0]
	case len(elem) == 2:
		return b.Dir + "/" + elem[0] + "/" + elem[1]
	}
	return path.Join(append([]string{b.Dir}, elem...)...)
}

// FileName is the name of a message's file.
func FileName(id mail.ID) string { return string(id) + ext }

// Hidden reports whether readers skip the name: temporary and bookkeeping files.
func Hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.Contains(name, tmp)
}

// dirs lists a mailbox's directories, parents first.
func dirs() []string { return []string{"", Inbox, Done, Outbox, Sent, Failed, Keys} }

// Make creates what the mailbox lacks and makes it durable.
func (b Box) Make() error {
	if err := b.MakeUnsynced(); err != nil {
		return err
	}
	if b.Dir != "." {
		if err := b.FS.SyncDir(path.Dir(b.Dir)); err != nil {
			return err
		}
	}
	for _, d := range dirs() {
		if err := b.FS.SyncDir(b.Path(d)); err != nil {
			return err
		}
	}
	return nil
}

// SyncAll adds the syncs that MakeUnsynced left out to a batch.
func (b Box) SyncAll(batch *Batch) {
	batch.Dir(b.FS, path.Dir(b.Dir))
	for _, d := range dirs() {
		batch.Dir(b.FS, b.Path(d))
	}
}

// MakeUnsynced is Make for many mailboxes, whose syncs are then done together:
// see SyncAll.
func (b Box) MakeUnsynced() error {
	for _, d := range dirs() {
		if err := mkdir(b.FS, b.Path(d)); err != nil {
			return err
		}
	}
	for _, f := range []string{Index, Receipts, lockFile, clock} {
		file, err := b.FS.OpenFile(b.Path(f), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	return nil
}

func mkdir(fsys vfs.FS, dir string) error {
	if dir == "." {
		return nil
	}
	err := fsys.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// ErrNotMail is the cause when something that is no regular file of allowed
// size stands where mail should.
var ErrNotMail = errors.New("not a regular file")

// ErrTooLarge is the cause when a file is over the size cap.
var ErrTooLarge = errors.New("over the size cap of 1 MiB")

// ReadFile reads a regular file whole, up to max bytes, together with what
// fstat says of the very file that was read.
func ReadFile(fsys vfs.FS, name string, max int64) ([]byte, fs.FileInfo, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	switch {
	case err != nil:
		return nil, nil, err
	case !fi.Mode().IsRegular():
		return nil, fi, ErrNotMail
	case fi.Size() > max:
		return nil, fi, ErrTooLarge
	}
	buf := make([]byte, fi.Size())
	n := 0
	for n < len(buf) && err == nil {
		got := 0
		got, err = f.Read(buf[n:])
		n += got
	}
	if err == io.EOF { // it became shorter
		err = nil
	}
	return buf[:n], fi, err
}

// ReadMail reads a stamped message file.
func ReadMail(fsys vfs.FS, name string) ([]byte, fs.FileInfo, error) {
	return ReadFile(fsys, name, mail.MaxSize+envelopeRoom)
}

// Exists reports whether a name is taken, by anything.
func Exists(fsys vfs.FS, name string) (bool, error) {
	_, err := fsys.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
