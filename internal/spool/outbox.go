package spool

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// Draft is one file in an outbox, as read: a stamped message or something that
// its owner wrote by hand.
type Draft struct {
	Name   string
	Data   []byte
	Info   fs.FileInfo
	Digest mail.Digest
	Err    error // why it can't be opened as mail (ErrNotMail, ErrTooLarge)
}

// Pending lists the names that wait in the outbox, sorted.
func (b Box) Pending() ([]string, error) {
	names, err := b.FS.ReadNames(b.Path(Outbox))
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return Hidden(n) || !strings.HasSuffix(n, ext) })
	slices.Sort(names)
	return names, nil
}

// Draft reads one outbox file. The error is set only if the file is gone or the
// disk fails; what can't be mail is said in Draft.Err.
func (b Box) Draft(name string) (Draft, error) { return b.readDraft(Outbox, name) }

func (b Box) readDraft(dir, name string) (Draft, error) {
	full := b.Path(dir, name)
	d := Draft{Name: name}
	var err error
	d.Data, d.Info, err = ReadMail(b.FS, full)
	if err == nil {
		d.Digest = mail.DigestOf(d.Data)
		return d, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return d, err
	}
	fi, lerr := b.FS.Lstat(full)
	if lerr != nil {
		return d, lerr
	}
	if fi.Mode().IsRegular() && !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrNotMail) {
		return d, err
	}
	d.Info, d.Err = fi, ErrNotMail
	if errors.Is(err, ErrTooLarge) {
		d.Err = ErrTooLarge
	}
	return d, nil
}

// Key is a name in outbox/.keys that becomes a link to a message before it is
// sent, so a key without a message can't exist. Kept ones are durable with the
// message; the others only save a repeat while the system is up.
type Key struct {
	Name string
	Kept bool
}

// Store puts a stamped message into the outbox, durably. The caller holds the
// mailbox lock. fs.ErrExist: the id is taken.
func (b Box) Store(id mail.ID, data []byte, keys []Key, batch *Batch) error {
	temp, err := writeTemp(b.FS, b.Path(Outbox), FileName(id), data)
	if err != nil {
		return err
	}
	for i, key := range keys {
		if err := b.linkKey(temp, key); err != nil {
			b.FS.Remove(temp)
			b.dropKeys(keys[:i])
			return err
		}
		if key.Kept {
			batch.Dir(b.FS, b.Path(Keys))
		}
	}
	if err := b.FS.Move(temp, b.Path(Outbox, FileName(id))); err != nil {
		b.FS.Remove(temp)
		b.dropKeys(keys)
		return err
	}
	batch.Dir(b.FS, b.Path(Outbox))
	if err := batch.Flush(); err != nil {
		// Not known to be durable, so it must not be sent behind the author's back.
		b.FS.Remove(b.Path(Outbox, FileName(id)))
		b.dropKeys(keys)
		return err
	}
	return nil
}

// linkKey gives a key to a new message, taking it from one that no longer
// suppresses anything.
func (b Box) linkKey(temp string, key Key) error {
	err := b.FS.Link(temp, b.Path(Keys, key.Name))
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := b.FS.Remove(b.Path(Keys, key.Name)); err != nil {
		return err
	}
	return b.FS.Link(temp, b.Path(Keys, key.Name))
}

func (b Box) dropKeys(keys []Key) {
	for _, key := range keys {
		b.FS.Remove(b.Path(Keys, key.Name))
	}
}

// Adopt replaces a hand-written file by its stamped form: outbox/<id>.json
// durable first, then the raw file goes (design §3, adopt first). When the raw
// file already carries the name <id>.json the stamped form takes its place in
// one rename. It is refused (fs.ErrInvalid) if the raw file has changed since
// it was read: then it is another message.
func (b Box) Adopt(d Draft, from string, id mail.ID, data []byte) error {
	now, err := b.readDraft(from, d.Name)
	if err != nil {
		return err
	}
	if now.Digest != d.Digest || now.Err != nil {
		return fs.ErrInvalid
	}
	if from == Outbox && d.Name == FileName(id) {
		if err := Replace(b.FS, b.Path(Outbox), FileName(id), data); err != nil {
			return err
		}
		return b.FS.SyncDir(b.Path(Outbox))
	}
	if err := PutNew(b.FS, b.Path(Outbox), FileName(id), data); err != nil {
		return err
	}
	if err := b.FS.SyncDir(b.Path(Outbox)); err != nil {
		return err
	}
	return b.DropRaw(d, from)
}

// DropRaw removes a hand-written file whose stamped form is durable.
func (b Box) DropRaw(d Draft, from string) error {
	if err := b.FS.Remove(b.Path(from, d.Name)); err != nil {
		return err
	}
	return b.FS.SyncDir(b.Path(from))
}

// Retire links an outbox file into .sent. The caller syncs, then calls Unlink.
func (b Box) Retire(id mail.ID) error {
	return linkSame(b.FS, b.Path(Outbox, FileName(id)), b.Path(Sent, FileName(id)))
}

// Unlink removes a retired outbox file. The caller syncs the outbox.
func (b Box) Unlink(id mail.ID) error {
	err := b.FS.Remove(b.Path(Outbox, FileName(id)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

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
func (b Box) Fail(d Draft, why Why) (string, error) {
	name, err := b.freeFailedName(d.Name)
	if err != nil {
		return "", err
	}
	why.V, why.Digest = 1, d.Digest
	data, err := json.MarshalIndent(why, "", "  ")
	if err != nil {
		return "", err
	}
	if err := PutNew(b.FS, b.Path(Failed), name+whyExt, append(data, '\n')); err != nil {
		return "", err
	}
	from, to := b.Path(Outbox, d.Name), b.Path(Failed, name)
	if err := b.FS.SyncDir(b.Path(Failed)); err != nil {
		return "", err
	}
	if err := moveAny(b.FS, from, to); err != nil {
		return "", err
	}
	return name, b.FS.SyncDir(b.Path(Outbox))
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

func (b Box) freeFailedName(name string) (string, error) {
	for n := 1; ; n++ {
		try := name
		if n > 1 {
			try = strings.TrimSuffix(name, ext) + "." + strconv.Itoa(n) + ext
		}
		a, err := exists(b.FS, b.Path(Failed, try))
		if err != nil {
			return "", err
		}
		w, err := exists(b.FS, b.Path(Failed, try+whyExt))
		if err != nil {
			return "", err
		}
		if !a && !w {
			return try, nil
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

// ReadWhy returns the reason beside a failed file.
func (b Box) ReadWhy(name string) (Why, error) {
	data, _, err := ReadFile(b.FS, b.Path(Failed, name+whyExt), 64<<10)
	if err != nil {
		return Why{}, err
	}
	var w Why
	return w, json.Unmarshal(data, &w)
}

// DropWhy removes the reason beside a failed file that was adopted after all.
func (b Box) DropWhy(name string) error { return b.FS.Remove(b.Path(Failed, name+whyExt)) }
