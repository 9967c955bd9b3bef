package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/postroom/postroom/internal/debt"
	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/roster"
	"github.com/postroom/postroom/internal/spool"
)

// sessionView is the session that speaks, or last spoke, as an agent.
type sessionView struct {
	Runtime string    `json:"runtime"`
	ID      string    `json:"id"`
	PID     int       `json:"pid,omitempty"`
	Process string    `json:"process"` // "runs", "gone", "unknown"
	State   string    `json:"state"`
	Since   time.Time `json:"since"`
	At      time.Time `json:"at"`
	Event   string    `json:"event,omitempty"`
	OneShot bool      `json:"one_shot,omitempty"`
}

// startedView is what post start started.
type startedView struct {
	State  string    `json:"state"`
	How    string    `json:"how"`
	PID    int       `json:"pid,omitempty"`
	At     time.Time `json:"at"`
	Why    string    `json:"why,omitempty"`
	Attach []string  `json:"attach,omitempty"`
}

// wakeView is how waking an agent went last.
type wakeView struct {
	Kind     string     `json:"kind"`
	State    string     `json:"state"` // "ok", "held", "failing", "unknown", "no session"
	Evidence string     `json:"evidence,omitempty"`
	Tries    int        `json:"tries,omitempty"` // in a row that did not get through
	At       *time.Time `json:"at,omitempty"`
	NextTry  *time.Time `json:"next_try,omitempty"`
}

// The states of a wake.
const (
	wakeOK        = "ok"
	wakeHeld      = "held"
	wakeFailing   = "failing"
	wakeUnknown   = "unknown" // nothing waits for it, so nothing was tried
	wakeNoSession = "no session"
)

// looker looks at agents.
type looker struct {
	e     *Env
	o     *office.Office
	debts []policy.Debt
	store *roster.Store // nil: nothing was ever started here
	wakes *notify.Arbiter
	blind bool // in a sandbox, other processes can't be seen
}

func (e *Env) looker(o *office.Office) (*looker, error) {
	owed, err := debt.Load(o.FS)
	if err != nil {
		return nil, err
	}
	x := &looker{e: e, o: o, debts: owed.Open(o.Settings()), wakes: &notify.Arbiter{FS: o.FS}}
	if x.blind = sandboxed(o); !x.blind {
		x.store, _ = roster.Look(e.rosterDir(o), e.Live, e.System.Now)
	}
	return x, nil
}

// sandboxed reports whether this process may not write the office: then it
// stands in a sandbox, which may have a process tree of its own.
func sandboxed(o *office.Office) bool {
	f, err := o.FS.OpenFile(spool.LeaseFile, os.O_RDWR, 0)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	f.Close()
	return false
}

// view looks at one agent. A mailbox that can't be read is shown as such and
// stops nobody.
func (x *looker) view(ctx context.Context, r registry.Entry) agentView {
	now := x.e.Now()
	v := agentView{Name: r.Name, AID: r.AID, Role: r.Role, Runtime: r.Runtime, Presence: notSeen,
		Notify: r.Notify, Workspace: r.Workspace, Mailbox: filepath.Dir(r.InboxPath), Archived: r.Archived,
		Aliases: r.Aliases, Launch: r.Launch, Joined: r.Joined}
	for _, d := range x.debts {
		if d.Debtor != r.AID {
			continue
		}
		if v.Owes++; now.After(d.Due) {
			v.Overdue++
		}
	}
	s := sighting{now: now, runtime: r.Runtime}
	a, err := x.o.Author(r)
	if err == nil {
		s.session, s.life = x.session(a)
		s.seen, err = v.lookInto(&mailbox.Mailbox{Office: x.o, Author: a, Entry: r}, now)
	}
	if err != nil {
		v.Problem = err.Error()
	}
	s.started = x.startedOf(ctx, r)
	v.tell(s)
	v.Behind = v.behind(now, x.o.Settings().Due)
	v.Wake = x.wake(r, v.Presence)
	return v
}

