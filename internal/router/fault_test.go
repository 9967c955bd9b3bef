package router_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/vfs"
)

// eachFault runs try with an error at the n-th call of step, for every n, until
// step has fewer calls than that. also makes all later calls fail too.
func eachFault(t *testing.T, also bool, make func() *officetest.Desk, step func(*officetest.Desk), check func(*officetest.Desk) error) {
	t.Helper()
	for n := 1; ; n++ {
		d := make()
		d.Mem.SyncAll()
		d.Fault = &vfs.Fault{}
		if also {
			d.Fault.FailFrom(n, syscall.ENOSPC)
		} else {
			d.Fault.FailAt(n, syscall.EIO)
		}
		step(d)
		calls := d.Fault.Calls()
		d.Fault = nil
		if err := check(d); err != nil {
			var at any = "none"
			if n <= len(calls) {
				at = calls[n-1]
			}
			t.Errorf("fault at %v: %v", at, err)
			return
		}
		if n > len(calls) {
			t.Logf("%d calls", n-1)
			return
		}
	}
}

var news = mailbox.Draft{To: []string{"coder"}, CC: []string{"tester"}, Act: mail.Request, Subject: "News", Body: "Lunch.", Key: "k1"}

// trySend sends as a process that may meet faults: the error is what its author is
// told.
func trySend(d *officetest.Desk, from string, draft mailbox.Draft) (*mail.Message, error) {
	o, err := officetest.Open(d)
	if err != nil {
		return nil, err
	}
	m, err := mailbox.Open(o, from)
	if err != nil {
		return nil, err
	}
	sent, err := m.Send(draft)
	if err != nil {
		return nil, err
	}
	return sent[0].Msg, sent[0].Err
}

func tryPass(d *officetest.Desk, opt router.Options) (router.Report, error) {
	o, err := officetest.Open(d)
	if err != nil {
		return router.Report{}, err
	}
	return (&router.Router{Office: o}).Pass(context.Background(), opt)
}

// A disk without room for one file and with a little for the others, also when
// the next pass redoes what the one before had journalled: nothing is given up
// for that, it is redone when there is room.
func TestFullDiskWhileRedoing(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"transcripts/", "agents/coder/index", "agents/coder/inbox/", "messages/", "debts", "journal/", "agents/researcher/outbox/.sent"} {
		t.Run(strings.ReplaceAll(file, "/", "_"), func(t *testing.T) {
			t.Parallel()
			d := officetest.NewDesk(t, "researcher", "coder", "tester")
			if _, err := trySend(d, "researcher", news); err != nil {
				t.Fatal(err)
			}
			d.Fault = &vfs.Fault{}
			d.Fault.FailIf(func(c vfs.Call) error {
				if (c.Op == "write" || c.Op == "link") && (strings.HasPrefix(c.Name, file) || strings.HasPrefix(c.To, file)) {
					return syscall.ENOSPC
				}
				return nil
			})
			for range 3 {
				tryPass(d, router.Options{All: true})
			}
			d.Fault = nil
			if what := gaveUp(d); what != nil {
				t.Errorf("gave up %v", what)
			}
			if err := once(d, 1); err != nil {
				t.Error(err)
			}
		})
	}
}

// gaveUp is what a pass journalled as lost for ever.
func gaveUp(d *officetest.Desk) map[string]string {
	var what map[string]string
	err := journal.Each(d.Office().FS, time.Time{}, time.Time{}, func(r journal.Record) error {
		if r.Event == journal.Recovered && r.Detail["lost"] != "" {
			what = r.Detail
		}
		return nil
	})
	if err != nil {
		d.T.Fatal(err)
	}
	return what
}

// once fails unless, after the passes of two more processes, agents have
// written n messages and everything agrees.
func once(d *officetest.Desk, n int) error {
	for range 2 {
		d.Clock.Advance(10 * time.Second)
		if _, err := tryPass(d, router.Options{All: true}); err != nil {
			return err
		}
	}
	l, err := officetest.Check(d.Office())
	if err != nil {
		return err
	}
	if got := mails(l); got != n {
		return fmt.Errorf("%d messages, wanted %d", got, n)
	}
	return nil
}

func TestFaultInSend(t *testing.T) {
	t.Parallel()
	for _, also := range []bool{false, true} {
		for _, key := range []string{"", "k1"} {
			draft := news
			draft.Key = key
			t.Run(fmt.Sprintf("all later %v key %q", also, key), func(t *testing.T) {
				t.Parallel()
				var msg *mail.Message
				var sendErr error
				eachFault(t, also, func() *officetest.Desk { return officetest.NewDesk(t, "researcher", "coder", "tester") },
					func(d *officetest.Desk) { msg, sendErr = trySend(d, "researcher", draft) },
					func(d *officetest.Desk) error {
						if sendErr != nil { // a true failure: nothing goes out
							if k := mail.KindOf(sendErr); k != mail.KindStore && k != mail.KindNotFound {
								return sendErr
							}
							if err := once(d, 0); err != nil && !strings.Contains(sendErr.Error(), "nevertheless") {
								return fmt.Errorf("told %w; %w", sendErr, err)
							}
						}
						again, err := trySend(d, "researcher", draft)
						if err != nil {
							return err
						}
						if sendErr == nil && again.ID != msg.ID {
							return errors.New("sent twice")
						}
						return once(d, 1)
					})
			})
		}
	}
}

