//go:build e2e && linux

package links

import (
	"strings"
	"testing"
)

// A request, agreed to and done over the link: debts, hops, conversation and the
// whole life, on both sides.
func TestRequestToDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "one:ann", "two:bob")
	one, two := w.station("one"), w.station("two")
	var ta tally
	ask := ta.say(one, "ann", "bob@two", "--act", "request", "--wait", "30s").want(0, "delivered ").id()
	for _, s := range w.stations {
		if out := s.ok("owed").out; !strings.Contains(out, "bob") || !strings.Contains(out, ask[len(ask)-8:]) {
			t.Errorf("%s does not say that bob owes:\n%s", s.name, out)
		}
	}
	got := two.letterOf("bob", ask)
	if got.From != "ann@one" || got.To != "bob" || got.Act != "request" || got.Hops != 0 || !got.Requires {
		t.Errorf("it came as %+v", got)
	}
	two.ok("read", ask, "--as", "bob")
	reply := func(s *station, who, id, act, body string) string {
		t.Helper()
		r := s.post("reply", id, "--as", who, "--act", act, "-m", body, "--wait", "30s").want(0, "delivered ")
		ta.note(s, who, "", body, r)
		return r.id()
	}
	agreed := reply(two, "bob", ask, "agree", "I shall.")
	back := one.letterOf("ann", agreed)
	if back.From != "bob@two" || back.InReplyTo != ask || back.Hops != 1 || back.Conversation != got.Conversation {
		t.Errorf("the answer came as %+v", back)
	}
	done := reply(two, "bob", ask, "done", "It is done.")
	two.ok("done", ask, "--as", "bob")
	one.ok("read", done, "--as", "ann")
	for _, s := range w.stations {
		if out := s.ok("owed").out; strings.Contains(out, ask[len(ask)-8:]) {
			t.Errorf("%s says that it is owed still:\n%s", s.name, out)
		}
	}
	// A reply to what is terminal is refused at home, as ever.
	one.post("reply", done, "--as", "ann", "-m", "thanks").want(5, "FAILED")
	until(t, "one knows that bob read and did it", func() bool {
		out := one.post("trace", ask).out
		return strings.Contains(out, "arrived") && strings.Contains(out, "read") && strings.Contains(out, "done")
	})
	if out := two.ok("trace", ask).out; !strings.Contains(out, "ann@one") || !strings.Contains(out, "delivered") {
		t.Errorf("trace at two:\n%s", out)
	}
	thread := one.ok("thread", ask).out
	for _, text := range []string{"I shall.", "It is done."} {
		if !strings.Contains(thread, text) {
			t.Errorf("the thread lacks %q:\n%s", text, thread)
		}
	}
	t.Logf("%v", w.rest(ta.all()))
}

// Agents that always answer come to rest over a link as they do at home: past
// the cap a person is asked, once.
func TestHopCap(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "one:ann", "two:bob")
	one, two := w.station("one"), w.station("two")
	last := one.send("ann", "bob@two", "hop 0", "--act", "request")
	sides := []struct {
		s   *station
		who string
	}{{two, "bob"}, {one, "ann"}}
	hops := 0
	for ; hops < 20; hops++ {
		side := sides[hops%2]
		r := side.s.post("reply", last, "--as", side.who, "--act", "request", "-m", "hop "+last, "--wait", "30s")
		if r.exit != 0 || !strings.HasPrefix(r.line(), "delivered") {
			break
		}
		last = r.id()
	}
	if hops != 12 {
		t.Errorf("%d answers went through, the cap is 12", hops)
	}
	asked := 0
	for _, s := range w.stations {
		for _, n := range s.read().asked {
			asked += n
		}
	}
	if asked != 1 {
		t.Errorf("%d approvals", asked)
	}
}

// cc, a channel with far members, a broadcast: one copy each, on whichever
// station they are.
func TestMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "one:ann,amy", "two:bob,bea", "three:cat")
	one, two, three := w.station("one"), w.station("two"), w.station("three")
	var ta tally
	id := ta.say(one, "ann", "bob@two", "--cc", "cat@three,amy", "--wait", "30s").want(0, "delivered ").id()
	until(t, "the copy is there", func() bool { return has(three, "cat", id) && has(one, "amy", id) && has(two, "bob", id) })
	one.ok("channel", "create", "team", "ann", "bob@two", "cat@three")
	id = ta.say(one, "ann", "team", "--wait", "30s").want(0, "delivered ").id()
	until(t, "it is in the channel", func() bool { return has(three, "cat", id) && has(two, "bob", id) })
	if has(two, "bea", id) || has(one, "amy", id) {
		t.Error("who is not in the channel has it")
	}
	id = ta.say(one, "ann", "broadcast", "--wait", "30s").want(0, "delivered ").id()
	until(t, "everybody has it", func() bool {
		return has(one, "amy", id) && has(two, "bob", id) && has(two, "bea", id) && has(three, "cat", id)
	})
	// A name that two stations have is never guessed.
	two.join("dan")
	three.join("dan")
	until(t, "one knows both", func() bool {
		b := readBoxes("one", one.office)
		return b.agents["dan@two"] != nil && b.agents["dan@three"] != nil
	})
	r := ta.say(one, "ann", "dan").want(5, "FAILED")
	if text := r.out + r.err; !strings.Contains(text, "dan@two") || !strings.Contains(text, "dan@three") {
		t.Errorf("which ones there are is not said:\n%v", r)
	}
	ta.say(one, "ann", "dan@three", "--wait", "30s").want(0, "delivered ")
	ta.say(one, "ann", "bbo@two").want(5, "FAILED")
	ta.say(one, "ann", "bob@tow").want(5, "FAILED")
	v := w.rest(ta.all())
	t.Logf("%v", v)
}

func has(s *station, agent, id string) bool {
	b := readBoxes(s.name, s.office)
	_, ok := b.agents[agent].has()[id]
	return ok
}

// The person of another station decides, and the answer comes home.
func TestFarPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "one:ann", "two:bob")
	one, two := w.station("one"), w.station("two")
	r := one.post("send", "human@two", "--as", "ann", "--act", "query", "-s", "May I?", "-m", "May I deploy?", "--wait", "30s")
	if r.exit != 0 {
		t.Fatalf("%v", r)
	}
	approval := ""
	until(t, "two's person is asked", func() bool {
		approval = approvalID(two.post("approvals").out)
		return approval != ""
	})
	if out := one.ok("approvals").out; strings.Contains(out, "May I?") {
		t.Errorf("one's person is asked, too:\n%s", out)
	}
	two.ok("answer", approval, "-m", "Yes, deploy.")
	until(t, "the answer is home", func() bool { return len(readBoxes("one", one.office).agents["ann"].has()) > 0 })
	for _, l := range readBoxes("one", one.office).agents["ann"].has() {
		if l.From != "human@two" || !strings.Contains(l.Body, "Yes, deploy.") || l.InReplyTo != r.id() {
			t.Errorf("the answer is %+v", l)
		}
	}
	two.post("answer", approval, "-m", "No.").want(5, "")
	if v := w.rest(nil); v.asked != 1 && v.crossings < 2 {
		t.Errorf("%v", v)
	}
}

func approvalID(text string) string {
	for _, f := range strings.Fields(text) {
		if i := strings.Index(f, "ap-"); i >= 0 && len(f) >= i+13 {
			return f[i : i+13]
		}
	}
	return ""
}
