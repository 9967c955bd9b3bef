package acp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/roster"
)

// state is what a worker does now.
type state string

const (
	off      state = "off"      // it is not to run, or somebody else runs it
	starting state = "starting" // from the start of its process to its first session
	idle     state = "idle"     // waits for a prompt
	busy     state = "busy"     // a turn runs
	crashed  state = "crashed"  // is started again later
)

// worker is one agent's child, or the lack of one. Its goroutine is run; all
// others look and ask under mu.
type worker struct {
	*Keeper
	aid string

	mu      sync.Mutex
	agent   Agent // as it was registered when the child was started
	state   state
	since   time.Time
	why     string        // it is off or crashed
	hint    string        // the command that mends that
	turn    *turn         // the one that runs
	last    *turn         // the one before
	note    string        // of the session, for the next evidence
	talk    *talk         // nil: no child
	changed chan struct{} // closed and renewed with every change
	crashes int
	quit    context.CancelFunc
	stale   bool          // its registration changed: started again when idle
	done    chan struct{} // run has ended
}

func newWorker(k *Keeper, a Agent) *worker {
	return &worker{Keeper: k, aid: a.AID, agent: a, state: starting, since: k.Now(), changed: make(chan struct{}), done: make(chan struct{})}
}

// set changes the state; the caller holds mu.
func (w *worker) set(s state, why, hint string) {
	if s != w.state {
		w.since = w.Now()
	}
	w.state, w.why, w.hint = s, why, hint
	w.news()
}

// news tells those who wait; the caller holds mu.
func (w *worker) news() {
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *worker) become(s state, why, hint string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.set(s, why, hint)
}

func (w *worker) now() (Agent, state) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.agent, w.state
}

// run keeps the worker's child until ctx ends.
func (w *worker) run(ctx context.Context) {
	defer close(w.done)
	w.mu.Lock()
	w.crashes = w.Roster.Remembered(w.aid).Crashes
	w.mu.Unlock()
	for ctx.Err() == nil {
		a := w.registered()
		child, err := w.start(ctx, a)
		if err != nil {
			w.rest(ctx, a, err)
			continue
		}
		w.live(ctx, a, child)
	}
	w.become(off, "postd serve is ending", serveHint)
}

const serveHint = "start it: post serve"

// registered takes over what the registry says now.
func (w *worker) registered() Agent {
	now, known := w.wanted(w.aid)
	w.mu.Lock()
	defer w.mu.Unlock()
	if known {
		w.agent = now
	}
	w.stale = false
	return w.agent
}

func (w *worker) start(ctx context.Context, a Agent) (*roster.Child, error) {
	if len(a.Launch) == 0 {
		return nil, &mail.Error{Op: "start", Kind: mail.KindNotFound, Addr: a.Name, Err: errors.New("it has no launch command"),
			Hint: "give it one: post agent set " + a.Name + " --launch PROGRAM --launch ARG"}
	}
	own := 0
	if st, ok, err := w.Roster.Status(ctx, a.AID); err == nil && ok {
		own = st.PID()
	}
	if why := w.Desk.Taken(a, own); why != "" {
		return nil, fmt.Errorf("%w: %s", roster.ErrElsewhere, why)
	}
	return w.Roster.Start(ctx, roster.Agent{Name: a.Name, AID: a.AID, Office: w.Office, OfficeID: w.OfficeID,
		Workspace: a.Workspace, Launch: a.Launch, Worker: true})
}

// rest waits after a start that was not made: as long as it takes where it was
// not to be made, by the ladder where it failed.
func (w *worker) rest(ctx context.Context, a Agent, err error) {
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, roster.ErrStopped):
		w.become(off, "it was stopped", "start it: post start "+a.Name)
		wait(ctx, w.tick())
	case errors.Is(err, roster.ErrElsewhere):
		w.become(off, err.Error(), "see post agent show "+a.Name)
		wait(ctx, w.tick())
	default:
		w.failed(ctx, a, err.Error())
	}
}

// ladder are the pauses after crashes in a row; the last one repeats.
var ladder = [...]time.Duration{time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute}

// failed notes one more crash and waits until the worker may be started again:
// by the ladder, or because a person changed something.
func (w *worker) failed(ctx context.Context, a Agent, why string) {
	why = mail.Neutralise(clip(why, 200), false)
	m := w.Roster.Remembered(w.aid)
	w.mu.Lock()
	w.crashes++
	m.Crashes, m.Why, m.At = w.crashes, why, w.Now().UTC()
	pause := w.pause(w.crashes)
	w.set(crashed, why, "see post logs "+a.Name)
	w.mu.Unlock()
	w.Log.Warn("a worker ended", "agent", a.Name, "cause", why, "crashes", m.Crashes, "again_in", pause.String())
	w.remember(m)
	for end := time.Now().Add(pause); time.Now().Before(end); {
		if wait(ctx, min(w.tick(), time.Until(end))) != nil || w.asked(ctx, a) {
			return
		}
	}
}

// asked reports whether a person did something that is worth another start now.
func (w *worker) asked(ctx context.Context, a Agent) bool {
	st, ok, err := w.Roster.Status(ctx, w.aid)
	now, known := w.wanted(w.aid)
	return err == nil && ok && (st.State == roster.Starting || st.State == roster.Stopped) || known && !now.same(a)
}

func (w *worker) pause(crashes int) time.Duration {
	if w.Pause != nil {
		return w.Pause(crashes)
	}
	return ladder[min(crashes, len(ladder))-1]
}

