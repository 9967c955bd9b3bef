//go:build e2e && linux

package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// answering is an agent that answers whatever comes, and never ends by itself.
// reply is what it runs for the message $id.
func (d *desk) answering(name, reply string) (stop func()) {
	d.t.Helper()
	script := `while :; do
  line=$(post wait --as ` + name + ` --timeout 1s --json) || continue
  id=$(printf %s "$line" | sed 's/.*"id":"\([^"]*\)".*/\1/')
  post read "$id" --as ` + name + ` >/dev/null || continue
  ` + reply + `
  post done "$id" --as ` + name + ` >/dev/null
done`
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir, cmd.Env = filepath.Join(d.root, "work"), append(d.env, "POSTROOM_OFFICE="+d.office)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // its own group: what we started
	must(d.t, cmd.Start())
	return func() { cancel(); cmd.Wait() }
}

// rest waits until no message has come for a while in which the agents would
// have answered several times.
func (d *desk) rest() int {
	d.t.Helper()
	last, since := -1, time.Now()
	until(d.t, "rest", func() bool {
		n := 0
		months, _ := filepath.Glob(filepath.Join(d.office, "messages", "*"))
		for _, m := range months {
			n += len(names(d.t, m))
		}
		if n != last {
			last, since = n, time.Now()
		}
		time.Sleep(20 * time.Millisecond)
		return time.Since(since) > 4*time.Second
	})
	return last
}

func (d *desk) openApprovals() []string {
	var out []string
	for _, n := range names(d.t, filepath.Join(d.office, "approvals")) {
		out = append(out, strings.TrimSuffix(n, ".json"))
	}
	return out
}

// Agents that always answer come to rest with a person, and go on only when the
// person lets them (design §7.3).
func TestConvergence(t *testing.T) {
	t.Parallel()
	const answer = `post reply "$id" --as NAME --act request -m "and you? $id" >/dev/null`
	const dodge = `post send PEER --as NAME --act request -s again --conversation conv-e2e -m "and you? $id" >/dev/null`
	const wander = `post send PEER --as NAME --act request -s again -m "and you? $id" >/dev/null`
	for _, c := range []struct {
		name, reply string
		peer        map[string]string
		most        int
	}{
		{"two that reply", answer, map[string]string{"ann": "bob", "bob": "ann"}, 40},
		{"two that dodge in_reply_to", dodge, map[string]string{"ann": "bob", "bob": "ann"}, 80},
		{"two that change the conversation", wander, map[string]string{"ann": "bob", "bob": "ann"}, 600},
		{"three in a circle", dodge, map[string]string{"ann": "bob", "bob": "carl", "carl": "ann"}, 120},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, keys(c.peer)...)
			for name, peer := range c.peer {
				defer d.answering(name, strings.NewReplacer("NAME", name, "PEER", peer).Replace(c.reply))()
			}
			d.ok("send", c.peer["ann"], "--as", "ann", "--act", "request", "-s", "again", "--conversation", "conv-e2e", "-m", "begin")
			n := d.rest()
			open := d.openApprovals()
			t.Logf("%d messages, then %d approvals", n, len(open))
			if n > c.most || len(open) == 0 {
				t.Fatalf("%d messages, approvals %v", n, open)
			}
			d.released(n, open)
			d.whole()
		})
	}
}

// released lets the conversation go on once, and wants it to rest again.
func (d *desk) released(n int, open []string) {
	d.t.Helper()
	list := d.ok("approvals").out
	for _, id := range open {
		if !strings.Contains(list, id) {
			d.t.Fatalf("%s is not listed:\n%s", id, list)
		}
		d.post("answer", id, "--choose", "deliver")
	}
	if more := d.rest(); more <= n || more > 3*n+20 {
		d.t.Fatalf("%d messages before the release, %d after", n, more)
	}
	if len(d.openApprovals()) == 0 {
		d.t.Fatal("after the release nobody asks a person again")
	}
}

// A person's refusal sticks: the same thing is not asked again.
func TestRefusedRelease(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	who := []string{"ann", "bob"}
	id := d.send("ann", "bob", "0", "--act", "request")
	approval := ""
	for n := 1; approval == "" && n < 40; n++ {
		r := d.post("reply", id, "--as", who[n%2], "--act", "request", "-m", itoa(n))
		approval = approvalID.FindString(r.out)
		if approval == "" {
			id = r.id()
		}
	}
	if approval == "" {
		t.Fatal("no end")
	}
	d.ok("answer", approval, "--choose", "stop")
	d.ok("route")
	n := len(d.whole().messages)
	for i := range 4 { // a stop holds for everything that follows, and asks nobody again
		r := d.post("reply", id, "--as", d.look().messages[id].To, "--act", "request", "-m", "once more "+itoa(i))
		if r.exit != 5 || len(d.openApprovals()) > 0 {
			t.Fatalf("%v; asked again: %v", r, d.openApprovals())
		}
	}
	t.Logf("%d messages before the refusal", n)
}
