//go:build e2e && linux

package links

import (
	"fmt"
	"strings"
	"testing"
)

// Two commands and a message: a team of three. One starts a hub, the others
// paste a line, and all write to each other, offline and back.
func TestTeamOfThree(t *testing.T) {
	t.Parallel()
	w := newGround(t)
	ann, bob, cyn := w.office("ann:alice"), w.office("bob:ben"), w.office("cyn:cat")
	addr := fmt.Sprintf("%s:%d", w.net.addr(ann.host), hubPort)
	w.hub = &hub{machine: ann.machine, addr: addr, args: []string{"hub", "--listen", addr, "--station", "ann", "--office", ann.office}}
	w.hub.start()
	ann.serve = w.hub.run // one command on the first machine
	bob.joinBy(joinLine(w.hub.run.said()))
	if r := cyn.feed(joinLine(w.hub.run.said())+"\n", "link", "join", "-", "--station", "cyn", "--office", cyn.office); r.exit == 0 {
		t.Errorf("a join line is used twice:\n%v", r)
	}
	cyn.joinBy(w.hub.invite())
	bob.up()
	cyn.up()
	w.stations = []*station{ann, bob, cyn}
	w.acquainted()
	var ta tally
	everybody := func(exit int, line string) {
		for _, s := range w.stations {
			for _, o := range w.stations {
				if o != s {
					ta.say(s, s.agents[0], o.agents[0]+"@"+o.name, "--wait", "30s").want(exit, line)
					ta.say(s, s.agents[0], o.agents[0], "--wait", "30s").want(exit, line) // plain, since it is unique
				}
			}
		}
	}
	everybody(0, `delivered \S+ to \w+@\w+ \(\w+: inbox \d+\)`)
	cyn.apart()
	ta.say(cyn, "cat", "ben@bob", "--wait", "1s").want(4, `stored, not yet delivered: .*Do not resend`)
	ta.say(ann, "alice", "cat", "--wait", "1s").want(4, `stored, not yet delivered: .*Do not resend`)
	cyn.back()
	w.rest(ta.all())
	everybody(0, `delivered \S+ to \w+@\w+ \(\w+: inbox \d+\)`)
	v := w.rest(ta.all())
	if v.crossings != 26 {
		t.Errorf("%v", v)
	}
	t.Logf("%v", v)
}

// The office of the hub's machine is served by it; `post link status` shows who
// is there, and no secret.
func TestLinkStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "one:ann", "two:bob")
	one := w.station("one")
	one.send("ann", "bob@two", "hello")
	r := one.ok("link", "status")
	for _, want := range []string{"one", "two", w.hub.addr} {
		if !strings.Contains(r.out, want) {
			t.Errorf("link status does not say %q:\n%s", want, r.out)
		}
	}
	for _, s := range w.stations {
		w.noSecret(s)
	}
	w.hub.run.end()
	until(t, "the link is known to be down", func() bool { return !one.status().Up })
	if r := one.post("link", "status"); !strings.Contains(r.out, "down") {
		t.Errorf("link status while the hub is down:\n%v", r)
	}
}
