//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// killPoints counts the kills of all scenarios of a run, for the record.
var killPoints atomic.Int64

// victim is a command that is killed at each of its system calls in turn.
type victim struct {
	name   string
	agents []string
	// before prepares the n-th kill, and says what to run.
	before func(d *desk, n int) []string
	// after checks what the n-th kill led to, once others have routed twice. It
	// runs the same command again where that is what somebody would do.
	after func(d *desk, n int, args []string, killed bool)
}

// freshAfter is how many kills one office survives before the next gets another:
// long enough for traces of old crashes to meet new ones.
const freshAfter = 40

// A process that is killed at any system call that touches the office leaves an
// office that any other process makes whole (design §7.10).
func TestKillAtEverySystemCall(t *testing.T) {
	t.Parallel()
	t.Cleanup(func() { t.Logf("%d kill points", killPoints.Load()) })
	for _, v := range victims() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			v.run(t)
		})
	}
}

func (v victim) run(t *testing.T) {
	var d *desk
	for n := 1; ; n++ {
		if d == nil || n%freshAfter == 0 {
			d = newDesk(t, v.agents...)
		}
		args := v.before(d, n)
		res, call := d.killed(t, n, args)
		context := func() { t.Logf("%s, kill %d of %d, before %s", v.name, n, res.calls, call) }
		t.Cleanup(func() {
			if t.Failed() && context != nil {
				context()
			}
		})
		d.post("route")
		d.post("route")
		d.whole()
		v.after(d, n, args, res.killed)
		d.whole()
		context = nil
		if !res.killed {
			if res.exit != 0 {
				t.Fatalf("post %v exits %d by itself", args, res.exit)
			}
			t.Logf("%s: %d kill points", v.name, n-1)
			return
		}
		killPoints.Add(1)
	}
}

// killed runs a command that is killed before its n-th call on the office, and
// checks at once that nothing it had said by then is untrue.
func (d *desk) killed(t *testing.T, n int, args []string) (traced, string) {
	t.Helper()
	out, err := os.Create(filepath.Join(d.root, "out"))
	must(t, err)
	defer out.Close()
	call := ""
	tr := &tracer{path: filepath.Join(programs, "post"), argv: d.args(args), env: d.env, dir: filepath.Join(d.root, "work"), roots: []string{d.office}, stdout: out}
	tr.at = func(i int, what string) bool {
		call = what
		return i == n
	}
	res := tr.run()
	must(t, res.err)
	for _, line := range lines(read(t, out.Name())) {
		rest, ok := strings.CutPrefix(line, "delivered ")
		if !ok {
			continue
		}
		id := anyID.FindString(rest)
		to := strings.Fields(strings.TrimPrefix(rest, id+" to "))[0]
		if !d.look().has(to, id) {
			t.Fatalf("said %q before it was so", line)
		}
	}
	return res, call
}

// once checks that a body is there as one message, at these agents.
func (d *desk) once(body string, at ...string) string {
	d.t.Helper()
	s := d.look()
	ids := s.holding(body)
	if len(ids) != 1 {
		d.t.Fatalf("%d messages say %q: %v", len(ids), body, ids)
	}
	for _, a := range at {
		if !s.has(a, ids[0]) {
			d.t.Fatalf("%s lacks %s", a, ids[0])
		}
	}
	return ids[0]
}

func victims() []victim {
	return []victim{sendVictim(), keyedVictim(), broadcastVictim(), askVictim(), routeVictim(), readVictim(), doneVictim(), answerVictim(), joinVictim(), archiveVictim()}
}

// again runs the command once more, as whoever saw it die would.
func again(d *desk, args []string, line string) {
	d.t.Helper()
	d.post(args...).want(0, line)
}

func sendVictim() victim {
	body := func(n int) string { return "direct " + itoa(n) }
	return victim{name: "send", agents: []string{"ann", "bob"},
		before: func(d *desk, n int) []string {
			return []string{"send", "bob", "--as", "ann", "--act", "request", "-s", "s", "-m", body(n)}
		},
		after: func(d *desk, n int, args []string, _ bool) {
			again(d, args, "delivered|already sent")
			d.once(body(n), "bob")
		}}
}

func keyedVictim() victim {
	body := func(n int) string { return "keyed " + itoa(n) }
	return victim{name: "send with a key and a copy", agents: []string{"ann", "bob", "carl"},
		before: func(d *desk, n int) []string {
			return []string{"send", "bob", "--cc", "carl", "--as", "ann", "--key", "k" + itoa(n), "-s", "s", "-m", body(n)}
		},
		after: func(d *desk, n int, args []string, _ bool) {
			again(d, args, "delivered|already sent")
			again(d, args, "already sent")
			d.once(body(n), "bob", "carl")
		}}
}

