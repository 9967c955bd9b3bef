//go:build e2e && linux

package links

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// What a sender is told while the hub is away says why, and comes true when it
// is back.
func TestHubAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "one:ann", "two:bob")
	one, two := w.station("one"), w.station("two")
	var ta tally
	w.hub.run.kill()
	until(t, "the link is known to be down", func() bool { return !one.status().Up })
	waiting := ta.say(one, "ann", "bob@two", "--wait", "1s").
		want(4, `stored, not yet delivered: \S+ to bob@two \(link down since \d\d:\d\d UTC.*\)\. Do not resend\.`)
	// The same once more is known, and not sent again.
	if r := one.stdin(ta.all()[0].body, "send", "bob@two", "--as", "ann", "-s", "number 1", "--wait", "1s"); r.exit != 4 || r.id() != waiting.id() {
		t.Errorf("sent again while the link is down: %v", r)
	}
	one.serve.end()
	ta.say(one, "ann", "bob@two", "--wait", "1s").
		want(4, `stored, not yet delivered: \S+ to bob@two \(no postd serves this office: post serve\)\. Do not resend\.`)
	one.up()
	w.hub.start()
	w.rest(ta.all())
	ta.say(one, "ann", "bob@two", "--wait", "30s").want(0, `delivered \S+ to bob@two \(two: inbox 3\)`)
	// Only the far station is away.
	two.serve.end()
	ta.say(one, "ann", "bob@two", "--wait", "1s").
		want(4, `stored, not yet delivered: \S+ to bob@two \(two has not answered yet\)\. Do not resend\.`)
	two.up()
	if v := w.rest(ta.all()); v.crossings != 4 {
		t.Errorf("%v", v)
	}
}

// Packets go one way only, for longer than it takes to notice.
func TestOneWayPartition(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"from the station", "to the station"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "one:ann", "two:bob")
			one, two := w.station("one"), w.station("two")
			var ta tally
			from, to := one.machine, w.hub.machine
			if way == "to the station" {
				from, to = to, from
			}
			w.cut(from, to)
			together(
				func() {
					for range 5 {
						ta.say(one, "ann", "bob@two", "--wait", "1s").want(4, "stored, not yet delivered")
					}
				},
				func() {
					for range 5 {
						ta.say(two, "bob", "ann@one", "--wait", "1s").want(4, "stored, not yet delivered")
					}
				})
			until(t, "it is noticed", func() bool { return !one.status().Up })
			w.heal(from, to)
			if v := w.rest(ta.all()); v.crossings != 10 {
				t.Errorf("%v", v)
			}
		})
	}
}

// A laptop that sleeps for longer than it takes to be forgotten wakes with its
// connections dead, its mail waiting, and its own mail unsent.
func TestAsleep(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "one:ann", "two:bob")
	one, two := w.station("one"), w.station("two")
	var ta tally
	ta.say(one, "ann", "bob@two", "--wait", "30s").want(0, "delivered")
	two.serve.signal(syscall.SIGSTOP)
	two.apart() // a lid that is closed answers nobody
	ta.say(two, "bob", "ann@one", "--wait", "1s").want(4, "stored")
	for range 20 {
		ta.say(one, "ann", "bob@two", "--wait", "100ms").want(4, "stored, not yet delivered")
	}
	time.Sleep(25 * time.Second) // longer than pings, acknowledgements and leases wait
	two.back()
	two.serve.signal(syscall.SIGCONT)
	if v := w.rest(ta.all()); v.crossings != 22 {
		t.Errorf("%v", v)
	}
}

// A receiver that stops and goes on has everything once, in order, and its
// sender is not held up for others by it.
func TestSlowReceiver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "one:ann,amy", "two:bob", "three:cat")
	one, two := w.station("one"), w.station("two")
	var ta tally
	done := make(chan bool)
	go func() {
		defer close(done)
		rng := rand.New(rand.NewPCG(5, 6))
		for range 12 {
			two.serve.signal(syscall.SIGSTOP)
			time.Sleep(time.Duration(rng.IntN(900)) * time.Millisecond) // how long it stands is the point
			two.serve.signal(syscall.SIGCONT)
			time.Sleep(time.Duration(rng.IntN(60)) * time.Millisecond)
		}
		two.serve.signal(syscall.SIGSTOP)
	}()
	together(
		func() {
			for n := range 60 {
				ta.sayLong(one, n%7*3000, "ann", "bob@two", "--wait", "0s")
			}
		},
		func() { <-done; ta.say(one, "amy", "cat@three", "--wait", "30s").want(0, "delivered") })
	two.serve.signal(syscall.SIGCONT)
	if v := w.rest(ta.all()); v.crossings != 61 {
		t.Errorf("%v", v)
	}
}

// A disk that is full at the receiver stops mail for it, loses none, and is no
// reason to ask anybody to send again.
func TestFullReceiver(t *testing.T) {
	t.Parallel()
	if !alone {
		t.Skip("no namespaces: no disk of its own")
	}
	w := newWorld(t, "one:ann", "two:bob")
	one, two := w.station("one"), w.station("two")
	var ta tally
	ta.say(one, "ann", "bob@two", "--wait", "30s").want(0, "delivered")
	for _, pages := range []int{0, 1, 3, 7, 13, 22} {
		free := two.fill(pages)
		for n := range 6 {
			r := ta.sayLong(one, n*2000, "ann", "bob@two", "--wait", "500ms")
			if r.exit != 4 && r.exit != 0 {
				t.Errorf("%v", r)
			}
		}
		if pages == 0 {
			ta.say(one, "ann", "bob@two", "--wait", "1s").want(4, "stored, not yet delivered")
		}
		free()
	}
	if v := w.rest(ta.all()); v.crossings != 38 {
		t.Errorf("%v", v)
	}
}

// A clock that is an hour ahead at one end changes neither order nor delivery. The
// wall clock cannot be set for one process, so it is the mailbox's own clock: that
// is what a machine knows that has been an hour ahead.
func TestClockAhead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "one:ann", "two:bob")
	one, two := w.station("one"), w.station("two")
	var ta tally
	ahead := time.Now().UTC().Add(time.Hour).Format("2006-01-02T15-04-05") + "-000Z-0000-00000000"
	must(t, os.WriteFile(filepath.Join(one.office, "agents", "ann", ".clock"), []byte(fmt.Sprintf("%-63s\n", ahead)), 0o600))
	for range 3 {
		id := ta.say(one, "ann", "bob@two", "--act", "query", "--wait", "30s").want(0, "delivered").id()
		if id < ahead {
			t.Fatalf("%s is not an hour ahead", id)
		}
		two.ok("read", id, "--as", "bob")
		if back := ta.say(two, "bob", "ann@one", "--reply-to", id, "--act", "inform", "--wait", "30s").want(0, "delivered").id(); back < id {
			t.Errorf("the answer %s sorts before %s", back, id)
		}
	}
	if v := w.rest(ta.all()); v.crossings != 6 {
		t.Errorf("%v", v)
	}
}
