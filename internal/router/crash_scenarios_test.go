//go:build !race

// Every state of every scenario: single-threaded, so the race detector would
// find nothing in ten times the time.

package router_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/debt"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/vfs"
)

func TestCrashDirect(t *testing.T) {
	t.Parallel()
	c := newCrash(t, "researcher", "coder")
	c.after = wrote(1, 0)
	c.watch(c.send("researcher", mailbox.Draft{To: []string{"coder"}, Act: mail.Request, Subject: "Review", Body: "Please."}), c.pass)
}

func TestCrashReorganised(t *testing.T) {
	t.Parallel()
	c := newCrash(t, "researcher", "coder", "tester")
	c.still = append(c.still, "office/agents/tester/index.jsonl", "office/agents/researcher/outbox/.sent")
	c.between = reorganise
	c.after = wrote(1, 1)
	c.watch(c.send("researcher", mailbox.Draft{To: []string{"all"}, Act: mail.Request, Subject: "Review", Body: "Please."}), c.pass)
}

func TestCrashByHand(t *testing.T) {
	t.Parallel()
	c := newCrash(t, "researcher", "coder")
	c.after = wrote(1, 0)
	c.Write("researcher", "hello.json", `{"to":"coder","act":"request","subject":"Review","body":"Please."}`)
	c.watch(c.pass)
}

func TestCrashBounce(t *testing.T) {
	t.Parallel()
	c := newCrash(t, "researcher", "coder")
	c.between = func(d *officetest.Desk) {
		d.Edit(func(r *registry.Registry) error { return r.Rename("a-researcher", "scholar") })
	}
	c.after = wrote(1, 1)
	c.Write("researcher", "hello.json", `{"to":"codr","act":"request","subject":"Review","body":"Please."}`)
	c.watch(c.pass)
}

func TestCrashBroadcast(t *testing.T) {
	t.Parallel()
	c := newCrash(t, "researcher", "coder", "tester", "writer")
	c.still = append(c.still, "office/agents/writer/index.jsonl", "office/agents/researcher/outbox/.sent")
	c.after = wrote(1, 0)
	c.watch(c.send("researcher", mailbox.Draft{To: []string{"all"}, Act: mail.Inform, Subject: "News", Body: "Lunch."}), c.pass)
}

func TestCrashChannelAndCopy(t *testing.T) {
	t.Parallel()
	c := newCrash(t, "researcher", "coder", "tester", "writer")
	c.still = append(c.still, "office/agents/tester/index.jsonl", "office/agents/researcher/outbox/.sent")
	c.Edit(func(r *registry.Registry) error { return r.AddChannel("core", "a-researcher", "a-coder", "a-tester") })
	c.between = func(d *officetest.Desk) {
		d.Edit(func(r *registry.Registry) error {
			return errors.Join(r.RemoveMember("core", "a-researcher"), r.Rename("a-writer", "author"))
		})
	}
	c.after = wrote(1, 1)
	c.watch(c.send("researcher", mailbox.Draft{To: []string{"core"}, CC: []string{"writer"}, Act: mail.Inform, Subject: "News", Body: "Lunch."}), c.pass)
}

// open lists who owes what.
func open(d *officetest.Desk) ([]policy.Debt, error) {
	book, err := debt.Load(d.Office().FS)
	return book.Open(d.Office().Settings()), err
}

func TestCrashReply(t *testing.T) {
	t.Parallel()
	c := newCrash(t, "researcher", "coder")
	req := c.Send("researcher", mailbox.Draft{To: []string{"coder"}, Act: mail.Request, Subject: "Review", Body: "Please."})
	c.Pass()
	c.after = func(t *testing.T, d *officetest.Desk, l *officetest.Ledgers) error {
		debts, err := open(d)
		if want := 2 - mails(l); err != nil || len(debts) != want {
			return fmt.Errorf("%d messages and %d debts: %+v %v", mails(l), len(debts), debts, err)
		}
		return nil
	}
	c.watch(c.send("coder", mailbox.Draft{To: []string{"researcher"}, InReplyTo: req.ID, Act: mail.Done, Body: "Done."}), c.pass)
}

