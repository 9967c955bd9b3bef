package link_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/link/linktest"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/serve"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/station"
	"github.com/postroom/postroom/internal/vfs"
)

// deadline is how long anything may take; a test that passes never waits for it.
const deadline = 30 * time.Second

// quick are times for tests.
func quick() link.Times {
	return link.Times{Resend: 300 * time.Millisecond, Hold: 2 * time.Second, Ask: 20 * time.Millisecond, Look: 20 * time.Millisecond, Scan: 200 * time.Millisecond}
}

// lab is one station: a real office with its router and its link.
type lab struct {
	t    *testing.T
	hub  *linktest.Hub
	name string
	dir  string
	sys  office.System
	log  *lines
	stop func()
}

type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newLab makes an office of agents and links it as a station.
func newLab(t *testing.T, hub *linktest.Hub, name string, agents ...string) *lab {
	t.Helper()
	l := &lab{t: t, hub: hub, name: name, dir: filepath.Join(t.TempDir(), "office"), log: &lines{}}
	l.sys = office.System{Now: time.Now, OpenFS: func(dir string) (vfs.FS, error) { return vfs.OpenReal(dir) },
		Machine: func() string { return "m-test" }, Boot: func() (string, time.Duration, bool) { return "", 0, false },
		Host: "test", PID: os.Getpid(), Version: "post test", Parallel: 4}
	if _, _, err := office.Create(l.dir, l.sys, office.CreateOptions{PersonCheck: config.PersonCheckOff}); err != nil {
		t.Fatal(err)
	}
	for _, a := range agents {
		l.join(a)
	}
	o := l.office()
	l.withLease(func() error { return o.SetStation(name) })
	if _, err := link.OpenKeys(o.FS); err != nil {
		t.Fatal(err)
	}
	if err := link.SaveIdentity(o.FS, link.Identity{Office: o.Config.ID, Team: "t", Station: name, Mode: link.ModeHub, Joined: time.Now()}, "jwt"); err != nil {
		t.Fatal(err)
	}
	l.start()
	t.Cleanup(func() {
		l.halt()
		if t.Failed() {
			t.Logf("%s:\n%s", name, l.log)
		}
	})
	return l
}

func (l *lab) office() *office.Office {
	l.t.Helper()
	o, err := office.Open(l.dir, l.sys)
	if err != nil {
		l.t.Fatal(err)
	}
	return o
}

func (l *lab) withLease(fn func() error) {
	l.t.Helper()
	o := l.office()
	for end := time.Now().Add(deadline); ; time.Sleep(time.Millisecond) {
		lease, err := spool.AcquireLease(o.FS, spool.Holder{PID: 1, Host: "test"})
		if mail.KindOf(err) == mail.KindBusy && time.Now().Before(end) {
			continue
		}
		if err == nil {
			err = fn()
			lease.Release()
		}
		if err != nil {
			l.t.Fatal(err)
		}
		return
	}
}

func (l *lab) join(name string) {
	l.t.Helper()
	o := l.office()
	l.withLease(func() error {
		reg, err := o.Registry()
		if err == nil {
			err = o.SystemBox(name).Make()
		}
		if err == nil {
			err = reg.Add(registry.Entry{Name: name, AID: "a-" + name + "-" + l.name, InboxPath: filepath.Join(l.dir, "agents", name, "inbox"),
				Notify: []string{"none"}, Joined: time.Now()})
		}
		if err == nil {
			err = reg.Save(o.FS)
		}
		return err
	})
}

// start runs the router and the link until halt.
func (l *lab) start() {
	log := slog.New(slog.NewTextHandler(l.log, nil))
	side := &link.Station{Open: func() (*office.Office, error) { return office.Open(l.dir, l.sys) },
		Dial: func(id link.Identity, _ link.Keys, _ string) (link.Wire, error) { return l.hub.Wire(id.Station), nil },
		Log:  log, Times: quick()}
	l.route(log, side)
}

// route runs the router alone, or with what stands beside it, until halt.
func (l *lab) route(log *slog.Logger, beside ...serve.Side) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &serve.Server{Dir: l.dir, Sys: l.sys, Table: notify.NewTable(notify.None{}), Program: "post", Log: log,
		Listen: "127.0.0.1:0", StateDir: l.t.TempDir(), Sides: beside}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Run(ctx); err != nil {
			log.Error("serve ended", "error", err)
		}
	}()
	l.stop = func() { cancel(); <-done }
}

