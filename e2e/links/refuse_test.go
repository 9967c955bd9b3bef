//go:build e2e && linux

package links

import (
	"strings"
	"testing"
)

// What a far station will not take comes back with its reason, once, and is
// never brought again.
func TestRefused(t *testing.T) {
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
