package approval

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/vfs"
)

// stamp is how times are shown to people.
const stamp = "2006-01-02 15:04 MST"

// Decide records what a person decided on the open approval id (a full id).
// d.Choice may be shortened, see Choose; d.Verdict is "" or, to say no to
// anything but a notice, VerdictRejected. When it returns nil the decision is
// durable; its effects are still to be performed, see Undone.
//
// Once the time is over, d does not count: the approval is closed as expired
// and the error is KindConflict. It is KindConflict too, saying who decided
// what and when, if it was decided before. Other errors: KindInvalid or
// KindAmbiguous (the choice), KindNotFound, KindCorrupt, KindForeign,
// KindStore (it may be decided nevertheless: look again).
func Decide(fsys vfs.FS, id string, d Decision) error {
	if !ValidID(id) {
		return notFound(id)
	}
	a, err := loadUndecided(fsys, id)
	if err != nil {
		return err
	}
	if d.At.IsZero() {
		return &mail.Error{Op: "decide", Kind: mail.KindInvalid, Addr: id, Err: errors.New("no time of decision")}
	}
	late := a.ExpiredAt(d.At)
	if late {
		d = a.expiry(d.At)
	} else if d, err = a.settle(d); err != nil {
		return err
	}
	c := &Closed{Approval: *a, Decision: d}
	if err := record(fsys, c); err != nil {
		return err
	}
	if late {
		return decided(c)
	}
	return nil
}

// None reports whether no approval is open, decided or not.
func None(fsys vfs.FS) (bool, error) {
	ids, err := list(fsys, dir)
	return len(ids) == 0, err
}

// Expire closes every open approval whose time is over, and returns how many.
// A broken one stays open.
func Expire(fsys vfs.FS, now time.Time) (n int, err error) {
	open, err := Open(fsys)
	if err != nil {
		return 0, err
	}
	for i := range open {
		a := &open[i]
		if a.Broken != nil || !a.ExpiredAt(now) {
			continue
		}
		err := record(fsys, &Closed{Approval: *a, Decision: a.expiry(now)})
		if mail.KindOf(err) == mail.KindConflict {
			continue // somebody decided just now
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// expiry is the decision of nobody: a release is stopped, a question stays
// without an answer.
func (a *Approval) expiry(now time.Time) Decision {
	d := Decision{By: "postroom", At: now.UTC(), Verdict: VerdictExpired}
	if a.Kind == policy.Release {
		d.Choice = Stop
	}
	return d
}

// loadUndecided returns the open approval, or the conflict if it is decided.
func loadUndecided(fsys vfs.FS, id string) (*Approval, error) {
	a, openErr := loadOpen(fsys, id)
	// Looked for afterwards, so that a decision of meanwhile is not missed.
	done, err := isDone(fsys, id)
	if err != nil {
		return nil, err
	}
	if done {
		return nil, conflict(fsys, id)
	}
	return a, openErr
}

// record makes the decision. The link is the one moment at which it happens.
func record(fsys vfs.FS, c *Closed) error {
	id := c.Approval.ID
	b, err := file(struct {
		V int `json:"v"`
		*Closed
	}{Version, c})
	if err != nil {
		return &mail.Error{Op: "decide", Kind: mail.KindInvalid, Addr: id, Err: err}
	}
	// Durable first as an open one, else Undone could miss it after a crash.
	if err := SyncDir(fsys); err != nil {
		return err
	}
	err = publish(fsys, doneDir, id, b)
	if errors.Is(err, fs.ErrExist) {
		return conflict(fsys, id)
	}
	if err != nil {
		return err
	}
	if err := syncDir(fsys, doneDir); err != nil {
		return err
	}
	return reject(fsys, c)
}

// conflict tells who decided what and when, once that is durable.
func conflict(fsys vfs.FS, id string) error {
	if err := syncDir(fsys, doneDir); err != nil {
		return err
	}
	c, err := loadDone(fsys, id)
	if err != nil {
		return err
	}
	return decided(c)
}

func decided(c *Closed) error {
	d := c.Decision
	e := &mail.Error{Op: "decide", Kind: mail.KindConflict, Addr: c.Approval.ID, Hint: "the first decision stands"}
	at := d.At.UTC().Format(stamp)
	switch {
	case d.Verdict == VerdictExpired:
		what := "it stays without an answer"
		if c.Approval.Kind == policy.Release {
			what = "it is stopped"
		}
		e.Err = fmt.Errorf("expired at %s: %s", c.Approval.Expires.UTC().Format(stamp), what)
		e.Hint = "the asker is told and may ask again"
	case d.Choice != "":
		e.Err = fmt.Errorf("%s by %s at %s: %s", d.Verdict, d.By, at, quote(d.Choice))
	default:
		e.Err = fmt.Errorf("%s by %s at %s", d.Verdict, d.By, at)
	}
	return e
}

// Undone lists the decided approvals whose effects (the answer, the release)
// may still be missing, oldest decision first. Each decision in it is durable,
// and if it is a rejection, that is on record: the caller holds the lease. The
// effects must be safe to repeat; after them comes Finish. One whose file is
// broken is listed last, with Approval.ID and Approval.Broken set, and must not
// be finished.
func Undone(fsys vfs.FS) ([]Closed, error) {
	ids, err := list(fsys, dir)
	if err != nil {
		return nil, err
	}
	var undone, broken []Closed
	for _, id := range ids {
		done, err := isDone(fsys, id)
		if err != nil {
			return nil, err
		}
		if !done {
			continue
		}
		c, err := loadDone(fsys, id)
		if err != nil {
			broken = append(broken, Closed{Approval: Approval{ID: id, Broken: err}})
			continue
		}
		undone = append(undone, *c)
	}
	if len(undone) > 0 {
		// A decider that died before its sync leaves a decision that a crash
		// could still undo: nothing may follow from that.
		if err := syncDir(fsys, doneDir); err != nil {
			return nil, err
		}
	}
	for i := range undone {
		// On record before the asker hears of it and can ask again.
		if err := reject(fsys, &undone[i]); err != nil {
			return nil, err
		}
	}
	sortClosed(undone)
	return append(undone, broken...), nil
}

// Finish takes a decided approval out of the open ones. The caller has made
// its effects durable. Safe to repeat.
//
// Errors: KindNotFound (it is not decided), KindCorrupt, KindForeign, KindStore.
func Finish(fsys vfs.FS, id string) error {
	if !ValidID(id) {
		return notFound(id)
	}
	c, err := loadDone(fsys, id)
	if err != nil {
		return err
	}
	if err := syncDir(fsys, doneDir); err != nil {
		return err
	}
	if err := reject(fsys, c); err != nil {
		return err
	}
	if err := fsys.Remove(openPath(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return storeError("remove", fsys.Path(openPath(id)), err)
	}
	return SyncDir(fsys)
}

func sortClosed(c []Closed) {
	slices.SortFunc(c, func(a, b Closed) int {
		return cmp.Or(a.Decision.At.Compare(b.Decision.At), cmp.Compare(a.Approval.ID, b.Approval.ID))
	})
}
