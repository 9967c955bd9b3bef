package spool

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/plain"
	"github.com/postroom/postroom/internal/vfs"
)

// LeaseFile is the file whose lock makes a process the router.
const LeaseFile = "lease"

// Lease is the router's role, held (docs/spool-format.md §6). The holder locks
// the lease file and the office directory itself: the file can be unlinked or
// replaced by somebody who tidies up, the directory can not, so there are never
// two holders.
type Lease struct{ file, dir vfs.File }

// Holder is what the lease file says of its holder. Information only: nothing
// is decided by it.
type Holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Since   time.Time `json:"since"`
	Version string    `json:"version"`
}

// AcquireLease tries once. The kind of the error says why not: KindBusy,
// somebody else routes; KindReadOnly, this process may not route; else what is
// wrong with the disk.
func AcquireLease(fsys vfs.FS, h Holder) (*Lease, error) {
	file, dir, err := openLease(fsys)
	if err != nil {
		return nil, err
	}
	l := &Lease{file: file, dir: dir}
	for _, f := range []vfs.File{file, dir} {
		ok, err := f.TryLock()
		if err != nil || !ok {
			l.Release()
			return nil, lockError(err)
		}
	}
	same, err := stillNamed(fsys, file)
	if err != nil || !same {
		l.Release()
		return nil, lockError(err)
	}
	l.sign(h)
	return l, nil
}

func openLease(fsys vfs.FS) (file, dir vfs.File, err error) {
	file, err = fsys.OpenFile(LeaseFile, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, leaseError(err)
	}
	dir, err = fsys.OpenFile(".", os.O_RDONLY, 0)
	if err != nil {
		file.Close()
		return nil, nil, leaseError(err)
	}
	return file, dir, nil
}

// stillNamed reports whether the locked file is the one the path names.
func stillNamed(fsys vfs.FS, f vfs.File) (bool, error) {
	locked, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := fsys.Lstat(LeaseFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && vfs.SameFile(locked, named), err
}

func (l *Lease) sign(h Holder) {
	data, err := h.line()
	if err != nil {
		return
	}
	if _, err := l.file.WriteAt(data, 0); err == nil {
		l.file.Truncate(int64(len(data))) // for people only; a torn line harms nobody
	}
}

// line is what the lease file says.
func (h Holder) line() ([]byte, error) {
	var w plain.Writer
	w.Number(`{"pid":`, int64(h.PID))
	w.Text(`,"host":`, h.Host)
	w.Text(`,"since":`, h.Since.Format(time.RFC3339Nano))
	w.Text(`,"version":`, h.Version)
	w.Raw("}\n")
	if !w.Bad {
		return w.Bytes, nil
	}
	data, err := json.Marshal(h)
	return append(data, '\n'), err
}

// Release gives the role back.
func (l *Lease) Release() {
	l.dir.Close()
	l.file.Close()
}

// ReadHolder says who holds, or last held, the lease.
func ReadHolder(fsys vfs.FS) (Holder, bool) {
	data, _, err := ReadFile(fsys, LeaseFile, 4096)
	if err != nil {
		return Holder{}, false
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	var h Holder
	return h, json.Unmarshal(line, &h) == nil
}

func lockError(err error) error {
	if err == nil {
		return &mail.Error{Op: "take the lease", Kind: mail.KindBusy, Err: errors.New("another process is routing")}
	}
	return leaseError(err)
}

func leaseError(err error) error {
	kind, hint := mail.KindStore, `run "post doctor"`
	if errors.Is(err, fs.ErrPermission) || vfs.IsReadOnly(err) {
		kind, hint = mail.KindReadOnly, `mail moves when somebody who may write the office runs "post route"`
	}
	return &mail.Error{Op: "take the lease", Kind: kind, Err: err, Hint: hint}
}