func (l *lab) halt() {
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// knows waits until an address is in the book.
func (l *lab) knows(name string) {
	l.t.Helper()
	l.until("knows "+name, func() bool {
		reg, err := l.office().Registry()
		if err != nil {
			return false
		}
		_, ok := reg.Entry(name)
		return ok
	})
}

func (l *lab) until(what string, is func() bool) {
	l.t.Helper()
	for end := time.Now().Add(deadline); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			l.t.Fatalf("%s: never came true: %s", l.name, what)
		}
	}
}

func (l *lab) box(name string) *mailbox.Mailbox {
	l.t.Helper()
	m, err := mailbox.Open(l.office(), name)
	if err != nil {
		l.t.Fatal(err)
	}
	return m
}

// send stores a message; the router of serve takes it.
func (l *lab) send(from string, d mailbox.Draft) mail.ID {
	l.t.Helper()
	id, err := l.trySend(from, d)
	if err != nil {
		l.t.Fatal(err)
	}
	return id
}

func (l *lab) trySend(from string, d mailbox.Draft) (mail.ID, error) {
	d.Again = true
	sent, err := l.box(from).Send(d)
	if err == nil {
		err = sent[0].Err
	}
	if err != nil {
		return "", err
	}
	return sent[0].Msg.ID, nil
}

// gets waits until an agent has a message of that subject, and returns it.
func (l *lab) gets(agent, subject string) *mail.Message {
	l.t.Helper()
	var got *mail.Message
	l.until(agent+" gets "+subject, func() bool {
		m := l.box(agent)
		items, err := m.List(false)
		if err != nil {
			return false
		}
		for _, it := range items {
			if it.Subject == subject {
				if o, err := m.Open(it.ID); err == nil {
					got = o.Message
				}
			}
		}
		return got != nil
	})
	return got
}

// events lists what the journal says of a message, as "event agent".
func (l *lab) events(id mail.ID) (out []string) {
	l.t.Helper()
	var f journal.Follower
	if err := f.Next(l.office().FS, func(r journal.Record) error {
		if r.ID == id {
			out = append(out, strings.TrimSpace(r.Event+" "+r.Agent))
		}
		return nil
	}); err != nil {
		l.t.Fatal(err)
	}
	return out
}

func (l *lab) says(id mail.ID, event string) {
	l.t.Helper()
	l.until(event+" of "+string(id), func() bool {
		for _, e := range l.events(id) {
			if e == event {
				return true
			}
		}
		return false
	})
}

func (l *lab) status() station.Status {
	l.t.Helper()
	s, _, err := station.Read(l.office().FS)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// pair is two stations, a with ann and b with bob, that know each other.
func pair(t *testing.T) (*linktest.Hub, *lab, *lab) {
	t.Helper()
	hub := linktest.NewHub(t.TempDir())
	a, b := newLab(t, hub, "a", "ann", "carol"), newLab(t, hub, "b", "bob", "dave")
	a.knows("bob@b")
	b.knows("ann@a")
	return hub, a, b
}

// TestOneMessage goes from a to b and its receipt back; then it is read and
// answered.
func TestOneMessage(t *testing.T) {
	t.Parallel()
	_, a, b := pair(t)
	id := a.send("ann", mailbox.Draft{To: []string{"bob@b"}, Act: mail.Request, Subject: "Hello", Body: "over there"})
	m := b.gets("bob", "Hello")
	if m.ID != id || m.From != "ann@a" || m.To != "bob" || m.Body != "over there" || m.Station != "a" {
		t.Errorf("%+v", m)
	}
	a.says(id, "arrived bob@b")
	reply := b.send("bob", mailbox.Draft{To: []string{m.From}, InReplyTo: id, Act: mail.Done, Subject: "Re: Hello", Body: "done"})
	r := a.gets("ann", "Re: Hello")
	if r.ID != reply || r.InReplyTo != id || r.Conversation != m.Conversation || r.Hops != 1 || r.From != "bob@b" || r.To != "ann" {
		t.Errorf("%+v", r)
	}
	a.until("the debt is settled", func() bool {
		data, err := os.ReadFile(filepath.Join(a.dir, "debts.jsonl"))
		return err == nil && strings.Contains(string(data), `"event":"settle","id":"`+string(id))
	})
	b.says(reply, "arrived ann@a")
	if _, err := b.box("bob").Finish(id); err != nil {
		t.Fatal(err)
	}
	a.says(id, "done bob@b")
	for _, l := range []*lab{a, b} {
		if s := l.status(); len(s.Alarms) > 0 || !s.Up {
			t.Errorf("%s: %+v", l.name, s)
		}
	}
}
