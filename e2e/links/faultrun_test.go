//go:build e2e && linux

package links

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// How long the fault run lasts, and what decides its moments.
const (
	faultsVar = "POSTROOM_LINK_FAULTS" // a duration
	seedVar   = "POSTROOM_LINK_SEED"
)

// Three stations send all kinds of mail in all directions while everything that
// can fail does. At the end all is healed, and the offices are read from disk:
// each accepted message once at each recipient, in order, with true receipts.
func TestFaultRun(t *testing.T) {
	t.Parallel()
	long, seed := 30*time.Second, uint64(20260530)
	if text := os.Getenv(faultsVar); text != "" {
		var err error
		long, err = time.ParseDuration(text)
		must(t, err)
	}
	if text := os.Getenv(seedVar); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		must(t, err)
	}
	t.Logf("%v of faults with seed %d", long, seed)
	w := newWorld(t, "one:ann,amy", "two:bob,bea", "three:cat,carl")
	for _, s := range w.stations {
		members := slices.Clone(s.agents)
		for _, o := range w.stations {
			if o != s {
				members = append(members, o.agents[0]+"@"+o.name)
			}
		}
		s.ok(append([]string{"channel", "create", "team-" + s.name}, members...)...)
	}
	var ta tally
	f := &faults{w: w, rng: rand.New(rand.NewPCG(seed, 1)), seen: map[string]int{}}
	end := time.Now().Add(long)
	var senders sync.WaitGroup
	for i, s := range w.stations {
		for j, who := range s.agents {
			rng := rand.New(rand.NewPCG(seed, uint64(100+10*i+j)))
			senders.Go(func() {
				for time.Now().Before(end) {
					ta.anything(w, s, who, rng)
				}
			})
		}
	}
	f.run(end)
	senders.Wait()
	healed := time.Now()
	v := w.rest(ta.all())
	t.Logf("%v", v)
	t.Logf("faults: %v", f)
	t.Logf("what senders were told: %v; at rest and judged %v after the last fault", ta.exits(), time.Since(healed).Round(time.Second))
	if v.crossings < int(long/time.Second) {
		t.Errorf("only %d deliveries on other stations in %v", v.crossings, long)
	}
}

// anything is the next thing that an agent does.
func (ta *tally) anything(w *world, s *station, who string, rng *rand.Rand) {
	o := w.stations[rng.IntN(len(w.stations))]
	to := o.agents[rng.IntN(len(o.agents))]
	if to == who {
		return
	}
	if o != s && rng.IntN(2) == 0 {
		to += "@" + o.name
	}
	switch n := rng.IntN(20); {
	case n < 8:
		ta.say(s, who, to, "--wait", "200ms")
	case n < 10:
		ta.say(s, who, to, "--act", "request", "--wait", "200ms")
	case n < 11:
		ta.sayLong(s, 1000*rng.IntN(120), who, to, "--wait", "200ms")
	case n < 12:
		ta.say(s, who, to, "--cc", w.stations[0].agents[0]+","+w.stations[1].agents[1], "--wait", "200ms")
	case n < 13:
		ta.say(s, who, "team-"+s.name, "--wait", "200ms")
	case n < 14:
		ta.say(s, who, "broadcast", "--wait", "200ms")
	case n < 15:
		ta.say(s, who, "nobody@"+o.name, "--wait", "200ms")
	default:
		ta.answer(s, who, rng)
	}
}

// answer reads the next message, answers what wants an answer, and is done.
func (ta *tally) answer(s *station, who string, rng *rand.Rand) {
	id := anyID.FindString(s.post("inbox", "--as", who, "--json", "--limit", "1").out)
	if id == "" {
		return
	}
	s.post("read", id, "--as", who)
	if b := readBoxes(s.name, s.office).agents[who].has()[id]; b.Requires {
		ta.mu.Lock()
		ta.n++
		body := who + " of " + s.name + " answers as number " + strconv.Itoa(ta.n)
		ta.mu.Unlock()
		act := []string{"agree", "done", "inform", "refuse"}[rng.IntN(4)]
		ta.note(s, who, b.From, body, s.stdin(body, "reply", id, "--as", who, "--act", act, "--wait", "200ms"))
	}
	s.post("done", id, "--as", who)
}
