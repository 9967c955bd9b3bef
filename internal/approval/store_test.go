package approval

import (
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/vfs"
)

func TestCreateOnce(t *testing.T) {
	t.Parallel()
	m := office(t)
	id := create(t, m, question(msgA))
	again := question(msgA)
	again.Body = "another text"
	if created, err := Create(m, again); created || err != nil {
		t.Fatalf("again: %v, %v", created, err)
	}
	if err := Decide(m, id, by("ann", "yes")); err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"decided", "finished"} {
		if created, err := Create(m, question(msgA)); created || err != nil {
			t.Fatalf("%s: %v, %v", step, created, err)
		}
		if err := Finish(m, id); err != nil {
			t.Fatal(err)
		}
	}
	if open, err := Open(m); len(open) != 0 || err != nil {
		t.Fatalf("it was asked again: %v, %v", open, err)
	}
}

func TestCreateMakesDirectories(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem(noon)
	create(t, m, question(msgA))
	for state := range m.CrashStates(100) {
		if open, err := Open(state); len(open) != 1 || err != nil {
			t.Fatalf("%v, %v in\n%v", open, err, state)
		}
	}
}

func TestCreateCollision(t *testing.T) {
	t.Parallel()
	m := office(t)
	a := question(msgA)
	id := create(t, m, a)
	// The file of another message under this one's id is broken, not the same.
	b, err := file(question(msgB))
	if err != nil {
		t.Fatal(err)
	}
	write(t, m, openPath(id), string(b))
	_, err = Create(m, question(msgA))
	wantKind(t, err, mail.KindCorrupt)
	other := *a
	other.Message = msgB
	wantKind(t, sameCause(a, &other), mail.KindConflict)
}

func TestOpen(t *testing.T) {
	t.Parallel()
	m := office(t)
	if open, err := Open(vfs.NewMem(noon)); len(open) != 0 || err != nil {
		t.Fatalf("new office: %v, %v", open, err)
	}
	late := question(msgA)
	late.Created = noon().Add(time.Second)
	create(t, m, late)
	early := release(msgB)
	create(t, m, early)
	done := create(t, m, notice(msgB))
	if err := Decide(m, done, by("ann", "")); err != nil {
		t.Fatal(err)
	}
	broken := IDFor(policy.Notice, "x", "")
	write(t, m, openPath(broken), "{")
	newer := IDFor(policy.Notice, "y", "")
	write(t, m, openPath(newer), `{"v":2,"kind":"vote"}`)
	write(t, m, dir+"/.tmp-"+broken+"-0", "{")
	write(t, m, dir+"/notes.txt", "hello")
	open, err := Open(m)
	if err != nil || len(open) != 4 {
		t.Fatalf("%v, %v", open, err)
	}
	if open[0].ID != early.ID || open[1].ID != late.ID {
		t.Errorf("order: %s, %s", open[0].ID, open[1].ID)
	}
	kinds := map[string]mail.Kind{}
	for _, a := range open[2:] {
		kinds[a.ID] = mail.KindOf(a.Broken)
	}
	if kinds[broken] != mail.KindCorrupt || kinds[newer] != mail.KindForeign {
		t.Errorf("broken ones: %v", kinds)
	}
	if err := Sweep(m); err != nil {
		t.Fatal(err)
	}
	names, _ := m.ReadNames(dir)
	for _, n := range names {
		if strings.HasPrefix(n, tempPrefix) {
			t.Errorf("%s was not swept", n)
		}
	}
}

func TestOpenRefusesLinks(t *testing.T) {
	t.Parallel()
	m := office(t)
	id := IDFor(policy.Notice, msgA, "")
	write(t, m, "secret", "{}")
	if err := m.Symlink("../secret", openPath(id)); err != nil {
		t.Fatal(err)
	}
	open, err := Open(m)
	if err != nil || len(open) != 1 || open[0].Broken == nil {
		t.Fatalf("%v, %v", open, err)
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	m := office(t)
	q := create(t, m, question(msgA))
	r := create(t, m, release(msgA))
	if err := Decide(m, r, by("ann", "del")); err != nil {
		t.Fatal(err)
	}
	if err := Finish(m, r); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{q, q[3:], q[8:]} {
		a, d, err := Get(m, ref)
		if err != nil || a.ID != q || d != nil {
			t.Errorf("%s: %v, %v, %v", ref, a, d, err)
		}
	}
	a, d, err := Get(m, r[5:])
	if err != nil || a.ID != r || d == nil || d.Verdict != VerdictAllowed || d.Choice != Deliver {
		t.Errorf("%v, %v, %v", a, d, err)
	}
	for ref, kind := range map[string]mail.Kind{
		"":              mail.KindUsage,
		"zz":            mail.KindNotFound,
		"ap-0000000000": mail.KindNotFound,
		"../ap-0":       mail.KindNotFound,
	} {
		_, _, err := Get(m, ref)
		wantKind(t, err, kind)
	}
}

func TestGetAmbiguous(t *testing.T) {
	t.Parallel()
	m := office(t)
	// Two ids with the same last digit exist among seventeen.
	last := map[byte]string{}
	for n := range 17 {
		a := notice(msgA)
		a.Cause = strings.Repeat("x", n)
		id := create(t, m, a)
		if _, twice := last[id[len(id)-1]]; twice {
			_, _, err := Get(m, id[len(id)-1:])
			wantKind(t, err, mail.KindAmbiguous)
			if !strings.Contains(err.Error(), id) {
				t.Errorf("%v does not name %s", err, id)
			}
			return
		}
		last[id[len(id)-1]] = id
	}
	t.Fatal("seventeen ids ended in different digits")
}
