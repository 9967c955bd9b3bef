//go:build e2e && linux

package links

import (
	"fmt"
	"strings"
	"testing"
)

// What a far station will not take comes back with the reason, once, and is never
// brought again. Here it is mail for somebody whom the far office knows nothing of
// any more, since it was put back to a backup.
func TestBounced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "one:ann", "two:bob")
	one, two := w.station("one"), w.station("two")
	two.serve.end()
	restore := two.backup()
	two.up()
	two.join("carl")
	until(t, "one knows carl", func() bool { return readBoxes("one", one.office).agents["carl@two"] != nil })
	one.serve.end()
	two.serve.end()
	restore()
	two.up()
	id := one.post("send", "carl@two", "--as", "ann", "-m", "are you there?", "--wait", "1s").want(4, "stored, not yet delivered").id()
	one.up()
	told := func() (n int) {
		for _, l := range readBoxes("one", one.office).agents["ann"].has() {
			if l.InReplyTo == id && strings.HasPrefix(l.From, "postroom") {
				n++
				if !strings.Contains(l.Body, "registry") {
					t.Errorf("the bounce does not say why: %s", l.Body)
				}
			}
		}
		return n
	}
	until(t, "ann is told", func() bool { return told() > 0 && one.read().refusals(id) == 1 })
	for n := range 2 { // neither end brings it again
		for _, s := range w.stations {
			s.serve.end()
			s.up()
		}
		one.send("ann", "bob@two", fmt.Sprint("still there? ", n))
	}
	if n := told(); n != 1 {
		t.Errorf("ann has %d bounces", n)
	}
	until(t, "nothing waits", func() bool { return w.quiet() == "" })
}

// Mail for who is archived when it arrives is stored there, and a sender who
// expects an answer is told that nobody is there.
func TestArchivedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "one:ann", "two:bob,bea")
	one, two := w.station("one"), w.station("two")
	var ta tally
	// one does not hear of it before its mail is under way.
	w.hub.run.end()
	two.ok("agent", "archive", "bea")
	gone := ta.say(one, "ann", "bea@two", "--act", "request", "--wait", "1s").want(4, "stored, not yet delivered").id()
	ta.say(one, "ann", "bob@two", "--wait", "1s").want(4, "stored, not yet delivered")
	w.hub.start()
	v := w.rest(ta.all())
	t.Logf("%v", v)
	told := false
	for _, l := range readBoxes("one", one.office).agents["ann"].has() {
		told = told || l.InReplyTo == gone && strings.HasPrefix(l.From, "postroom")
	}
	if !told {
		t.Error("ann was not told that nobody is there")
	}
	for range 3 {
		two.serve.end()
		two.up()
		ta.say(one, "ann", "bob@two", "--wait", "30s").want(0, "delivered")
	}
	w.rest(ta.all())
}

// A revoked station is out at once: it gets nothing more and says nothing more,
// and the others say why.
func TestRevoked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "one:ann", "two:bob", "three:cat")
	one, two, three := w.station("one"), w.station("two"), w.station("three")
	var ta tally
	ta.say(three, "cat", "ann@one", "--wait", "30s").want(0, "delivered")
	if r := w.hub.feed("", "link", "revoke", "three", "--dir", w.hub.dir); r.exit != 0 {
		t.Fatalf("%v", r)
	}
	until(t, "three knows that it is out", func() bool { return !three.status().Up })
	three.post("send", "ann@one", "--as", "cat", "-m", "after", "--wait", "2s").want(4, "stored, not yet delivered")
	r := one.post("send", "cat@three", "--as", "ann", "-m", "to who is out", "--wait", "2s")
	if r.exit != 4 && r.exit != 5 || !strings.Contains(r.out+r.err, "revoked") {
		t.Errorf("%v", r)
	}
	ta.say(one, "ann", "bob@two", "--wait", "30s").want(0, "delivered")
	three.serve.end()
	three.up()
	two.send("bob", "ann@one", "still here")
	if n := one.holds("ann", "after"); n != 0 {
		t.Error("one has mail of a station that is out")
	}
}
