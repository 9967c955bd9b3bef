package router_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/vfs"
)

// crash is one scenario: what happens, and every disk that a crash after each
// of its calls can leave.
type crash struct {
	*officetest.Desk
	t *testing.T
	// first is what the first pass after the crash looks at; everything, if nil.
	first *router.Options
	// between changes the office after the crash, before the next pass.
	between func(*officetest.Desk)
	// after checks what is particular to the scenario, on each recovered disk.
	after func(*testing.T, *officetest.Desk, *officetest.Ledgers) error
	// still names what is not enumerated: the lease and the hint, which decide
	// nothing; and, where there are three recipients, the third one's index,
	// which is mended like the other two, and .sent, as in the scenarios with
	// one. With the build tag slow the lease and the hint are enumerated too.
	still []string

	mu     sync.Mutex
	made   []vfs.Call // by watch
	told   []told
	seen   map[[32]byte]bool
	calls  int
	states int
}

// told is what somebody was told: it must be true, whatever happens afterwards.
type told struct {
	id       mail.ID
	aid      string // delivered to; "" is stored
	approval string
}

// limit bounds the states at one call; more would mean a pass that piles up too
// much unsynced work.
const limit = 200000

// undecisive is how many of the files held still decide nothing.
const undecisive = 2

func newCrash(t *testing.T, agents ...string) *crash {
	return &crash{Desk: officetest.NewDesk(t, agents...), t: t, seen: map[[32]byte]bool{}, still: []string{"office/lease", "office/due.json"}} // the undecisive ones first
}

// watch performs steps and looks at every crash after every call of theirs.
func (c *crash) watch(steps ...func()) {
	c.t.Helper()
	c.Mem.SyncAll()
	c.Fault = &vfs.Fault{}
	c.Fault.After(func(call vfs.Call) {
		if call.Edits() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.look(call)
		}
	})
	for _, step := range steps {
		step()
	}
	c.made = c.Fault.Calls()
	c.Fault = nil
	c.look(vfs.Call{Op: "end"})
	c.t.Logf("%d calls that edit, %d different disks", c.calls, c.states)
}

// look recovers every disk that a crash now can leave.
func (c *crash) look(call vfs.Call) {
	if c.t.Failed() {
		return
	}
	c.calls++
	if slow {
		c.settle(c.still[undecisive:]...)
	} else {
		c.settle(c.still...)
	}
	told := append([]told(nil), c.told...)
	for disk := range c.Mem.CrashStates(limit) {
		before := disk.String()
		key := sha256.Sum256([]byte(fmt.Sprint(len(told)) + before))
		if c.seen[key] {
			continue
		}
		c.seen[key] = true
		c.states++
		if err := c.recover(disk, told); err != nil {
			c.t.Errorf("crash after %v: %v\n%s", call, err, before)
			return
		}
	}
}

// settle makes files and directories durable.
func (c *crash) settle(names ...string) {
	for _, name := range names {
		f, err := c.Mem.OpenFile(name, os.O_RDONLY, 0)
		if err == nil {
			f.Sync()
			f.Close()
		}
	}
}

// recover runs passes of two processes on a disk and checks what they make of
// it.
func (c *crash) recover(disk *vfs.Mem, told []told) error {
	d := c.On(disk)
	d.Clock.Advance(time.Second)
	if c.between != nil {
		c.between(d)
	}
	passes := []router.Options{{All: true}, {All: true}}
	if c.first != nil {
		passes = append([]router.Options{*c.first}, passes...)
	}
	for _, opt := range passes {
		d.Sys.PID++
		d.Clock.Advance(10 * time.Second)
		if _, err := d.Router().Pass(context.Background(), opt); err != nil {
			return err
		}
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
	if c.after != nil {
		return c.after(c.t, d, l)
	}
	return nil
}

func (w told) holds(d *officetest.Desk, l *officetest.Ledgers) error {
	if l.Messages[w.id] == nil {
		return fmt.Errorf("%s was stored and is nowhere", w.id)
	}
	if w.approval != "" {
		if _, _, err := approval.Get(d.Office().FS, w.approval); err != nil {
			return fmt.Errorf("a person was asked: %w", err)
		}
	}
	for _, aid := range l.Held[w.id] {
		if aid == w.aid {
			return nil
		}
	}
	if w.aid != "" {
		return fmt.Errorf("%s was delivered to %s and is with %v", w.id, w.aid, l.Held[w.id])
	}
	return nil
}

// send stores a draft and remembers what it was told.
func (c *crash) send(from string, draft mailbox.Draft) func() {
	return func() {
		sent, err := c.Box(from).Send(draft)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, s := range sent {
			if s.Err != nil {
				c.t.Fatal(s.Err)
			}
			c.told = append(c.told, told{id: s.Msg.ID})
		}
	}
}

// pass routes and remembers what it was told.
func (c *crash) pass() { c.route(router.Options{All: true}) }

// park routes as a sender does, who leaves unsynced what may trail.
func (c *crash) park() { c.route(router.Options{Own: "a-researcher", Park: true}) }

func (c *crash) route(opt router.Options) {
	opt.Delivered = func(r router.Result) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, f := range r.Fates {
			switch f.State {
			case router.Delivered:
				c.told = append(c.told, told{id: r.ID, aid: f.Agent.AID})
			case router.Asked:
				c.told = append(c.told, told{id: r.ID, approval: f.Approval})
			}
		}
	}
	_, err := c.Router().Pass(context.Background(), opt)
	if err != nil {
		c.t.Fatal(err)
	}
}

// reorganise is what a person does to the office between a crash and the next
// pass.
func reorganise(d *officetest.Desk) {
	d.Join("newcomer", "")
	d.Edit(func(r *registry.Registry) error {
		if err := r.Rename("a-coder", "programmer"); err != nil {
			return err
		}
		return r.Archive("a-tester", true)
	})
}

// mails counts the messages that agents wrote.
func mails(l *officetest.Ledgers) (n int) {
	for _, m := range l.Messages {
		if m.From != "postroom" && m.From != "human" {
			n++
		}
	}
	return n
}

// wrote fails unless agents wrote as many messages as wanted, and the office as
// many.
func wrote(agents, office int) func(*testing.T, *officetest.Desk, *officetest.Ledgers) error {
	return func(_ *testing.T, _ *officetest.Desk, l *officetest.Ledgers) error {
		if n := mails(l); n > agents || len(l.Messages)-n > office {
			return fmt.Errorf("%d messages of agents and %d of the office, wanted at most %d and %d", n, len(l.Messages)-n, agents, office)
		}
		return nil
	}
}

// chain exchanges replies up to a hop cap of 2 and returns the last message, to
// coder.
func chain(d *officetest.Desk) *mail.Message {
	d.Configure(func(c *config.Office) { c.Policy.HopCap = 2 })
	m := d.Send("researcher", mailbox.Draft{To: []string{"coder"}, Act: mail.Query, Subject: "Q", Body: "?"})
	names := [2]string{"coder", "researcher"}
	for i := range 2 {
		d.Pass()
		d.Clock.Advance(time.Minute)
		m = d.Send(names[i%2], mailbox.Draft{To: []string{names[(i+1)%2]}, InReplyTo: m.ID, Act: mail.Query, Body: "?"})
	}
	d.Pass()
	d.Clock.Advance(time.Minute)
	return m
}
