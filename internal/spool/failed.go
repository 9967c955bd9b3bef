package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// Why is what stands beside a failed file, in <name>.why.json.
type Why struct {
	V      int         `json:"v"`
	At     time.Time   `json:"at"`
	Reason string      `json:"reason"`
	Hint   string      `json:"hint,omitempty"`
	Digest mail.Digest `json:"digest,omitempty"`
}

const whyExt = ".why.json"

// Fail moves an outbox file to .failed and puts the reason beside it, reason
// first, so that no file stands there unexplained. It returns the name it got.
// What a Fail that was cut short has done counts: the file keeps its name.
func (b Box) Fail(d Draft, why Why) (string, error) {
	slot, err := b.failedSlot(d)
	if err != nil {
		return "", err
	}
	if !slot.explained {
		why.V, why.Digest = 1, d.Digest
		data, err := json.MarshalIndent(why, "", "  ")
		if err != nil {
			return "", err
		}
		if err := PutNew(b.FS, b.Path(Failed), slot.name+whyExt, append(data, '\n')); err != nil {
			return "", err
		}
	}
	if err := b.FS.SyncDir(b.Path(Failed)); err != nil {
		return "", err
	}
	from, to := b.Path(Outbox, d.Name), b.Path(Failed, slot.name)
	if slot.moved {
		err = b.FS.Remove(from)
	} else {
		err = moveAny(b.FS, from, to)
	}
	if err != nil {
		return "", err
	}
	return slot.name, b.FS.SyncDir(b.Path(Outbox))
}

// moveAny moves a file by link and unlink; what can't be linked (a directory)
// is renamed to the name, which is free.
func moveAny(fsys vfs.FS, from, to string) error {
	if err := fsys.Link(from, to); err != nil {
		if err := fsys.Rename(from, to); err != nil {
			return err
		}
		return fsys.SyncDir(path.Dir(to))
	}
	if err := fsys.SyncDir(path.Dir(to)); err != nil {
		return err
	}
	return fsys.Remove(from)
}

// slot is a name in .failed for one file, and what stands there for it already.
type slot struct {
	name             string
	explained, moved bool
}

// failedSlot finds the first name that is free, or that an earlier Fail of the
// very same file had taken.
func (b Box) failedSlot(d Draft) (slot, error) {
	for n := 1; ; n++ {
		s := slot{name: d.Name}
		if n > 1 {
			s.name = strings.TrimSuffix(d.Name, ext) + "." + strconv.Itoa(n) + ext
		}
		there, err := b.FS.Lstat(b.Path(Failed, s.name))
		switch {
		case err == nil:
			s.moved = d.Info != nil && vfs.SameFile(there, d.Info)
		case !errors.Is(err, fs.ErrNotExist):
			return s, err
		}
		why, werr := b.ReadWhy(s.name)
		if errors.Is(werr, errDisk) {
			return s, werr
		}
		s.explained = werr == nil && why.Digest == d.Digest
		vacant := errors.Is(err, fs.ErrNotExist)
		if (vacant || s.moved) && (s.explained || errors.Is(werr, fs.ErrNotExist)) {
			return s, nil
		}
	}
}

// Refailed lists failed files that changed after they had failed: their author
// was still writing, or has mended them (design §3).
func (b Box) Refailed(max int) ([]Draft, error) {
	names, err := b.FS.ReadNames(b.Path(Failed))
	if err != nil {
		return nil, err
	}
	var out []Draft
	for _, n := range names {
		if Hidden(n) || strings.HasSuffix(n, whyExt) || !strings.HasSuffix(n, ext) || len(out) >= max {
			continue
		}
		why, err := b.ReadWhy(n)
		if err != nil {
			continue
		}
		fi, err := b.FS.Lstat(b.Path(Failed, n))
		if err != nil || !fi.Mode().IsRegular() || !fi.ModTime().After(why.At) {
			continue
		}
		if d, err := b.readDraft(Failed, n); err == nil && d.Err == nil && d.Digest != why.Digest {
			out = append(out, d)
		}
	}
	return out, nil
}

// errDisk is in the chain when a file could not be read, rather than is none.
var errDisk = errors.New("not read")

// ReadWhy returns the reason beside a failed file.
func (b Box) ReadWhy(name string) (Why, error) {
	data, _, err := ReadFile(b.FS, b.Path(Failed, name+whyExt), 64<<10)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, vfs.ErrNotRegular), errors.Is(err, ErrNotMail), errors.Is(err, ErrTooLarge):
		return Why{}, err
	default:
		return Why{}, fmt.Errorf("%w: %w", errDisk, err)
	}
	var w Why
	return w, json.Unmarshal(data, &w)
}

// DropWhy removes the reason beside a failed file that was adopted after all.
func (b Box) DropWhy(name string) error { return b.FS.Remove(b.Path(Failed, name+whyExt)) }
