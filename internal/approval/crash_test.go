package approval

import (
	"errors"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// life is the whole life of one question, and how far its caller knows it got.
type life struct {
	id                       string
	created, decided, finish bool
	finished                 bool
}

func (l *life) run(fsys vfs.FS) error {
	if _, err := Create(fsys, question(msgA)); err != nil {
		return err
	}
	if err := SyncDir(fsys); err != nil {
		return err
	}
	l.created = true
	if err := Decide(fsys, l.id, by("ann", "no, wait")); err != nil {
		return err
	}
	l.decided = true
	if _, err := Undone(fsys); err != nil {
		return err
	}
	l.finish = true
	if err := Finish(fsys, l.id); err != nil {
		return err
	}
	l.finished = true
	return nil
}

// check fails unless the state agrees with what the caller was told, and is one
// that the next pass can go on from.
func (l *life) check(t *testing.T, m *vfs.Mem) (decided bool) {
	t.Helper()
	_, d, err := Get(m, l.id)
	if err != nil && (l.created || mail.KindOf(err) != mail.KindNotFound) {
		t.Fatalf("lost or broken: %v\n%v", err, m)
	}
	open, oerr := Open(m)
	undone, uerr := Undone(m)
	if oerr != nil || uerr != nil || len(open)+len(undone) > 1 {
		t.Fatalf("open %v %v, undone %v %v\n%v", open, oerr, undone, uerr, m)
	}
	if d == nil {
		if l.decided || len(undone) > 0 {
			t.Fatalf("the decision is lost\n%v", m)
		}
		return false
	}
	if d.By != "ann" || d.Verdict != VerdictRejected || len(open) > 0 {
		t.Fatalf("decision %+v, open %v", d, open)
	}
	if !l.finish && len(undone) != 1 {
		t.Fatalf("its effects would never be performed\n%v", m)
	}
	r, err := Rejected(m, "k1", noon(), time.Hour)
	if err != nil || l.decided && r == nil || l.finished && len(undone) > 0 {
		t.Fatalf("rejection %v, %v; undone %v\n%v", r, err, undone, m)
	}
	return true
}

// goOn is what the next process does: ask again, decide otherwise, finish.
// Whatever it is told is still true after another crash.
func (l *life) goOn(t *testing.T, m *vfs.Mem, decided bool) {
	t.Helper()
	if _, err := Create(m, question(msgA)); err != nil {
		t.Fatal(err)
	}
	if err := SyncDir(m); err != nil {
		t.Fatal(err)
	}
	err := Decide(m, l.id, by("bob", "yes"))
	winner := "bob"
	if decided {
		winner = "ann"
		wantKind(t, err, mail.KindConflict)
	} else if err != nil {
		t.Fatal(err)
	}
	for state := range m.CrashStates(5000) {
		_, d, err := Get(state, l.id)
		if err != nil || d == nil || d.By != winner {
			t.Fatalf("%v, %v; want %s's decision\n%v", d, err, winner, state)
		}
		undone, err := Undone(state)
		if err != nil || len(undone) == 0 && !l.finish {
			t.Fatalf("undone %v, %v", undone, err)
		}
		for _, c := range undone {
			if err := Finish(state, c.Approval.ID); err != nil {
				t.Fatal(err)
			}
		}
		if r, err := Rejected(state, "k1", noon(), time.Hour); err != nil || (r != nil) != decided {
			t.Fatalf("rejection %v, %v", r, err)
		}
		if open, err := Open(state); err != nil || len(open) > 0 {
			t.Fatalf("open %v, %v", open, err)
		}
	}
}

func TestCrash(t *testing.T) {
	t.Parallel()
	id := (&life{}).calls(t, nil)
	states := 0
	for n := 1; n <= id; n++ {
		m := office(t)
		l := life{id: question(msgA).withID()}
		var f vfs.Fault
		f.CrashAfter(n)
		vfs.Crashed(func() { _ = l.run(f.Wrap(m)) })
		for state := range m.CrashStates(5000) {
			states++
			l.goOn(t, state, l.check(t, state))
		}
		// Killed only: the next process finds what was not synced, too.
		l.goOn(t, m, l.check(t, m))
	}
	if states < id {
		t.Errorf("only %d states after %d calls", states, id)
	}
}

func (a *Approval) withID() string { return IDFor(a.Kind, a.Message, a.Cause) }

// calls returns how many calls a life takes when each may fail as fault says.
func (l *life) calls(t *testing.T, fault *vfs.Fault) int {
	t.Helper()
	if fault == nil {
		fault = &vfs.Fault{}
	}
	l.id = question(msgA).withID()
	if err := l.run(fault.Wrap(office(t))); err != nil {
		t.Fatal(err)
	}
	return len(fault.Calls())
}

func TestFaults(t *testing.T) {
	t.Parallel()
	total := (&life{}).calls(t, nil)
	for n := 1; n <= total; n++ {
		m := office(t)
		l := life{id: question(msgA).withID()}
		var f vfs.Fault
		f.FailAt(n, errors.New("no space left on device"))
		if err := l.run(f.Wrap(m)); err != nil && mail.KindOf(err) != mail.KindStore {
			t.Errorf("call %d: %v is of kind %s", n, err, mail.KindOf(err))
		}
		// The same commands again, without the fault.
		err := l.run(m)
		if kind := mail.KindOf(err); err != nil && kind != mail.KindConflict {
			t.Fatalf("call %d, again: %v", n, err)
		}
		if !l.check(t, m) {
			t.Fatalf("call %d: not decided", n)
		}
		l.decided = true
		if err := Finish(m, l.id); err != nil {
			t.Fatalf("call %d: %v", n, err)
		}
		l.finished = true
		for state := range m.CrashStates(5000) {
			l.finish = true
			l.check(t, state)
		}
	}
}
