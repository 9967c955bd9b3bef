package office

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
)

// Moving an office (design §3). In every state that a crash can leave, the
// office either is where it was, or refuses every write and names what to run:
// MOVED stands in the directory itself from before the rename until the
// registry, the identity and the note in the old place are durable.

// Move renames the office to the directory to, which is absolute and must not
// exist or be empty, and leaves MOVED behind. The caller holds the lease and
// opens the office anew afterwards. Errors: KindConflict (to is taken),
// KindInvalid (to lies in the office, or on another file system), KindStore.
func (o *Office) Move(to string) error {
	if _, ok := o.within(to); ok || to == o.Dir {
		return moveError(mail.KindInvalid, to, errors.New("lies in the office itself"), "name a directory outside")
	}
	if names, err := os.ReadDir(to); err == nil && len(names) > 0 {
		return moveError(mail.KindConflict, to, errors.New("is not empty"), "name a new directory")
	}
	if err := makeDir(filepath.Dir(to)); err != nil {
		return moveError(mail.KindStore, to, err, "")
	}
	if err := o.setMoved(to); err != nil {
		return moveError(mail.KindStore, o.Dir, err, "")
	}
	if err := os.Rename(o.Dir, to); err != nil {
		o.FS.Remove(MovedFile) // still here; what cannot be removed is named by every write
		return moveError(mail.KindInvalid, to, err,
			"move the directory by hand (mv "+o.Dir+" "+to+"), then run: post office move --here --office "+to)
	}
	for _, parent := range []string{filepath.Dir(to), filepath.Dir(o.Dir)} {
		if err := syncPath(parent); err != nil {
			return moveError(mail.KindStore, parent, err, "run: post office move --here --office "+to)
		}
	}
	moved, err := Open(to, o.Sys)
	if err != nil {
		return err
	}
	return moved.settle(o.Dir)
}

// Arrive makes the office at home where it stands now, after somebody moved
// the directory by hand or a Move was cut short. from is where it was, as far
// as its registry tells. An original that is still there is refused: then two
// directories would be one office. The caller holds the lease.
func (o *Office) Arrive() (from string, err error) {
	reg, err := o.Registry()
	if err != nil {
		return "", err
	}
	from = o.formerDir(reg)
	if from != "" && from != o.Dir {
		other, err := Open(from, o.Sys)
		if err == nil && other.Config.ID == o.Config.ID {
			if _, moved := readMoved(other.FS); !moved {
				return from, moveError(mail.KindConflict, from, errors.New("the original is still there"),
					"keep both as two offices with post office fork, or move the original with post office move")
			}
		}
	}
	return from, o.settle(from)
}

// Fork makes an office of its own of a copied one: another id, this
// directory's identity, and mailboxes of its own for agents whose mailbox lies
// outside and stays with the original. It returns their names. The caller
// holds the lease.
func (o *Office) Fork() (fresh []string, err error) {
	reg, err := o.Registry()
	if err != nil {
		return nil, err
	}
	from := o.formerDir(reg)
	if (from == "" || from == o.Dir) && o.Foreign() == "" {
		return nil, moveError(mail.KindConflict, o.Dir, errors.New("this is the original, not a copy"),
			"copy the directory first and run this in the copy")
	}
	for _, e := range reg.Entries() {
		if _, inside := cutDir(filepath.Dir(e.InboxPath), from); inside {
			continue
		}
		box := o.SystemBox(e.Name)
		if err := box.Make(); err != nil {
			return nil, moveError(mail.KindStore, e.Name, err, "")
		}
		path := filepath.Join(o.Dir, AgentsDir, e.Name, spool.Inbox)
		if err := reg.Update(e.AID, func(e *registry.Entry) { e.InboxPath = path }); err != nil {
			return nil, err
		}
		fresh = append(fresh, e.Name)
	}
	if err := o.rebase(reg, from); err != nil {
		return nil, err
	}
	if err := o.unlink(reg); err != nil {
		return nil, err
	}
	o.Config.ID = config.New("", "", o.Sys.Now()).ID
	if err := o.signIdentity(); err != nil {
		return nil, err
	}
	return fresh, o.unsetMoved()
}