func (x *looker) session(a office.Author) (*presence.Session, life) {
	p, ok := readPresence(a.Box)
	if !ok {
		return nil, unknown
	}
	if x.blind {
		return &p, unknown
	}
	return &p, x.e.lives(p)
}

func (x *looker) startedOf(ctx context.Context, r registry.Entry) *roster.Status {
	if x.store == nil {
		return nil
	}
	st, ok, err := x.store.Status(ctx, r.AID)
	if !ok || err != nil {
		return nil
	}
	return &st
}

// tell puts what is known of the presence into the view.
func (v *agentView) tell(s sighting) {
	v.Presence, v.Evidence = s.presence()
	last := s.seen
	if p := s.session; p != nil {
		last = latest(last, p.At)
		v.Session = &sessionView{p.Runtime, p.ID, p.PID, [...]string{"unknown", "runs", "gone"}[s.life], string(p.State), p.Since, p.At, p.Event, p.OneShot}
	}
	if !last.IsZero() {
		v.LastSeen = &last
	}
	if st := s.started; st != nil {
		v.Started = &startedView{State: string(st.State), How: st.How, PID: st.PID(), At: st.At, Why: st.Ended}
		if st.Pane != nil && st.Alive {
			v.Started.Attach = st.Pane.Attach()
		}
	}
	if v.Archived {
		v.Presence = isArchived
	}
}

// lookInto counts what is unread and says when the owner did something last.
func (v *agentView) lookInto(box *mailbox.Mailbox, now time.Time) (seen time.Time, err error) {
	if seen, err = lastReceipt(box.Author.Box); err != nil {
		return seen, err
	}
	if id := box.Author.Box.OpenClock().Last; id.Valid() && !mail.Drifted(id, now, 0) && id.Time().After(seen) {
		seen = id.Time()
	}
	items, err := box.List(true)
	if err != nil {
		return seen, err
	}
	v.Unread = len(items)
	for _, it := range items {
		if t := it.ID.Time(); v.Oldest == nil || t.Before(*v.Oldest) {
			v.Oldest = &t
		}
	}
	return seen, nil
}

// behind says why the agent is behind, "" if it is not.
func (v *agentView) behind(now time.Time, limit time.Duration) string {
	text := ""
	if v.Oldest != nil && now.Sub(*v.Oldest) > limit {
		text = "its oldest unread mail is " + ago(now.Sub(*v.Oldest)) + " old"
	}
	if v.Overdue > 0 {
		if text != "" {
			text += ", and "
		}
		text += plural(v.Overdue, "answer is", "answers are") + " overdue"
	}
	return text
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return itoa(n) + " " + many
}

// wake says how the agent is woken and whether that works.
func (x *looker) wake(r registry.Entry, presence string) *wakeView {
	if len(r.Notify) == 0 || r.Notify[0] == notify.KindNone || r.Archived {
		return nil
	}
	w := &wakeView{Kind: r.Notify[0], State: wakeUnknown}
	s, ok, err := x.wakes.Status(notify.Agent{Name: r.Name, AID: r.AID, Notify: r.Notify})
	gone := slices.Contains(identity.Runtimes(), w.Kind) && (presence == isDown || presence == notSeen)
	switch {
	case err != nil:
		w.Evidence = err.Error()
		return w
	case gone:
		w.State = wakeNoSession
	case !ok || s.Torn != "":
		return w
	case s.Last.State == notify.Held:
		w.State = wakeHeld
	case s.Tries > 0 && !s.Last.State.Settled():
		w.State = wakeFailing
	case s.Last.State.Settled():
		w.State = wakeOK
	}
	w.Evidence, w.Tries = s.Last.Evidence, s.Tries
	if !s.LastAttempt.IsZero() {
		w.At = &s.LastAttempt
	}
	if !s.NextTry.IsZero() {
		w.NextTry = &s.NextTry
	}
	return w
}