func TestCrashQuestion(t *testing.T) {
	t.Parallel()
	c := newCrash(t, "researcher")
	c.after = func(t *testing.T, d *officetest.Desk, l *officetest.Ledgers) error {
		asked, err := approval.Open(d.Office().FS)
		if err != nil || len(asked) != mails(l) {
			return fmt.Errorf("%d messages, approvals %+v %v", mails(l), asked, err)
		}
		return nil
	}
	c.watch(c.send("researcher", mailbox.Draft{To: []string{"human"}, Act: mail.Query, Subject: "May I?", Body: "Deploy?"}), c.pass)
}

func TestCrashRelease(t *testing.T) {
	t.Parallel()
	c := newCrash(t, "researcher", "coder")
	c.still = append(c.still, "office/agents/researcher/index.jsonl", "office/transcripts/_inbox_researcher.md",
		"office/agents/coder/outbox/.sent", "office/agents/postroom/outbox/.sent")
	last := chain(c.Desk)
	before := settled(t, c.Desk)
	c.after = func(t *testing.T, d *officetest.Desk, l *officetest.Ledgers) error {
		asked, err := approval.Open(d.Office().FS)
		more := mails(l) - mails(before)
		if err != nil || len(asked) != more || more > 1 || len(l.Messages)-len(before.Messages) != 3*more {
			return fmt.Errorf("%d more messages, %d of agents, approvals %+v %v", len(l.Messages)-len(before.Messages), more, asked, err)
		}
		return nil
	}
	c.watch(c.send("coder", mailbox.Draft{To: []string{"researcher"}, InReplyTo: last.ID, Act: mail.Query, Body: "?"}), c.pass)
}

func testCrashDecision(t *testing.T, choice string, delivered int) {
	c := newCrash(t, "researcher", "coder")
	last := chain(c.Desk)
	held := c.Send("coder", mailbox.Draft{To: []string{"researcher"}, InReplyTo: last.ID, Act: mail.Query, Body: "?"})
	c.Pass()
	asked, err := approval.Open(c.Office().FS)
	if err != nil || len(asked) != 1 {
		t.Fatalf("%+v %v", asked, err)
	}
	before := settled(t, c.Desk)
	c.after = func(t *testing.T, d *officetest.Desk, l *officetest.Ledgers) error {
		_, decision, err := approval.Get(d.Office().FS, asked[0].ID)
		if decision == nil || err != nil {
			return err
		}
		left, err := approval.Open(d.Office().FS)
		if got := len(l.Held[held.ID]); got != delivered || len(left) != 0 || len(l.Messages) != len(before.Messages)+1 {
			return fmt.Errorf("held by %d, %d approvals open, %d new messages, %v", got, len(left), len(l.Messages)-len(before.Messages), err)
		}
		return nil
	}
	c.watch(func() {
		if err := approval.Decide(c.Office().FS, asked[0].ID, approval.Decision{By: "human", At: c.Clock.Now(), Choice: choice}); err != nil {
			t.Fatal(err)
		}
	}, c.pass)
}

func TestCrashDecisionDeliver(t *testing.T) { t.Parallel(); testCrashDecision(t, "deliver", 1) }
func TestCrashDecisionStop(t *testing.T)    { t.Parallel(); testCrashDecision(t, "stop", 0) }

func TestCrashKey(t *testing.T) {
	t.Parallel()
	c := newCrash(t, "researcher", "coder")
	draft := mailbox.Draft{To: []string{"coder"}, Act: mail.Inform, Subject: "News", Body: "Lunch.", Key: "k1"}
	c.after = func(t *testing.T, d *officetest.Desk, _ *officetest.Ledgers) error {
		d.Send("researcher", draft) // whatever became of the first: afterwards there is one
		d.Pass()
		l, err := officetest.Check(d.Office())
		if err != nil || mails(l) != 1 {
			return fmt.Errorf("%d messages, %v", mails(l), err)
		}
		return nil
	}
	c.watch(c.send("researcher", draft), c.send("researcher", draft), c.pass, c.send("researcher", draft))
}

