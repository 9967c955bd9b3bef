package spool

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/mail"
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

// Pending lists the names that wait in the outbox, sorted; at most max of them,
// so that one flooded outbox can't hold up the others.
func (b Box) Pending(max int) ([]string, error) {
	names, err := b.FS.ReadNames(b.Path(Outbox))
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return Hidden(n) || !strings.HasSuffix(n, ext) })
	slices.Sort(names)
	return names[:min(len(names), max)], nil
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

// Store puts a stamped message into the outbox, durably. keys are names in
// outbox/.keys that become links to the message before it is sent, so a key
// without a message can't exist. The caller holds the mailbox lock.
// fs.ErrExist: the id or a key is taken.
func (b Box) Store(id mail.ID, data []byte, keys []string, batch *Batch) error {
	temp, err := writeTemp(b.FS, b.Path(Outbox), FileName(id), data)
	if err != nil {
		return err
	}
	defer b.FS.Remove(temp)
	for i, key := range keys {
		if err := b.FS.Link(temp, b.Path(Keys, key)); err != nil {
			b.dropKeys(keys[:i])
			return err
		}
	}
	if err := b.FS.Link(temp, b.Path(Outbox, FileName(id))); err != nil {
		b.dropKeys(keys)
		return err
	}
	batch.Dir(b.FS, b.Path(Outbox))
	if len(keys) > 0 {
		batch.Dir(b.FS, b.Path(Keys))
	}
	if err := batch.Flush(); err != nil {
		// Not known to be durable, so it must not be sent behind the author's back.
		b.FS.Remove(b.Path(Outbox, FileName(id)))
		b.dropKeys(keys)
		return err
	}
	return nil
}

func (b Box) dropKeys(keys []string) {
	for _, key := range keys {
		b.FS.Remove(b.Path(Keys, key))
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
