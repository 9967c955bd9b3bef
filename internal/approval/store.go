package approval

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// Create puts a before a person. V and an empty ID are filled in. created is
// false, without an error, if the same approval is open already or was decided
// already. The caller calls SyncDir afterwards in either case: an approval
// that is there may not be durable yet.
//
// Errors: KindInvalid (a breaks a rule of the format), KindTooLarge,
// KindConflict (another message has the same id), KindCorrupt, KindStore.
func Create(fsys vfs.FS, a *Approval) (created bool, err error) {
	a.V = Version
	if a.ID == "" {
		a.ID = IDFor(a.Kind, a.Message, a.Cause)
	}
	if what := a.check(); what != "" {
		return false, &mail.Error{Op: "ask a person", Kind: mail.KindInvalid, ID: a.Message, Err: errors.New(what)}
	}
	if known, _, err := Get(fsys, a.ID); err == nil {
		return false, sameCause(known, a)
	} else if mail.KindOf(err) != mail.KindNotFound {
		return false, err
	}
	b, err := file(a)
	if err != nil {
		return false, &mail.Error{Op: "ask a person", Kind: mail.KindInvalid, ID: a.Message, Err: err}
	}
	err = publish(fsys, dir, a.ID, b)
	if errors.Is(err, fs.ErrExist) {
		known, _, err := Get(fsys, a.ID)
		if err != nil {
			return false, err
		}
		return false, sameCause(known, a)
	}
	return err == nil, err
}

func sameCause(known, a *Approval) error {
	if known.Kind == a.Kind && known.Message == a.Message && known.Cause == a.Cause {
		return nil
	}
	return &mail.Error{Op: "ask a person", Kind: mail.KindConflict, ID: a.Message, Addr: a.ID,
		Err: fmt.Errorf("the id belongs to message %s already", known.Message)}
}

// SyncDir makes the approvals created so far durable.
func SyncDir(fsys vfs.FS) error { return syncDir(fsys, dir) }

// Open lists the approvals that nobody has decided, oldest first. One whose
// file is broken is in the list too, last, with its ID and Broken set: it hides
// no other and is never taken for decided.
func Open(fsys vfs.FS) ([]Approval, error) {
	ids, err := list(fsys, dir)
	if err != nil {
		return nil, err
	}
	open := make([]Approval, 0, len(ids))
	for _, id := range ids {
		if done, err := isDone(fsys, id); err != nil {
			return nil, err
		} else if done {
			continue
		}
		a, err := loadOpen(fsys, id)
		switch {
		case mail.KindOf(err) == mail.KindNotFound: // finished meanwhile
		case err != nil:
			open = append(open, Approval{ID: id, Broken: err})
		default:
			open = append(open, *a)
		}
	}
	slices.SortFunc(open, func(a, b Approval) int {
		if (a.Broken == nil) != (b.Broken == nil) {
			if a.Broken != nil {
				return 1
			}
			return -1
		}
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return open, nil
}

// Get returns an approval by its id or an unambiguous suffix of it; the
// decision is nil while it is open.
//
// Errors: KindNotFound, KindAmbiguous (with the candidates), KindCorrupt,
// KindForeign, KindStore.
func Get(fsys vfs.FS, ref string) (*Approval, *Decision, error) {
	id, err := resolve(fsys, ref)
	if err != nil {
		return nil, nil, err
	}
	// Decided first: a decision stands, whatever became of the open file.
	c, err := loadDone(fsys, id)
	if err == nil {
		return &c.Approval, &c.Decision, nil
	}
	if mail.KindOf(err) != mail.KindNotFound {
		return nil, nil, err
	}
	a, err := loadOpen(fsys, id)
	return a, nil, err
}

// resolve turns an id or a suffix of one into an id.
func resolve(fsys vfs.FS, ref string) (string, error) {
	if ValidID(ref) {
		return ref, nil
	}
	if ref == "" {
		return "", &mail.Error{Op: "find approval", Kind: mail.KindUsage, Err: errors.New("no id")}
	}
	var found []string
	for _, d := range []string{dir, doneDir} {
		ids, err := list(fsys, d)
		if err != nil {
			return "", err
		}
		for _, id := range ids {
			if strings.HasSuffix(id, ref) && !slices.Contains(found, id) {
				found = append(found, id)
			}
		}
	}
	switch len(found) {
	case 0:
		return "", notFound(ref)
	case 1:
		return found[0], nil
	}
	slices.Sort(found)
	return "", &mail.Error{Op: "find approval", Kind: mail.KindAmbiguous, Addr: quote(ref),
		Err:  fmt.Errorf("%d approvals end so: %s", len(found), strings.Join(found[:min(len(found), 5)], ", ")),
		Hint: "give more of the id"}
}

func notFound(ref string) error {
	return &mail.Error{Op: "find approval", Kind: mail.KindNotFound, Addr: quote(ref),
		Err: errors.New("no such approval"), Hint: `"post approvals" lists the open ones`}
}

func loadOpen(fsys vfs.FS, id string) (*Approval, error) {
	b, err := read(fsys, id, openPath(id))
	if err != nil {
		return nil, err
	}
	a, err := parseOpen(id, b)
	if err != nil {
		return nil, err
	}
	return a, nil
}

func loadDone(fsys vfs.FS, id string) (*Closed, error) {
	b, err := read(fsys, id, donePath(id))
	if err != nil {
		return nil, err
	}
	return parseClosed(id, b)
}

func isDone(fsys vfs.FS, id string) (bool, error) { return exists(fsys, donePath(id)) }
