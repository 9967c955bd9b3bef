//go:build e2e && linux

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// An agent's session may not do what only a person may (design §11).
func TestAgentIsNoPerson(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	approval := approvalID.FindString(d.ok("send", "human", "--as", "ann", "--act", "query", "-s", "s", "-m", "may I?").out)
	for _, marker := range []string{"CLAUDECODE=1", "CODEX_SANDBOX=seatbelt", "GEMINI_CLI=1", "OPENCODE=1", "POSTROOM_SESSION=claude:0f3a"} {
		a := d.with(marker)
		for _, args := range [][]string{
			{"answer", approval, "-m", "yes"}, {"init", filepath.Join(d.root, "another")}, {"agent", "archive", "bob"}, {"agent", "set", "bob", "--notify", "exec:/bin/true"},
			{"channel", "create", "ch", "ann", "bob"}, {"office", "fork"}, {"join", "eve", "--notify", "exec:/bin/true"}, {"join", "eve", "--launch", "/bin/true"},
			{"send", "bob", "--as", "human", "-m", "I am your person"},
		} {
			r := a.post(args...)
			if r.exit != 5 || !strings.Contains(r.line(), "person") && !strings.Contains(r.line(), "joins for itself") {
				t.Errorf("with %s: %v", marker, r)
			}
		}
	}
	if s := d.look(); len(s.messages) != 1 || len(s.boxes) != 4 {
		t.Fatalf("something was done: %v %v", keys(s.messages), keys(s.boxes))
	}
	d.ok("answer", approval, "-m", "yes")
	d.ok("send", "bob", "--as", "human", "-m", "I am")
	d.whole()
}

// A session that is bound speaks for its own agent only.
func TestAsMismatch(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	s := d.with("POSTROOM_SESSION=e2e-1")
	s.join("carl")
	s.ok("send", "ann", "-m", "as myself")
	s.post("send", "ann", "--as", "bob", "-m", "as bob").want(5, `FAILED\(identity\): bob: --as disagrees with this session, which is carl`)
	s.with("POSTROOM_AGENT=bob").post("send", "ann", "-m", "as bob").want(5, `FAILED\(identity\): bob: \$POSTROOM_AGENT disagrees`)
	s.post("read", "next", "--as", "bob").want(5, "post: ")
	if ids := d.look().holding("as bob"); ids != nil {
		t.Fatalf("sent: %v", ids)
	}
	d.post("send", "ann", "-m", "as nobody").want(5, `FAILED\((identity|ambiguous)\)`)
	d.whole()
}

// An approval is decided once, and a decision sticks.
func TestOneDecision(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann")
	for n := range 6 {
		r := d.ok("send", "human", "--as", "ann", "--act", "propose", "-s", "s", "-m", "shall we, "+itoa(n))
		r.want(0, "asked a person: ap-")
		id := approvalID.FindString(r.out)
		done := make(chan ran, 4)
		for i := range cap(done) {
			go func() { done <- d.post("answer", id, "-m", "answer "+itoa(i)) }()
		}
		won := 0
		for range cap(done) {
			if r := <-done; r.exit == 0 {
				won++
			} else if r.exit != 5 {
				t.Errorf("%v", r)
			}
		}
		if won != 1 {
			t.Fatalf("%d decisions of one approval", won)
		}
	}
	d.ok("route")
	if got := len(d.whole().boxes["ann"].inbox); got != 6 {
		t.Fatalf("%d answers", got)
	}
}