func TestFaultInPass(t *testing.T) {
	t.Parallel()
	hand := func() *officetest.Desk {
		d := officetest.NewDesk(t, "researcher", "coder", "tester")
		d.Write("researcher", "hello.json", `{"to":"coder","cc":["tester"],"act":"request","subject":"Review","body":"Please."}`)
		return d
	}
	sent := func() *officetest.Desk {
		d := officetest.NewDesk(t, "researcher", "coder", "tester")
		d.Send("researcher", news)
		return d
	}
	bounce := func() *officetest.Desk {
		d := officetest.NewDesk(t, "researcher", "coder", "tester")
		d.Write("researcher", "hello.json", `{"to":"codr","act":"request","subject":"Review","body":"Please."}`)
		return d
	}
	question := func() *officetest.Desk {
		d := officetest.NewDesk(t, "researcher", "coder", "tester")
		d.Send("researcher", mailbox.Draft{To: []string{"human"}, Act: mail.Query, Subject: "May I?", Body: "Deploy?"})
		return d
	}
	for name, start := range map[string]func() *officetest.Desk{"by hand": hand, "sent": sent, "bounce": bounce, "question": question} {
		for _, also := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s all later %v", name, also), func(t *testing.T) {
				t.Parallel()
				var told []told
				eachFault(t, also, start,
					func(d *officetest.Desk) { told = note(d) },
					func(d *officetest.Desk) error {
						if err := once(d, 1); err != nil {
							return err
						}
						l, err := officetest.Check(d.Office())
						if err != nil {
							return err
						}
						for _, w := range told {
							if err := w.holds(d, l); err != nil {
								return err
							}
						}
						return nil
					})
			})
		}
	}
}

// note runs a pass, whatever its error, and returns what it told.
func note(d *officetest.Desk) (all []told) {
	tryPass(d, router.Options{All: true, Delivered: func(r router.Result) {
		for _, f := range r.Fates {
			switch f.State {
			case router.Delivered:
				all = append(all, told{id: r.ID, aid: f.Agent.AID})
			case router.Asked:
				all = append(all, told{id: r.ID, approval: f.Approval})
			}
		}
	}})
	return all
}

// TestFaultWhileAnotherSends has two processes of one agent send the same at
// once, one of which meets a fault.
func TestFaultWhileAnotherSends(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		d := officetest.NewDesk(t, "researcher", "coder", "tester")
		unlucky := *d
		unlucky.Fault = &vfs.Fault{}
		unlucky.Fault.FailAt(n, syscall.EIO)
		unlucky.Sys = officetest.System(d.Clock, unlucky.Open)
		var first *mail.Message
		var firstErr error
		done := make(chan bool)
		go func() {
			defer close(done)
			if first, firstErr = trySend(&unlucky, "researcher", news); firstErr == nil {
				tryPass(&unlucky, router.Options{Own: "a-researcher"})
			}
		}()
		second, err := trySend(d, "researcher", news)
		if err == nil {
			_, err = tryPass(d, router.Options{Own: "a-researcher"})
		}
		<-done
		if err != nil && mail.KindOf(err) != mail.KindBusy {
			t.Fatalf("fault at %d: %v", n, err)
		}
		if firstErr == nil && first.ID != second.ID {
			t.Fatalf("fault at %d: two messages", n)
		}
		if err := once(d, 1); err != nil {
			t.Fatalf("fault at %d: %v", n, err)
		}
		if n > len(unlucky.Fault.Calls()) {
			return
		}
	}
}

// TestFaultAfterBounce: what bounced may be sent again, whatever happens.
func TestFaultAfterBounce(t *testing.T) {
	t.Parallel()
	var msg *mail.Message
	var sendErr error
	direct := mailbox.Draft{To: []string{"coder"}, Act: mail.Request, Subject: "News", Body: "Lunch.", Key: "k1"}
	eachFault(t, false, func() *officetest.Desk {
		d := officetest.NewDesk(t, "researcher", "coder")
		d.Send("researcher", direct)
		inbox := "office/agents/coder/inbox"
		if err := d.Mem.Chmod(inbox, 0o500); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			tryPass(d, router.Options{All: true})
			d.Clock.Advance(2 * time.Hour)
		}
		if err := d.Mem.Chmod(inbox, 0o700); err != nil {
			t.Fatal(err)
		}
		return d
	}, func(d *officetest.Desk) { msg, sendErr = trySend(d, "researcher", direct) }, func(d *officetest.Desk) error {
		again, err := trySend(d, "researcher", direct)
		if err != nil {
			return err
		}
		if sendErr == nil && msg.ID != again.ID {
			return errors.New("sent twice")
		}
		if err := once(d, 2); err != nil {
			return err
		}
		l, err := officetest.Check(d.Office())
		if err != nil || len(l.Held[again.ID]) != 1 || len(l.Failed) != 1 {
			return fmt.Errorf("%v held by %v, failed %v, %v", again.ID, l.Held[again.ID], l.Failed, err)
		}
		return nil
	})
}