func broadcastVictim() victim {
	body := func(n int) string { return "to all " + itoa(n) }
	return victim{name: "broadcast", agents: []string{"ann", "bob", "carl", "dora"},
		before: func(d *desk, n int) []string {
			return []string{"send", "broadcast", "--as", "ann", "-s", "s", "-m", body(n)}
		},
		after: func(d *desk, n int, args []string, _ bool) {
			again(d, args, "delivered|already sent")
			id := d.once(body(n), "bob", "carl", "dora")
			if d.look().has("ann", id) {
				d.t.Fatal("a broadcast came back to its sender")
			}
		}}
}

func askVictim() victim {
	body := func(n int) string { return "may I " + itoa(n) }
	return victim{name: "send to a person", agents: []string{"ann"},
		before: func(d *desk, n int) []string {
			return []string{"send", "human", "--as", "ann", "--act", "query", "-s", "s", "-m", body(n)}
		},
		after: func(d *desk, n int, args []string, _ bool) {
			again(d, args, "asked a person|already sent")
			d.once(body(n))
		}}
}

func routeVictim() victim {
	body := func(n int) string { return "by hand " + itoa(n) }
	return victim{name: "route a hand-written file", agents: []string{"ann", "bob", "carl"},
		before: func(d *desk, n int) []string {
			text, err := json.Marshal(map[string]any{"to": "broadcast", "act": "request", "subject": "s", "body": body(n)})
			must(d.t, err)
			d.drop("ann", "note.json", string(text))
			return []string{"route"}
		},
		after: func(d *desk, n int, _ []string, _ bool) { d.once(body(n), "bob", "carl") }}
}

func readVictim() victim {
	return victim{name: "read", agents: []string{"ann", "bob"},
		before: func(d *desk, n int) []string {
			return []string{"read", d.send("ann", "bob", "to read "+itoa(n)), "--as", "bob"}
		},
		after: func(d *desk, n int, args []string, killed bool) {
			unread := d.isUnread("bob", args[1])
			shown := strings.Contains(read(d.t, filepath.Join(d.root, "out")), "to read "+itoa(n))
			if !unread && !shown {
				d.t.Fatalf("%s counts as read, and nobody saw it", args[1])
			}
			if r := d.ok(args...); !strings.Contains(r.out, "to read "+itoa(n)) {
				d.t.Fatalf("%v", r)
			}
			d.ok("done", args[1], "--as", "bob")
		}}
}

func doneVictim() victim {
	return victim{name: "done", agents: []string{"ann", "bob"},
		before: func(d *desk, n int) []string {
			return []string{"done", d.send("ann", "bob", "to do "+itoa(n)), "--as", "bob"}
		},
		after: func(d *desk, n int, args []string, _ bool) {
			d.ok(args...)
			c := d.look().boxes["bob"]
			if _, done := c.done[args[1]]; !done {
				d.t.Fatalf("%s is not in .done", args[1])
			}
			if len(c.inbox) != 0 {
				d.t.Fatalf("still in the inbox: %v", keys(c.inbox))
			}
		}}
}

func answerVictim() victim {
	body := func(n int) string { return "you may " + itoa(n) }
	return victim{name: "answer", agents: []string{"ann"},
		before: func(d *desk, n int) []string {
			r := d.ok("send", "human", "--as", "ann", "--act", "query", "-s", "s", "-m", "may I "+itoa(n))
			id := approvalID.FindString(r.out)
			if id == "" {
				d.t.Fatalf("no approval in:\n%v", r)
			}
			return []string{"answer", id, "-m", body(n)}
		},
		after: func(d *desk, n int, args []string, _ bool) {
			if r := d.post(args...); r.exit != 0 && r.exit != 5 {
				d.t.Fatalf("%v", r)
			}
			d.ok("route")
			s := d.look()
			var answers []string
			for id, m := range s.messages {
				if m.From == "human" && strings.Contains(m.Body, body(n)) {
					answers = append(answers, id)
				}
			}
			if len(answers) != 1 || !s.has("ann", answers[0]) {
				d.t.Fatalf("answers: %v", answers)
			}
			if _, err := os.Stat(filepath.Join(d.office, "approvals", args[1]+".json")); err == nil {
				d.t.Fatalf("%s is still open", args[1])
			}
		}}
}

func joinVictim() victim {
	name := func(n int) string { return "new" + itoa(n) }
	return victim{name: "join", agents: []string{"ann"},
		before: func(d *desk, n int) []string {
			ws := filepath.Join(d.root, "work", name(n))
			must(d.t, os.MkdirAll(ws, 0o755))
			return []string{"join", name(n), "--workspace", ws}
		},
		after: func(d *desk, n int, args []string, _ bool) {
			d.ok(args...)
			d.send("ann", name(n), "welcome "+itoa(n))
			d.once("welcome "+itoa(n), name(n))
		}}
}

func archiveVictim() victim {
	return victim{name: "archive", agents: []string{"ann", "bob"},
		before: func(d *desk, n int) []string {
			d.post("agent", "unarchive", "bob")
			return []string{"agent", "archive", "bob"}
		},
		after: func(d *desk, n int, args []string, _ bool) {
			d.post(args...)
			if s := d.look(); !slices.Contains(keys(s.boxes), "bob") {
				d.t.Fatal("bob is gone from the registry")
			}
		}}
}
