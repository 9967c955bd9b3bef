//go:build e2e

package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// liveGoal is how soon a message that was sent in a shell is on the page, on a
// machine that has nothing else to do (bench, group web). Here it is only told.
const liveGoal = 300 * time.Millisecond

// TestLive: what happens in a shell is on every open page that shows it.
func TestLive(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 160)
	p.serve()
	floor, inbox, thread, agents, debts := p.enter(), p.enter(), p.enter(), p.enter(), p.enter()
	floor.open("/")
	inbox.open("/inbox")
	agents.open("/agents")
	debts.open("/debts")
	asked := p.send("planner", "lead", "query", "A thread to watch", "What now?")
	thread.open("/threads/" + word(p.rows("thread", asked)[0], "conversation"))
	for _, b := range []*tab{floor, inbox, thread, agents, debts} {
		b.listens()
	}

	var took []time.Duration
	for i := range 7 {
		subject := fmt.Sprintf("Fresh %d from a shell", i)
		begin := time.Now()
		p.send("lead", "security", "inform", subject, "Nothing to do.")
		floor.shows(subject)
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	t.Logf("from before post send until it is on the floor: %v, %v at most (goal on an idle machine: %v)", took[len(took)/2], took[len(took)-1], liveGoal)

	p.post("May I go home?", "send", "human", "--act", "query", "-s", "A question from a shell", "--as", "lead")
	inbox.shows("A question from a shell")
	p.post("Tea, I think.", "reply", asked, "--as", "lead")
	thread.shows("Tea, I think")
	p.post("Please.", "send", "security", "--act", "request", "-s", "A new debt", "--as", "planner")
	debts.shows("A new debt")
	agents.until("security has mail", `[...document.querySelectorAll('main tr, main li')].some(e => /security/.test(e.innerText) && /[78]/.test(e.innerText))`)
	for _, b := range []*tab{floor, inbox, thread, agents, debts} {
		b.clean()
	}
}

// listens waits until the page has its stream of events: what happens before, it
// fetches when it has it.
func (b *tab) listens() {
	b.t.Helper()
	until(b.t, "the page listens", func() bool {
		return slices.ContainsFunc(b.asked(), func(u string) bool { return strings.HasPrefix(u, b.base+"/live") })
	})
}

// TestRestart: a page that is open while postd is away says so, comes back by
// itself, and shows what happened meanwhile.
func TestRestart(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 0)
	p.serve()
	b := p.enter()
	b.listens()
	p.send("lead", "backend", "inform", "Before", "x")
	b.shows("Before")
	p.stop()
	b.until("the page says that it is not live", `document.querySelector('[data-live-state]') && document.querySelector('[data-live-state]').offsetParent`)
	p.send("lead", "backend", "inform", "Meanwhile", "x")
	p.serve()
	b.shows("Meanwhile")
	b.until("the page is live again", `!document.querySelector('[data-live-state]').offsetParent`)
	p.send("lead", "backend", "inform", "Afterwards", "x")
	b.shows("Afterwards")
	b.open("/agents")
	b.shows("backend")
}
