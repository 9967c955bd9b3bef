package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// Draft is one file in an outbox, as read: a stamped message or something that
// its owner wrote by hand.
type Draft struct {
	Dir    string // Outbox, or Failed
	Name   string
	Data   []byte
	Info   fs.FileInfo
	Digest mail.Digest
	Err    error // why it can't be opened as mail (ErrNotMail, ErrTooLarge)
}

// Pending lists the names that wait in the outbox, sorted, without those that
// skip names: what is called as a message, and the rest, which is written by
// hand.
func (b Box) Pending(skip func(name string) bool) (ids, others []string, err error) {
	names, err := b.FS.ReadNames(b.Path(Outbox))
	if err != nil {
		return nil, nil, err
	}
	for _, n := range names {
		stem, ok := strings.CutSuffix(n, ext)
		switch {
		case !ok || Hidden(n) || skip != nil && skip(n):
		case mail.ID(stem).Valid():
			ids = append(ids, n)
		default:
			others = append(others, n)
		}
	}
	slices.Sort(ids)
	slices.Sort(others)
	return ids, others, nil
}

// Path is the file's path within its mailbox.
func (d Draft) Path() string { return d.Dir + "/" + d.Name }

// Draft reads one outbox file. The error is set only if the file is gone or the
// disk fails; what can't be mail is said in Draft.Err.
func (b Box) Draft(name string) (Draft, error) { return b.readDraft(Outbox, name) }

func (b Box) readDraft(dir, name string) (Draft, error) {
	full := b.Path(dir, name)
	d := Draft{Dir: dir, Name: name}
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
// sent, so a key without a message can't exist. Kept ones are durable before
// the message is: whatever a crash leaves, there is no message without them
// either. The others only save a repeat while the system is up.
type Key struct {
	Name string
	Kept bool
}

// ErrUnsure is in the chain when a message could neither be made durable nor be
// taken back for certain: a power cut may bring it back.
var ErrUnsure = errors.New("it could not be taken back for certain")

// takeBack removes what is not known to be durable, so that it is not sent
// behind its author's back. nil: a router was faster, so it is sent after all.
// Its keys stay: whatever became of it, the same thing sent again is the same
// message.
func (b Box) takeBack(id mail.ID, cause error) error {
	err := b.FS.Remove(b.Path(Outbox, FileName(id)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = b.FS.SyncDir(b.Path(Outbox))
	}
	if err != nil {
		return fmt.Errorf("%w; %w", cause, ErrUnsure)
	}
	return cause
}

// Adopt replaces a hand-written file by its stamped form: outbox/<id>.json
// durable first, then the raw file goes (design §3, adopt first). When the raw
// file already carries the name <id>.json the stamped form takes its place in
// one rename. It is refused (fs.ErrInvalid) if the raw file has changed since
// it was read: then it is another message.
func (b Box) Adopt(d Draft, id mail.ID, data []byte) error {
	now, err := b.readDraft(d.Dir, d.Name)
	if err != nil {
		return err
	}
	if now.Digest != d.Digest || now.Err != nil {
		return fs.ErrInvalid
	}
	if d.Dir == Outbox && d.Name == FileName(id) {
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
	return b.DropRaw(d)
}

// DropRaw removes a hand-written file whose stamped form is durable. One that
// is gone already is fine.
func (b Box) DropRaw(d Draft) error {
	err := b.FS.Remove(b.Path(d.Dir, d.Name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return b.FS.SyncDir(b.Path(d.Dir))
}

// DropOrigin removes the hand-written file of a message that was stamped
// before, if a crash has left it: the very file, with the very bytes. Until it
// is gone the message may not move, else the file would be adopted again.
func (b Box) DropOrigin(o mail.Origin) error {
	for _, dir := range []string{Outbox, Failed} {
		fi, err := b.FS.Lstat(b.Path(dir, o.Name))
		if err != nil {
			continue
		}
		if _, ino, _ := vfs.Inode(fi); ino != o.Inode {
			continue
		}
		d, err := b.readDraft(dir, o.Name)
		if err != nil || d.Digest != o.Digest {
			continue
		}
		if err := b.DropRaw(d); err != nil {
			return err
		}
	}
	return nil
}

// Retire links an outbox file into .sent. The caller syncs, then calls Unlink.
// What stands there with the same bytes serves as well: a message that a person
// released was retired once before. Anything else is set aside.
func (b Box) Retire(d Draft) error {
	from, to := b.Path(Outbox, d.Name), b.Path(Sent, d.Name)
	err := linkSame(b.FS, from, to)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if data, _, rerr := ReadMail(b.FS, to); rerr == nil && mail.DigestOf(data) == d.Digest {
		return nil
	}
	if err := b.setAside(Sent, d.Name); err != nil {
		return err
	}
	return linkSame(b.FS, from, to)
}

// Unlink removes a retired outbox file. The caller syncs the outbox.
func (b Box) Unlink(id mail.ID) error {
	err := b.FS.Remove(b.Path(Outbox, FileName(id)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
