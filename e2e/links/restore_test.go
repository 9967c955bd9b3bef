//go:build e2e && linux

package links

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// backup copies an office while nobody serves it; restore puts the copy back in
// place, as who restores a backup over what is there does.
func (s *station) backup() (restore func()) {
	s.t.Helper()
	copyDir := filepath.Join(s.root, "backup")
	must(s.t, os.MkdirAll(copyDir, 0o700))
	run(s, "cp", "-a", s.office+"/.", copyDir)
	return func() {
		s.t.Helper()
		list, err := os.ReadDir(s.office)
		must(s.t, err)
		for _, e := range list {
			must(s.t, os.RemoveAll(filepath.Join(s.office, e.Name())))
		}
		run(s, "cp", "-a", copyDir+"/.", s.office)
	}
}

func run(s *station, name string, args ...string) {
	s.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v: %s", name, err, out)
	}
}

// The receiver's office is put back to a backup: what had arrived since is sent
// again, once.
func TestReceiverRestored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "one:ann", "two:bob")
	one, two := w.station("one"), w.station("two")
	var ta tally
	say := func(n int) {
		for range n {
			ta.say(one, "ann", "bob@two", "--wait", "30s").want(0, "delivered")
		}
	}
	say(5)
	two.serve.end()
	restore := two.backup()
	two.up()
	say(7)
	w.rest(ta.all())
	two.serve.end()
	restore()
	two.up()
	say(3)
	if v := w.rest(ta.all()); v.crossings != 15 {
		t.Errorf("%v", v)
	}
}

// The sender's office is put back: what it no longer knows of is there all the
// same, what it sends now arrives, and nothing comes twice.
func TestSenderRestored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "one:ann", "two:bob")
	one, two := w.station("one"), w.station("two")
	var before, lost, after tally
	for range 5 {
		before.say(one, "ann", "bob@two", "--wait", "30s").want(0, "delivered")
	}
	one.serve.end()
	restore := one.backup()
	one.up()
	lost.n = 100
	for range 7 {
		lost.say(one, "ann", "bob@two", "--wait", "30s").want(0, "delivered")
	}
	w.rest(append(before.all(), lost.all()...))
	one.serve.end()
	restore()
	one.up()
	after.n = 200
	for range 9 {
		if r := after.say(one, "ann", "bob@two", "--wait", "30s"); r.exit != 0 && r.exit != 4 {
			t.Errorf("%v", r)
		}
	}
	for _, list := range [][]claim{before.all(), lost.all(), after.all()} {
		for _, c := range list {
			until(t, "bob has "+c.body, func() bool { return two.holds("bob", c.body) > 0 })
		}
	}
	until(t, "nothing waits", func() bool { return w.quiet() == "" })
	for _, list := range [][]claim{before.all(), lost.all(), after.all()} {
		for _, c := range list {
			if n := two.holds("bob", c.body); n != 1 {
				t.Errorf("bob has %q %d times", c.body, n)
			}
		}
	}
	until(t, "it is said that the office was set back", func() bool { return len(one.status().Alarms) > 0 })
	two.serve.end()
	two.up() // and nothing else comes of it
	after.say(one, "ann", "bob@two", "--wait", "30s").want(0, "delivered")
}

// The hub's store is gone with all that it held: what was not received is sent
// again by who wrote it: when the next message shows that it is missing, or ten
// minutes after it was sent.
func TestHubStoreLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "one:ann", "two:bob")
	one, two := w.station("one"), w.station("two")
	var ta tally
	ta.say(one, "ann", "bob@two", "--wait", "30s").want(0, "delivered")
	two.serve.end()
	for range 8 {
		ta.say(one, "ann", "bob@two", "--wait", "500ms").want(4, "stored, not yet delivered")
	}
	until(t, "the hub has it", func() bool { return len(one.read().said("sent")) >= 9 })
	w.hub.run.kill()
	streams, _ := filepath.Glob(filepath.Join(w.hub.dir, "*", "jetstream"))
	direct, _ := filepath.Glob(filepath.Join(w.hub.dir, "jetstream"))
	streams = append(streams, direct...)
	if len(streams) == 0 {
		t.Fatalf("no store below %s", w.hub.dir)
	}
	for _, dir := range streams {
		must(t, os.RemoveAll(dir))
	}
	w.hub.start()
	two.up()
	until(t, "the hub is back", func() bool { return one.status().Up })
	ta.say(one, "ann", "bob@two", "--wait", "30s").want(0, "delivered")
	if v := w.rest(ta.all()); v.crossings != 10 {
		t.Errorf("%v", v)
	}
}