// live is the life of one child, from its first message to its end.
func (w *worker) live(ctx context.Context, a Agent, child *roster.Child) {
	log := func(format string, args ...any) {
		fmt.Fprintf(child.Log, "--- %s: %s\n", w.Now().UTC().Format("2006-01-02 15:04:05 UTC"), mail.Neutralise(fmt.Sprintf(format, args...), false))
	}
	t := open(child, policy{a.Name, w.Office, w.Program, a.Allow}, or(w.Settle, settled), log, w.sign)
	why := w.greet(ctx, a, t)
	if why == "" {
		why = w.attend(ctx, a, t)
	}
	w.mu.Lock()
	cut := w.turn != nil // in the middle of a turn
	w.talk, w.last, w.turn = nil, nil, nil
	if ctx.Err() == nil {
		w.set(starting, "", "")
	} else {
		w.set(off, "postd serve is ending", serveHint)
	}
	w.mu.Unlock()
	log("it is ended: %s", orElse(why, "postd serve is ending"))
	if err := child.End(orElse(why, "postd serve ended")); err != nil {
		w.Log.Warn("a worker cannot be ended", "agent", a.Name, "error", err.Error())
	}
	w.show(a, t, presence.Ended, "acp: ended")
	if cut {
		m := w.Roster.Remembered(w.aid)
		m.Cut = true
		w.remember(m)
	}
	if ctx.Err() == nil && why != restart && !w.stopped() {
		w.failed(ctx, a, orElse(why, child.How()))
	}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// restart is why a child is ended that has done nothing wrong.
const restart = "its registration changed"

func (w *worker) stopped() bool {
	r, ok, err := w.Roster.Load(w.aid)
	return err == nil && ok && (r.State == roster.Stopping || r.State == roster.Stopped)
}

// greet brings a child to its first session. What is returned says why that did
// not work.
func (w *worker) greet(ctx context.Context, a Agent, t *talk) (why string) {
	w.become(starting, "", "")
	ctx, cancel := context.WithTimeout(ctx, w.patience())
	defer cancel()
	m := w.Roster.Remembered(w.aid)
	if m.Dir != a.Workspace || !slices.Equal(m.Argv, a.Launch) {
		m.Session = "" // another program's, or of another place
	}
	note, err := t.begin(ctx, a.Workspace, w.Version, memory{m.Session, m.Lost})
	if err != nil {
		why = err.Error()
		if t.over() {
			why += " (" + w.ending(t, errors.New("its process runs on")) + ")"
		}
		if errors.Is(err, errLoad) { // the next one does without
			m.Session, m.Lost = "", why
			w.remember(m)
		}
		return why
	}
	m.Session, m.Argv, m.Dir, m.Lost = t.session, a.Launch, a.Workspace, ""
	if err := errors.Join(w.Roster.Remember(w.aid, m), w.Desk.Hold(a, t.session, t.child.PID, t.child.Start)); err != nil {
		t.log("its session is not written down: %v", err)
	}
	t.log("%s", orElse(note, "session "+t.session))
	w.mu.Lock()
	w.talk, w.note = t, note
	w.mu.Unlock()
	return ""
}

// show writes down what the session does.
func (w *worker) show(a Agent, t *talk, s presence.State, event string) {
	if t.session == "" {
		return
	}
	w.mu.Lock()
	since := w.since
	w.mu.Unlock()
	now := w.Now().UTC()
	if s == presence.Ended {
		since = now
	}
	err := w.Desk.Present(a, presence.Session{Runtime: a.runtime(), ID: t.session, PID: t.child.PID, Start: t.child.Start,
		State: s, Since: since.UTC(), At: now, Event: event, Cwd: a.Workspace, Mode: "acp", Version: clip(t.agent, 60)})
	if err != nil {
		t.log("its presence is not written down: %v", err)
	}
}

// attend waits on an idle child, and through its turns, until it ends or is to
// end; what is returned says why it did, "" if nothing but its process knows.
func (w *worker) attend(ctx context.Context, a Agent, t *talk) (why string) {
	w.become(idle, "", "")
	w.show(a, t, presence.Idle, "acp: ready")
	m := w.Roster.Remembered(w.aid)
	w.Nudge(w.aid, m.Cut)
	if m.Cut {
		m.Cut = false
		w.remember(m)
	}
	up := time.Now()
	for {
		w.mu.Lock()
		turn, changed, stale := w.turn, w.changed, w.stale
		w.mu.Unlock()
		switch {
		case turn != nil:
			if why, over := w.through(ctx, a, t, turn); over {
				return why
			}
			continue
		case stale:
			return restart
		}
		timer := time.NewTimer(w.tick())
		select {
		case <-changed:
		case <-timer.C:
			if time.Since(up) > steady {
				w.well()
			}
		case <-ctx.Done():
			return ""
		case <-t.child.Ended():
			return "it ended: " + t.child.How()
		case err := <-t.broken:
			return "its output ended: " + w.ending(t, err)
		}
		timer.Stop()
	}
}

// steady is how long a child must live for its crashes to be forgotten without a
// turn.
const steady = 10 * time.Minute

// ending gives the process a moment to say how it ended: that is worth more than
// that its output did.
func (w *worker) ending(t *talk, err error) string {
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-t.child.Ended():
		return t.child.How()
	case <-timer.C:
		return err.Error()
	}
}

// well forgets the crashes.
func (w *worker) well() {
	w.mu.Lock()
	had := w.crashes
	w.crashes = 0
	w.mu.Unlock()
	if had == 0 {
		return
	}
	if m := w.Roster.Remembered(w.aid); m.Crashes > 0 {
		m.Crashes, m.Why = 0, ""
		w.remember(m)
	}
}

// remember writes down what the next run should know. It is a hint.
func (w *worker) remember(m roster.Memory) {
	if err := w.Roster.Remember(w.aid, m); err != nil {
		w.Log.Warn("a worker's memory cannot be written", "error", err.Error())
	}
}
