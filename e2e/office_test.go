//go:build e2e && linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
}

// A copy of an office is not written: two offices would deliver the same mail.
func TestCopiedOffice(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	d.send("ann", "bob", "before the copy")
	d.ok("route") // files it
	d.drop("ann", "waiting.json", `{"to":"bob","subject":"s","body":"waiting"}`)
	c := d.at(filepath.Join(d.root, "copy"))
	copyTree(t, d.office, c.office)
	const foreign = ".*copy of another directory.*"
	c.post("send", "bob", "--as", "ann", "-m", "to the copy").want(1, `FAILED\(foreign office\)`+foreign)
	c.post("route").want(1, "post: "+foreign)
	c.post("join", "carl").want(1, "post: "+foreign)
	c.post("inbox", "--as", "bob").want(0, "ID ") // looking is free
	if got := c.look(); len(got.messages) != 1 || len(got.boxes["ann"].sent) != 1 {
		t.Fatal("the copy was written")
	}
	c.post("office", "move", "--here").want(5, "post: .*the original is still there")
	d.ok("route")
	d.once("waiting", "bob")
	d.whole()

	c.ok("office", "fork")
	c.ok("route")
	if ids := c.look().holding("waiting"); len(ids) != 1 {
		t.Fatalf("in the fork: %v", ids)
	}
	c.send("ann", "bob", "in the fork")
	if ids := d.look().holding("in the fork"); ids != nil {
		t.Fatalf("the fork's mail came to the original: %v", ids)
	}
	d.whole()
}

// An office that was moved says in the old place where it is now.
func TestMovedOffice(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	old := d.office
	d.send("ann", "bob", "before")
	to := filepath.Join(d.root, "elsewhere")
	d.ok("office", "move", to)
	n := d.at(to)
	for _, args := range [][]string{{"send", "bob", "--as", "ann", "-m", "x"}, {"route"}, {"join", "carl"}, {"inbox", "--as", "bob"}} {
		r := d.post(args...)
		if r.exit != 1 || !strings.Contains(r.line(), "moved to "+to) {
			t.Fatalf("%v", r)
		}
	}
	n.send("ann", "bob", "after")
	n.ok("route")
	n.whole()
	if got := names(t, old); len(got) != 1 || got[0] != "MOVED" {
		t.Fatalf("in the old place: %v", got)
	}
}

// An office moved by hand writes nothing to where its mailboxes were.
func TestOfficeMovedByHand(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	n := d.at(filepath.Join(d.root, "by-hand"))
	must(t, os.Rename(d.office, n.office))
	if r := d.post("send", "bob", "--as", "ann", "-m", "x"); r.exit == 0 || r.exit == 3 {
		t.Fatalf("%v", r)
	}
	r := n.post("send", "bob", "--as", "ann", "-m", "hello")
	if r.exit == 0 && !n.look().has("bob", r.id()) || r.exit == 3 || r.exit == 2 {
		t.Fatalf("%v", r)
	}
	n.ok("office", "move", "--here")
	n.ok("route")
	n.post("send", "bob", "--as", "ann", "-m", "hello").want(0, "delivered|already sent: .* state delivered")
	n.once("hello", "bob")
	n.whole()
	if _, err := os.Stat(d.office); err == nil && len(names(t, d.office)) > 0 && names(t, d.office)[0] != "MOVED" {
		t.Fatalf("the old place was made again: %v", names(t, d.office))
	}
}

// Two offices with the same names never meet.
func TestTwoOffices(t *testing.T) {
	t.Parallel()
	a := newDesk(t, "ann", "bob")
	b := a.at(filepath.Join(a.root, "second"))
	b.ok("init", b.office, "--person-check", "env")
	b.ok("join", "ann", "--workspace", filepath.Join(a.root, "work"))
	b.ok("join", "bob", "--workspace", filepath.Join(a.root, "state"))
	a.send("ann", "bob", "in the first")
	b.send("ann", "bob", "in the second")
	a.once("in the first", "bob")
	b.once("in the second", "bob")
	if len(a.look().messages) != 1 || len(b.look().messages) != 1 {
		t.Fatal("mail crossed")
	}
	// A message of one office, dropped in an outbox of the other, is a new one there.
	a.ok("route") // files it
	for _, m := range a.look().boxes["ann"].sent {
		b.drop("ann", m.ID+".json", m.raw)
	}
	b.ok("route")
	if m := b.look().messages[b.once("in the first", "bob")]; strings.Contains(m.raw, a.officeID()) {
		t.Fatalf("the stamp of another office was believed: %s", m.raw)
	}
	a.whole()
	b.whole()
}

// officeID is what postroom.toml says.
func (d *desk) officeID() string {
	_, rest, _ := strings.Cut(read(d.t, filepath.Join(d.office, "postroom.toml")), `office = "`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}
