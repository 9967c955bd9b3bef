//go:build e2e && linux

package links

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// tally keeps what senders were told.
type tally struct {
	mu     sync.Mutex
	claims []claim
	n      int
}

func (ta *tally) all() []claim {
	ta.mu.Lock()
	defer ta.mu.Unlock()
	return slices.Clone(ta.claims)
}

// exits counts what senders were told.
func (ta *tally) exits() map[int]int {
	out := map[int]int{}
	for _, c := range ta.all() {
		out[c.exit]++
	}
	return out
}

// say sends what nobody else says, notes what the sender was told, and returns
// it. One author's calls are made one after the other.
func (ta *tally) say(s *station, from, to string, more ...string) ran {
	return ta.sayLong(s, 0, from, to, more...)
}

func (ta *tally) sayLong(s *station, size int, from, to string, more ...string) ran {
	ta.mu.Lock()
	ta.n++
	n := ta.n
	ta.mu.Unlock()
	body := fmt.Sprintf("%s of %s says this as number %d", from, s.name, n) + strings.Repeat(" and more of it", size/15)
	r := s.stdin(body, append([]string{"send", to, "--as", from, "-s", fmt.Sprint("number ", n)}, more...)...)
	ta.note(s, from, to, body, r)
	return r
}

func (ta *tally) note(s *station, from, to, body string, r ran) {
	c := claim{station: s.name, author: from, to: to, id: anyID.FindString(r.out), body: body, exit: r.exit}
	if c.exit == 5 || c.exit == 1 {
		c.id = ""
	}
	ta.mu.Lock()
	defer ta.mu.Unlock()
	ta.claims = append(ta.claims, c)
	if c.id == "" && c.exit != 5 && c.exit != 1 {
		s.t.Errorf("no id in %v", r)
	}
}

// stdin runs a command in the office with a body.
func (s *station) stdin(body string, args ...string) ran {
	return s.feed(body, append(args, "--office", s.office)...)
}

// quiet reports what still waits in some office, or "".
func (w *world) quiet() string {
	for _, s := range w.stations {
		s.post("route") // files what senders have parked (docs/adr/0025)
		b := readBoxes(s.name, s.office)
		for _, a := range b.agents {
			if n := len(a.outbox); n > 0 {
				return fmt.Sprintf("%s: %d in the outbox of %s", s.name, n, a.name)
			}
			if n := len(a.inbox); a.station != "" && n > 0 {
				return fmt.Sprintf("%s: %d not arrived at %s", s.name, n, a.name)
			}
		}
	}
	return ""
}

// rest waits until nothing is under way any more, and then judges all offices.
// Receipts may be later than mail, so what they lack is waited for, too.
func (w *world) rest(claims []claim) *verdict {
	w.t.Helper()
	const limit = 3 * patience
	waits := "nothing was looked at"
	end := time.Now().Add(limit)
	for ; waits != "" && time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		waits = w.quiet()
	}
	if waits != "" {
		w.t.Errorf("not at rest after %v: %s", limit, waits)
	}
	v := w.judge(claims)
	for end := time.Now().Add(patience); len(v.wrong) > 0 && time.Now().Before(end) && waits == ""; {
		time.Sleep(500 * time.Millisecond)
		v = w.judge(claims)
	}
	for _, s := range w.stations {
		if r := s.post("verify"); r.exit != 0 {
			v.bad("%v", r)
		}
	}
	if len(v.wrong) > 0 {
		w.t.Errorf("%d things are wrong:\n  %s", len(v.wrong), strings.Join(v.wrong[:min(len(v.wrong), 20)], "\n  "))
	}
	return v
}

func (w *world) judge(claims []claim) *verdict {
	w.t.Helper()
	all := map[string]*books{}
	for _, s := range w.stations {
		all[s.name] = s.read()
	}
	return judge(all, claims)
}

// holds counts an agent's messages with a body.
func (s *station) holds(agent, body string) int {
	n := 0
	b := readBoxes(s.name, s.office)
	if b.agents[agent] == nil {
		return 0
	}
	for _, l := range b.agents[agent].has() {
		if l.Body == body {
			n++
		}
	}
	return n
}

// letterOf is an agent's copy of a message.
func (s *station) letterOf(agent, id string) letter {
	s.t.Helper()
	b := readBoxes(s.name, s.office)
	l, ok := b.agents[agent].has()[id]
	if !ok {
		s.t.Fatalf("%s has not got %s", agent, id)
	}
	return l
}

// The checker reads a real office, and sees what is damaged in it.
func TestCheckerReads(t *testing.T) {
	t.Parallel()
	w := &world{t: t, net: newNetwork()}
	s := w.office("solo:ann,bob")
	w.stations = []*station{s}
	var ta tally
	id := ta.say(s, "ann", "bob").want(0, "delivered").id()
	ta.say(s, "ann", "bob", "--act", "request").want(0, "delivered")
	ta.say(s, "ann", "nobody").want(5, "FAILED")
	s.ok("read", "next", "--as", "bob")
	if v := w.rest(ta.all()); v.messages != 2 || v.local != 2 {
		t.Fatalf("%v", v)
	}
	must(t, os.Remove(filepath.Join(s.office, "agents", "bob", "inbox", id+".json")))
	if v := judge(map[string]*books{"solo": s.read()}, ta.all()); len(v.wrong) == 0 {
		t.Fatal("a file that is gone is not missed")
	}
}