func TestCrashReadBetween(t *testing.T) {
	t.Parallel()
	c := newCrash(t, "researcher", "coder")
	finish := func(d *officetest.Desk) {
		b := d.Box("coder")
		items, err := b.List(true)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range items {
			if _, err := b.Finish(it.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.between = finish
	c.after = wrote(1, 0)
	c.watch(c.send("researcher", mailbox.Draft{To: []string{"coder"}, Act: mail.Inform, Subject: "News", Body: "Lunch."}), c.pass,
		func() { finish(c.Desk) })
}

func TestCrashElsewhere(t *testing.T) {
	t.Parallel()
	c := newCrash(t, "researcher")
	c.still = append(c.still, "writer/index.jsonl", "coder/outbox/.sent")
	for _, name := range []string{"coder", "writer"} {
		if err := c.Mem.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
		c.Join(name, "/"+name)
	}
	c.after = wrote(1, 0)
	c.watch(c.send("coder", mailbox.Draft{To: []string{"writer"}, CC: []string{"researcher"}, Act: mail.Inform, Subject: "News", Body: "Lunch."}), c.pass)
}

func TestCrashFailed(t *testing.T) {
	t.Parallel()
	c := newCrash(t, "researcher", "coder")
	c.Write("researcher", "hello.json", `{"to":`)
	c.Clock.Advance(time.Minute)
	c.after = wrote(0, 1)
	c.watch(c.pass)
}

// TestCrashTwice kills a pass after each of its calls and then looks at every
// crash of the pass that mends what it left.
func TestCrashTwice(t *testing.T) {
	t.Parallel()
	seen, calls, states := map[[32]byte]bool{}, 0, 0
	for n := 1; ; n++ {
		first := newCrash(t, "researcher", "coder")
		first.send("researcher", mailbox.Draft{To: []string{"coder"}, Act: mail.Request, Subject: "Review", Body: "Please."})()
		first.Mem.SyncAll()
		first.Fault = &vfs.Fault{}
		first.Fault.FailFrom(n+1, syscall.EIO) // nothing of what it would still do happens
		first.told = append(first.told, note(first.Desk)...)
		first.Mem.SyncAll()
		all := first.Fault.Calls()
		if n > len(all) {
			t.Logf("%d calls, then %d that edit, %d different disks", n-1, calls, states)
			return
		}
		if !all[n-1].Edits() {
			continue
		}
		for disk := range first.Mem.CrashStates(1) { // its locks are gone
			second := &crash{Desk: first.On(disk), t: t, seen: seen, told: first.told, still: first.still}
			second.after = wrote(1, 0)
			second.watch(second.pass)
			calls, states = calls+second.calls, states+second.states
		}
	}
}

// A pass that lingers delivers a second message before it records the first.
func TestCrashRelay(t *testing.T) {
	t.Parallel()
	c := newCrash(t, "researcher", "coder")
	c.still = append(c.still, "office/agents/researcher/outbox/.sent", "office/agents/researcher/outbox/.keys", "office/agents/coder/index.jsonl")
	c.after = wrote(2, 0)
	draft := mailbox.Draft{To: []string{"coder"}, Act: mail.Inform, Subject: "News", Body: "Lunch."}
	second := c.send("researcher", mailbox.Draft{To: []string{"coder"}, Act: mail.Inform, Subject: "More", Body: "Soup."})
	c.watch(c.send("researcher", draft), func() {
		var order []mail.ID
		_, err := c.Router().Pass(context.Background(), router.Options{All: true, Linger: 1, Delivered: func(r router.Result) {
			order = append(order, r.ID)
			if len(order) == 1 {
				second()
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.told = append(c.told, told{id: r.ID, aid: r.Fates[0].Agent.AID})
		}})
		if err != nil || len(order) != 2 {
			t.Fatal(order, err)
		}
	})
	c.deliveredBeforeRecorded(t)
}

// deliveredBeforeRecorded fails unless the second message was in the inbox
// before the office had its copy of the first.
func (c *crash) deliveredBeforeRecorded(t *testing.T) {
	t.Helper()
	inbox := 0
	for _, call := range c.made {
		switch {
		case call.Op == "link" && strings.HasPrefix(call.To, "agents/coder/inbox/"):
			inbox++
		case call.Op == "link" && strings.HasPrefix(call.To, "messages/"):
			if inbox != 2 {
				t.Fatalf("%d messages were delivered before the first was recorded", inbox)
			}
			return
		}
	}
	t.Fatal("nothing was recorded")
}
