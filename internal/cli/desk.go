package cli

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/standing"
)

// desk is where a mail command works: one office, one registry and one
// mailbox, each opened once.
type desk struct {
	*mailbox.Mailbox
	e  *Env
	me identity.Me
}

// openDesk finds out where and who this is, and opens the mailbox.
func (e *Env) openDesk() (*desk, error) {
	o, reg, err := e.openRegistry()
	if err != nil {
		return nil, err
	}
	me, err := e.MeIn(o, reg)
	if err != nil {
		return nil, err
	}
	m := &mailbox.Mailbox{Office: o, Registry: reg, Entry: me.Entry}
	if me.Human {
		m.Author = o.SystemAuthor(office.Human)
	} else if m.Author, err = o.Author(me.Entry); err != nil {
		return nil, err
	}
	return &desk{Mailbox: m, e: e, me: me}, nil
}

// openAnyDesk is openDesk for commands that look at the whole office: whoever
// is nobody here looks as a person does. It gives no right to write.
func (e *Env) openAnyDesk() (d *desk, nobody bool, err error) {
	d, err = e.openDesk()
	if k := mail.KindOf(err); k != mail.KindIdentity && k != mail.KindAmbiguous || e.As != "" {
		return d, false, err
	}
	o, reg, err := e.openRegistry()
	if err != nil {
		return nil, false, err
	}
	m := &mailbox.Mailbox{Office: o, Registry: reg, Author: o.SystemAuthor(office.Human)}
	return &desk{Mailbox: m, e: e}, true, nil
}

// dispatcher routes and wakes with the adapters that this program carries.
func (d *desk) dispatcher() *dispatch.Dispatcher { return d.e.dispatcher(d.Office) }

func (e *Env) dispatcher(o *office.Office) *dispatch.Dispatcher {
	d := dispatch.New(o, nil, "")
	d.Ready = func(d *dispatch.Dispatcher) { d.Table, d.Program = e.adapters(), e.program() }
	d.Alive, d.Speaks = e.Runs, e.Speaks
	return d
}

// Speaks reports whether a session may be the agent's: it is bound to no other,
// and is no guest.
func (e *Env) Speaks(aid, runtime, session string) bool {
	b, bound := e.User().Session(identity.SessionKeyOf(runtime, session))
	return !bound || b.Agent == aid
}

// Runs reports whether a session's process still does, as far as can be told.
func (e *Env) Runs(pid int, start string) bool {
	return standing.Lives(e.Procs, presence.Session{PID: pid, Start: start}) != standing.Gone
}

// adapters are the ways to wake an agent that this program has.
func (e *Env) adapters() notify.Table {
	t := notify.NewTable(e.LightAdapters()...)
	t["webhook"] = notify.NewPostd("webhook", e.findPostd)
	t[notify.KindACP] = notify.NewACP(e.findPostd)
	return t
}

// LightAdapters are those that every program carries (design §2).
func (e *Env) LightAdapters() []notify.Adapter {
	return []notify.Adapter{notify.None{}, notify.Exec{Getenv: e.Getenv}, notify.Claude{Getenv: e.Getenv},
		notify.Codex{Getenv: e.Getenv}, notify.Qwen{}, notify.OpenCode{Alive: e.alive}, notify.Copilot{Alive: e.alive},
		notify.NewTmux(e.Getenv, e.parents()), notify.Desktop{Getenv: e.Getenv}, notify.Bell{}}
}

// parents returns what tells a process's parent, nil where the system cannot.
func (e *Env) parents() func(pid int) (int, bool) {
	above := e.above()
	if above == nil {
		return nil
	}
	if _, ok := above.Process(above.Self()); !ok {
		return nil
	}
	return func(pid int) (int, bool) {
		p, ok := e.Procs.Process(pid)
		return p.PPID, ok
	}
}

// alive reports whether a process that started at start still runs.
func (e *Env) alive(pid int, start string) bool {
	if e.Procs == nil {
		return true
	}
	p, ok := e.Procs.Process(pid)
	return ok && p.Start == start
}

// program is what an agent types to run this program: its name if that finds
// it, else its path.
func (e *Env) program() string {
	self, err := e.Executable()
	if err == nil && filepath.Base(self) == executable("postd") { // which has no mail commands
		self = e.FindPost()
	}
	if err != nil || slices.Contains(filepath.SplitList(e.Getenv("PATH")), filepath.Dir(self)) {
		return "post"
	}
	return self
}

// passPause is how long a command that waits leaves between two passes.
const passPause = 2 * time.Second

// passes returns what mail commands that wait call now and then, so that mail
// moves without a daemon (design §3). What a pass could not do, it does later.
func (d *desk) passes() func(context.Context) {
	disp, last := d.dispatcher(), time.Time{}
	return func(ctx context.Context) {
		if now := time.Now(); last.IsZero() || now.Sub(last) >= passPause {
			disp.Pass(ctx, router.Options{Own: d.Author.Tag(), All: true})
			last = time.Now()
		}
	}
}

// drainOwn routes what waits in the caller's own outbox, if anything does.
func (d *desk) drainOwn(ctx context.Context) {
	ids, raw, err := d.Author.Box.Pending(nil)
	if err != nil || len(ids)+len(raw) == 0 {
		return
	}
	d.dispatcher().Pass(ctx, router.Options{Own: d.Author.Tag()})
}

// routing says who holds the lease, for those who wait for it.
func routing(o *office.Office) string {
	h, ok := spool.ReadHolder(o.FS)
	if !ok || h.PID == 0 {
		return "another process is routing"
	}
	return "process " + itoa(h.PID) + " on " + Line(h.Host) + " is routing since " + h.Since.UTC().Format(time.TimeOnly) + " UTC"
}

// slowly tells a person at a terminal, after a second and then every five, why
// nothing has come yet. Call stop before printing anything else.
func (e *Env) slowly(what func() string) (stop func()) {
	if !e.StdoutTTY || e.Quiet || e.JSON {
		return func() {}
	}
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for wait := time.Second; ; wait = 5 * time.Second {
			select {
			case <-done:
				return
			case <-time.After(wait):
				e.Warn("%s", what())
			}
		}
	}()
	return func() { close(done); <-gone }
}
