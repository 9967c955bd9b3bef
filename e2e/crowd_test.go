//go:build e2e && linux

package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	crowd  = 50 // processes at once
	each   = 20 // messages of either size that one of them sends
	shared = 10 // of them are one agent
)

// Fifty processes send to one inbox, with three routers that are stopped and
// killed as it goes: nothing is lost, torn, doubled or out of order.
func TestCrowd(t *testing.T) {
	d := newDesk(t, "sink", "together")
	for n := range crowd - shared {
		d.join(fmt.Sprintf("sender-%02d", n))
	}
	start := time.Now()
	chaos := d.chaos(t, 3)
	var wg sync.WaitGroup
	said := make(chan ran, crowd*each*2)
	for n := range crowd {
		wg.Go(func() { d.sender(n, said) })
	}
	wg.Wait()
	took := time.Since(start)
	chaos.stop()
	close(said)
	exits := map[int]int{}
	for r := range said {
		exits[r.exit]++
		if r.exit != 0 && r.exit != 4 {
			t.Errorf("%v", r)
		}
	}
	d.ok("route")
	d.ok("route")
	s := d.whole()
	d.checkCrowd(s)
	t.Logf("%d messages by %d processes in %v; exit codes %v; routers stopped %d times, killed %d times", crowd*each*2, crowd, took.Round(time.Second),
		exits, chaos.stopped, chaos.killed)
	if r := d.post("verify"); r.exit != 0 {
		t.Errorf("%v", r)
	}
}

// text is what the n-th process sends as its i-th message.
func crowdText(n, i int, long bool) string {
	head := fmt.Sprintf("process %d, message %d, long %v\n", n, i, long)
	if !long {
		return head + strings.Repeat("a line that is one of a hundred\n", 99)
	}
	line := fmt.Sprintf("%d-%d ", n, i)
	return head + strings.Repeat(line, 200_000/len(line))
}

// sender is one process of the crowd: one command after the other.
func (d *desk) sender(n int, said chan<- ran) {
	name := fmt.Sprintf("sender-%02d", n-shared)
	if n < shared {
		name = "together"
	}
	for i := range each {
		for _, long := range []bool{false, true} {
			said <- d.feed(crowdText(n, i, long), "send", "sink", "--as", name, "-s", fmt.Sprintf("%d/%d/%v", n, i, long))
		}
	}
}

func (d *desk) checkCrowd(s *snapshot) {
	d.t.Helper()
	sink := s.boxes["sink"]
	byBody := map[string]int{}
	for _, m := range sink.inbox {
		byBody[m.Body]++
	}
	for n := range crowd {
		for i := range each {
			for _, long := range []bool{false, true} {
				if got := byBody[crowdText(n, i, long)]; got != 1 {
					d.t.Errorf("process %d, message %d, long %v: there %d times", n, i, long, got)
				}
			}
		}
	}
	if len(sink.inbox) != 2*crowd*each || len(sink.index) != 2*crowd*each || len(s.sections["_inbox_sink.md"]) != 2*crowd*each {
		d.t.Errorf("inbox %d, index %d, transcript %d", len(sink.inbox), len(sink.index), len(s.sections["_inbox_sink.md"]))
	}
	sent := 0
	for _, c := range s.boxes {
		sent += len(c.sent)
	}
	if sent != 2*crowd*each {
		d.t.Errorf("%d in .sent", sent)
	}
	// Every process sees its own messages arrive in the order in which it sent.
	last := map[string]string{}
	for _, l := range sink.index {
		who, _, _ := strings.Cut(s.messages[l.ID].Subject, "/")
		if l.ID <= last[who] {
			d.t.Errorf("of process %s, %s arrived after %s", who, l.ID, last[who])
		}
		last[who] = l.ID
	}
}

// chaos keeps routers running and hurts them.
type chaos struct {
	stopped, killed int
	quit            chan bool
	done            sync.WaitGroup
}

func (c *chaos) stop() { close(c.quit); c.done.Wait() }

// chaos starts routers; at seeded moments one is stopped for a while, or killed
// and replaced.
func (d *desk) chaos(t *testing.T, routers int) *chaos {
	c := &chaos{quit: make(chan bool)}
	rng := rand.New(rand.NewPCG(1, 2))
	list := make([]*running, routers)
	for i := range list {
		list[i] = d.running("route", "--watch")
	}
	c.done.Go(func() {
		for {
			select {
			case <-c.quit:
				for _, r := range list {
					syscall.Kill(r.pid, syscall.SIGCONT)
					r.stop()
				}
				return
			case <-time.After(time.Duration(20+rng.IntN(200)) * time.Millisecond):
			}
			i := rng.IntN(routers)
			if rng.IntN(3) == 0 {
				list[i].stop() // SIGKILL
				c.killed++
				list[i] = d.running("route", "--watch")
				continue
			}
			syscall.Kill(list[i].pid, syscall.SIGSTOP)
			time.Sleep(time.Duration(rng.IntN(150)) * time.Millisecond) // how long it is stopped is the point
			syscall.Kill(list[i].pid, syscall.SIGCONT)
			c.stopped++
		}
	})
	return c
}

// Senders that are killed at seeded moments, in numbers, leave every message
// once or nowhere.
func TestCrowdOfTheKilled(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "sink", "ann", "bob", "carl")
	rng := rand.New(rand.NewPCG(3, 4))
	const rounds = 120
	killed := 0
	for n := range rounds {
		who := []string{"ann", "bob", "carl"}[n%3]
		r := d.running("send", "sink", "--as", who, "--key", "k"+itoa(n), "-s", "s", "-m", "killed "+itoa(n))
		time.Sleep(time.Duration(rng.IntN(25_000)) * time.Microsecond)
		r.stop()
		if n%7 == 0 {
			d.ok("route")
		}
		killed++
	}
	d.ok("route")
	for n := range rounds {
		who := []string{"ann", "bob", "carl"}[n%3]
		d.post("send", "sink", "--as", who, "--key", "k"+itoa(n), "-s", "s", "-m", "killed "+itoa(n)).want(0, "delivered|already sent")
		d.once("killed "+itoa(n), "sink")
	}
	d.whole()
}

// A batch is as many messages as it has lines.
func TestBatch(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob", "carl")
	var in strings.Builder
	for n := range 100 {
		fmt.Fprintf(&in, `{"to":%q,"subject":"s","body":"batch %d"}`+"\n", []string{"bob", "carl"}[n%2], n)
	}
	r := d.feed(in.String(), "send", "--batch", "--as", "ann").want(0, "delivered")
	if got := strings.Count(r.out, "delivered "); got != 100 {
		t.Fatalf("%d lines", got)
	}
	again := d.feed(in.String(), "send", "--batch", "--as", "ann").want(0, "already sent")
	if strings.Contains(again.out, "\ndelivered ") {
		t.Fatalf("%v", again)
	}
	bad := d.feed("{\"to\":\"bob\",\"body\":\"good\"}\nnonsense\n{\"to\":\"bobb\",\"body\":\"x\"}\n", "send", "--batch", "--as", "ann")
	if bad.exit != 5 || strings.Count(bad.out, "FAILED(") != 2 {
		t.Fatalf("%v", bad)
	}
	d.once("good", "bob")
	if n := len(d.whole().messages); n != 101 {
		t.Fatalf("%d messages", n)
	}
}
