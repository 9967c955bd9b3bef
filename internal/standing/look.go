// Package standing tells how each agent of an office stands: whether it is
// there, what it has not read, what it owes, whether waking it works. The command
// line, the page and the terminal floor show the same.
//
// Invariants. It only looks: nothing is marked, moved or woken. Presence comes
// from evidence (design §11), which is said with it. A mailbox that can't be read
// is shown as such and hides nobody else.
package standing

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

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

// Session is the session that speaks, or last spoke, as an agent.
type Session struct {
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

// Started is what post start started.
type Started struct {
	State  string    `json:"state"`
	How    string    `json:"how"`
	PID    int       `json:"pid,omitempty"`
	At     time.Time `json:"at"`
	Why    string    `json:"why,omitempty"`
	Attach []string  `json:"attach,omitempty"`
}

// Wake is how waking an agent went last.
type Wake struct {
	Kind     string     `json:"kind"`
	State    string     `json:"state"` // "ok", "held", "failing", "unknown", "no session"
	Evidence string     `json:"evidence,omitempty"`
	Tries    int        `json:"tries,omitempty"` // in a row that did not get through
	At       *time.Time `json:"at,omitempty"`
	NextTry  *time.Time `json:"next_try,omitempty"`
}

// The states of a wake.
const (
	WakeOK        = "ok"
	WakeHeld      = "held"
	WakeFailing   = "failing"
	WakeUnknown   = "unknown" // nothing waits for it, so nothing was tried
	WakeNoSession = "no session"
)

// Looker looks at agents, with the debts as they were when it was made.
type Looker struct {
	office *office.Office
	procs  identity.ProcessTree
	debts  []policy.Debt
	store  *roster.Store // nil: nothing was ever started here
	wakes  *notify.Arbiter
	blind  bool // in a sandbox, other processes can't be seen
	memo   *Memo
}

// View is where a Looker finds what is outside of the office.
type View struct {
	Procs     identity.ProcessTree // of sessions; nil: the system cannot tell
	Live      identity.ProcessTree // of what the roster started
	RosterDir string
	Memo      *Memo // nil: nothing is remembered
}

// NewLooker returns one for the office as it is now: it is cheap, so ask anew
// rather than keep it.
func NewLooker(o *office.Office, v View) (*Looker, error) {
	debts, err := v.Memo.Debts(o)
	if err != nil {
		return nil, err
	}
	x := &Looker{office: o, procs: v.Procs, debts: debts, memo: v.Memo, wakes: &notify.Arbiter{FS: o.FS}}
	if x.blind = Sandboxed(o); !x.blind {
		x.store, _ = roster.Look(v.RosterDir, v.Live, o.Sys.Now)
	}
	return x, nil
}

// Sandboxed reports whether this process may not write the office: then it
// stands in a sandbox, which may have a process tree of its own.
func Sandboxed(o *office.Office) bool {
	f, err := o.FS.OpenFile(spool.LeaseFile, os.O_RDWR, 0)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	f.Close()
	return false
}

// Look looks at one agent. A mailbox that can't be read is shown as such and
// stops nobody.
func (x *Looker) Look(ctx context.Context, r registry.Entry) Agent {
	now := x.office.Sys.Now()
	v := Agent{Name: r.Name, AID: r.AID, Role: r.Role, Runtime: r.Runtime, Presence: NotSeen,
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
	if r.Station != "" {
		x.lookFar(&v, r, now)
		return v
	}
	s := sighting{now: now, runtime: r.Runtime}
	a, err := x.office.Author(r)
	if err == nil {
		s.session, s.life = x.session(a)
		s.seen, err = v.lookInto(&mailbox.Mailbox{Office: x.office, Author: a, Entry: r}, now, x.memo)
	}
	if err != nil {
		v.Problem = err.Error()
	}
	s.started = x.startedOf(ctx, r)
	v.tell(s)
	v.Behind = v.behind(now, x.office.Settings().Due)
	v.Wake = x.wake(r, v.Presence)
	return v
}

// lookFar looks at an agent of another station: of it nothing is known here but
// what has not arrived there.
func (x *Looker) lookFar(v *Agent, r registry.Entry, now time.Time) {
	v.Station, v.Notify = r.Station, []string{}
	v.Presence, v.Evidence = Elsewhere, "an agent of station "+r.Station
	if v.Archived {
		v.Presence = Archived
	}
	a, err := x.office.Author(r)
	if err == nil {
		_, err = v.lookInto(&mailbox.Mailbox{Office: x.office, Author: a, Entry: r}, now, x.memo)
	}
	if err != nil {
		v.Problem = err.Error()
	}
	v.Leaving, v.Since, v.Unread, v.Oldest = v.Unread, v.Oldest, 0, nil
	v.Behind = v.behind(now, x.office.Settings().Due)
}

func (x *Looker) session(a office.Author) (*presence.Session, Life) {
	p, ok := Heard(a.Box)
	if !ok {
		return nil, Unknown
	}
	if x.blind {
		return &p, Unknown
	}
	return &p, Lives(x.procs, p)
}

func (x *Looker) startedOf(ctx context.Context, r registry.Entry) *roster.Status {
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
func (v *Agent) tell(s sighting) {
	v.Presence, v.Evidence = s.presence()
	last := s.seen
	if p := s.session; p != nil {
		last = latest(last, p.At)
		v.Session = &Session{p.Runtime, p.ID, p.PID, s.life.String(), string(p.State), p.Since, p.At, p.Event, p.OneShot}
	}
	if !last.IsZero() {
		v.LastSeen = &last
	}
	if st := s.started; st != nil {
		v.Started = &Started{State: string(st.State), How: st.How, PID: st.PID(), At: st.At, Why: st.Ended}
		if st.Pane != nil && st.Alive {
			v.Started.Attach = st.Pane.Attach()
		}
	}
	if v.Archived {
		v.Presence = Archived
	}
}

// lookInto counts what is unread and says when the owner did something last.
func (v *Agent) lookInto(box *mailbox.Mailbox, now time.Time, memo *Memo) (seen time.Time, err error) {
	if seen, err = lastReceipt(box.Author.Box); err != nil {
		return seen, err
	}
	if id := box.Author.Box.OpenClock().Last; id.Valid() && !mail.Drifted(id, now, 0) && id.Time().After(seen) {
		seen = id.Time()
	}
	t, err := memo.count(box)
	if err != nil {
		return seen, err
	}
	if v.Unread = t.unread; t.unread > 0 {
		v.Oldest = &t.oldest
	}
	return seen, nil
}

// behind says why the agent is behind, "" if it is not.
func (v *Agent) behind(now time.Time, limit time.Duration) string {
	text := ""
	if v.Oldest != nil && now.Sub(*v.Oldest) > limit {
		text = "its oldest unread mail is " + mail.Age(now.Sub(*v.Oldest)) + " old"
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
	return strconv.Itoa(n) + " " + many
}

// wake says how the agent is woken and whether that works.
func (x *Looker) wake(r registry.Entry, presence string) *Wake {
	if len(r.Notify) == 0 || r.Notify[0] == notify.KindNone || r.Archived {
		return nil
	}
	w := &Wake{Kind: r.Notify[0], State: WakeUnknown}
	s, ok, err := x.wakes.Status(notify.Agent{Name: r.Name, AID: r.AID, Notify: r.Notify})
	gone := slices.Contains(identity.Runtimes(), w.Kind) && (presence == Down || presence == NotSeen)
	switch {
	case err != nil:
		w.Evidence = err.Error()
		return w
	case gone:
		w.State = WakeNoSession
	case !ok || s.Torn != "":
		return w
	case s.Last.State == notify.Held:
		w.State = WakeHeld
	case s.Tries > 0 && !s.Last.State.Settled():
		w.State = WakeFailing
	case s.Last.State.Settled():
		w.State = WakeOK
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