// unlink makes a fork an office that is linked to none: the original is the
// station that others know.
func (o *Office) unlink(reg *registry.Registry) error {
	for _, name := range reg.Stations() {
		if _, _, err := o.SetFar(reg, name, nil); err != nil {
			return err
		}
	}
	if o.Config.Station != "" {
		if err := o.SetStation(""); err != nil {
			return err
		}
	}
	return reg.Save(o.FS)
}

// settle points the registry here, records this directory's identity, leaves
// MOVED in the old place and lifts the ban on writing, in that order.
func (o *Office) settle(from string) error {
	reg, err := o.Registry()
	if err != nil {
		return err
	}
	if err := o.rebase(reg, from); err != nil {
		return err
	}
	if err := o.signIdentity(); err != nil {
		return err
	}
	if from != "" && from != o.Dir {
		o.leaveNote(from)
	}
	return o.unsetMoved()
}

// rebase points the mailboxes that stood in the old directory to this one.
func (o *Office) rebase(reg *registry.Registry, from string) error {
	if from == "" || from == o.Dir {
		return reg.Save(o.FS)
	}
	for _, e := range reg.Entries() {
		rel, inside := cutDir(e.InboxPath, from)
		if !inside {
			continue
		}
		path := filepath.Join(o.Dir, rel)
		if err := reg.Update(e.AID, func(e *registry.Entry) { e.InboxPath = path }); err != nil {
			return err
		}
	}
	return reg.Save(o.FS)
}

// signIdentity rewrites postroom.toml with this machine and directory, keeping
// the policy.
func (o *Office) signIdentity() error {
	if err := identify(o.FS, o.Sys, &o.Config); err != nil {
		return moveError(mail.KindStore, o.Dir, err, "")
	}
	data, err := o.Config.Encode()
	if err == nil {
		err = spool.Replace(o.FS, ".", config.OfficeFile, data)
	}
	if err == nil {
		err = o.FS.SyncDir(".")
	}
	if err != nil {
		return moveError(mail.KindStore, o.Dir, err, "")
	}
	return nil
}

// formerDir is the directory that the office's own mailboxes are registered
// under; "" if none is.
func (o *Office) formerDir(reg *registry.Registry) string {
	for _, e := range reg.Entries() {
		box := filepath.Dir(e.InboxPath)
		agents, base := filepath.Dir(box), filepath.Base(box)
		if filepath.Base(agents) != AgentsDir {
			continue
		}
		if _, err := o.FS.Lstat(AgentsDir + "/" + base + "/" + spool.Inbox); err == nil {
			return filepath.Dir(agents)
		}
	}
	return ""
}

// setMoved writes MOVED durably into this directory.
func (o *Office) setMoved(to string) error {
	if err := spool.Replace(o.FS, ".", MovedFile, []byte(to+"\n")); err != nil {
		return err
	}
	return o.FS.SyncDir(".")
}

// unsetMoved lifts the ban on writing, durably.
func (o *Office) unsetMoved() error {
	err := o.FS.Remove(MovedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = o.FS.SyncDir(".")
	}
	if err != nil {
		return moveError(mail.KindStore, o.Dir, err, "remove the file MOVED in it")
	}
	return nil
}

// leaveNote puts MOVED into the old place, if there is nothing else. It is for
// whoever still has the old path; failing to leave it loses nothing, since the
// old path then leads nowhere, which is as loud.
func (o *Office) leaveNote(from string) {
	if err := os.Mkdir(from, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return
	}
	old, err := o.Sys.OpenFS(from)
	if err != nil {
		return
	}
	if is, err := isOffice(old); is || err != nil {
		return
	}
	if spool.Replace(old, ".", MovedFile, []byte(o.Dir+"\n")) == nil && old.SyncDir(".") == nil {
		syncPath(filepath.Dir(from))
	}
}

// cutDir returns path without the directory dir in front.
func cutDir(path, dir string) (rel string, ok bool) {
	if dir == "" {
		return "", false
	}
	return strings.CutPrefix(path, dir+string(filepath.Separator))
}

func moveError(kind mail.Kind, addr string, err error, hint string) error {
	return &mail.Error{Op: "move office", Kind: kind, Addr: addr, Err: err, Hint: hint}
}
