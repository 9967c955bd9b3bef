package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/vfs"
)

// DefaultBudget is how long one attempt may take (design §6).
const DefaultBudget = 2 * time.Second

const (
	// maxRounds bounds how often one caller wakes the same agent because mail
	// came while he was at it.
	maxRounds = 3
	// grace is how long an adapter may take to notice that its time is up.
	grace = 250 * time.Millisecond
)

// Waiting is an agent's unread mail.
type Waiting struct {
	IDs      []mail.ID // in delivery order (design §5), oldest first
	Oblige   int       // how many of them expect an answer
	Surfaced []mail.ID // those of IDs that the agent's own session was shown, in the same order
}

// Unread looks into an agent's inbox. One Wake calls it several times, one
// after the other.
type Unread func() (Waiting, error)

// Recipient is an agent and a way to look into its inbox.
type Recipient struct {
	Agent  Agent
	Unread Unread
}

// Attempt is one call of an adapter, for the journal.
type Attempt struct {
	At       time.Time
	Agent    Agent
	Kind     string
	IDs      []mail.ID // what was announced, the newest MaxIDs
	Count    int       // how many were announced
	Reminder bool      // all of it had been announced before
	Outcome  Outcome
}

// Arbiter decides wakes for one office. All of its methods may be called by
// several goroutines and processes at once. It is to be called without the
// office's lease.
type Arbiter struct {
	FS       vfs.FS // the office
	Office   string // its absolute path
	OfficeID string
	Table    Table
	Program  string        // what agents type for post; "" is "post"
	Budget   time.Duration // per attempt; 0 is DefaultBudget
	// Record gets every attempt, also those for mail of others that came
	// meanwhile. It may be nil and may be called by several goroutines.
	Record func(Attempt)
	// Session says what is known of the agent's session. It is called right
	// before an adapter is, under the wake lock; nil knows nothing.
	Session func(Agent) *presence.Session
	// Patient has Wake wait, at most for Budget, while the answer depends on a
	// wake that was made a moment ago: by somebody else, or for older mail.
	Patient bool
}

// Wake tells the agent about its unread mail if the rules allow it now. The
// outcome is that of the mail which was unread when Wake was called:
//
//   - Notified: announced now, or earlier and still unread (the evidence says
//     since when);
//   - NotNeeded: the adapter needs no waking, or the inbox is empty;
//   - Failed, Held: tried now without success; Retry tries again;
//   - Pending: somebody else is at it, or the back-off says later.
//
// An error means that the arbiter itself could not work (wake/ not writable,
// inbox not readable); it comes with Failed or Pending. ctx bounds everything; each
// attempt is bounded by Budget too.
func (a *Arbiter) Wake(ctx context.Context, agent Agent, unread Unread, now time.Time) (Outcome, error) {
	return a.wake(ctx, Recipient{agent, unread}, now, false)
}

// Force is Wake without back-off: all unread mail is announced now (post
// renotify). It still waits for nobody and never wakes for an empty inbox.
func (a *Arbiter) Force(ctx context.Context, agent Agent, unread Unread, now time.Time) (Outcome, error) {
	return a.wake(ctx, Recipient{agent, unread}, now, true)
}

func (a *Arbiter) wake(ctx context.Context, r Recipient, now time.Time, force bool) (Outcome, error) {
	agent, now := r.Agent, now.UTC()
	if agent.Kind() == KindNone {
		return None{}.Notify(ctx, agent, Pointer{})
	}
	if !validName(agent.Name) || !validAID(agent.AID) {
		return Fail(agent.Kind(), agent, "not an agent's name and id", "")
	}
	var first Outcome
	var firstErr error
	for n := range maxRounds {
		rd, out, err := a.round(ctx, r, now, force, a.Patient && n == 0)
		if n == 0 {
			first, firstErr = out, err
		}
		if err != nil || !rd.late() {
			return first, firstErr
		}
		force = false
		if ctx.Err() != nil {
			break
		}
	}
	return first, errors.Join(firstErr, storeError(agent.Name, store{a.FS}.mark(agent.AID)))
}

// look is how often a patient arbiter looks again.
const look = 200 * time.Millisecond

// round runs one round; a patient one is run again until it knows better
// than that somebody was woken a moment ago, or the budget is used up.
func (a *Arbiter) round(ctx context.Context, r Recipient, now time.Time, force, patient bool) (*round, Outcome, error) {
	start, began := time.Now(), now
	for {
		rd := &round{Arbiter: a, r: r, now: now, store: store{a.FS}}
		out, err := rd.run(ctx, force)
		if !patient || !rd.soon || time.Since(start)+look > a.budget() {
			return rd, out, err
		}
		timer := time.NewTimer(look)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return rd, out, err
		}
		now = began.Add(time.Since(start))
	}
}

func (a *Arbiter) budget() time.Duration {
	if a.Budget <= 0 {
		return DefaultBudget
	}
	return a.Budget
}

// round is one time of: lock, look, decide, fire, unlock.
type round struct {
	*Arbiter
	r     Recipient
	now   time.Time
	store store
	seen  map[mail.ID]bool // what was unread under the lock; nil if not locked
	torn  string           // why the state had to start anew; "" if it did not
	open  bool             // more may be done at once: nothing failed or waits
	soon  bool             // pending, and a look a little later may know more
}

// late reports, after the lock was released, whether mail came that the round
// did not see. Whoever brought it may have found the lock taken and gone away.
func (rd *round) late() bool {
	if rd.seen == nil || !rd.open {
		return false
	}
	if rd.store.marked(rd.r.Agent.AID) {
		return true
	}
	in, err := rd.r.Unread()
	if err != nil {
		return false
	}
	for _, id := range in.IDs {
		if !rd.seen[id] {
			return true
		}
	}
	return false
}

// run returns the outcome for the mail that is unread now.
func (rd *round) run(ctx context.Context, force bool) (Outcome, error) {
	agent := rd.r.Agent
	lock, err := rd.take(agent.AID)
	if err != nil {
		return rd.broken("wake lock", err)
	}
	if lock == nil {
		rd.soon = true
		return Outcome{Pending, "somebody else is waking " + agent.Name + " and looks again afterwards"}, nil
	}
	defer lock.Close()
	w, torn, err := rd.store.load(agent.AID)
	if err != nil {
		return rd.broken("wake state", err)
	}
	rd.torn = torn
	if err := rd.unmark(*w); err != nil {
		return rd.broken("wake mark", err)
	}
	in, err := rd.r.Unread()
	if err != nil {
		return rd.broken("inbox", err)
	}
	rd.seen = toMap(in.IDs)
	return rd.judge(ctx, w, in, force)
}

// loud says in the evidence that the state was lost.
func (rd *round) loud(out Outcome) Outcome {
	if rd.torn != "" {
		out.Evidence = line("wake state was torn ("+line(rd.torn, 80)+") and starts anew; "+out.Evidence, evidenceMax)
	}
	return out
}

// take locks; if the lock is taken it leaves a mark and tries once more, so
// that either its holder sees the mark or the lock is ours.
func (rd *round) take(aid string) (vfs.File, error) {
	lock, err := rd.store.lock(aid)
	if lock != nil || err != nil {
		return lock, err
	}
	if err := rd.store.mark(aid); err != nil {
		return nil, err
	}
	return rd.store.lock(aid)
}

// unmark takes the mark away before the inbox is looked into, so that a mark
// made from here on is seen by late. What it asked for goes into the state on
// disk first: a crash between here and the attempt must not lose it.
func (rd *round) unmark(w wake) error {
	aid := rd.r.Agent.AID
	if !rd.store.marked(aid) {
		return nil
	}
	w.Agent, w.PendingSince, w.NextTry = rd.r.Agent.Name, rd.now, rd.now
	if err := rd.store.save(aid, &w); err != nil {
		return err
	}
	return rd.store.unmark(aid)
}

// judge decides and, if a wake is due, makes it.
func (rd *round) judge(ctx context.Context, w *wake, in Waiting, force bool) (Outcome, error) {
	agent := rd.r.Agent
	w.Agent = agent.Name
	if len(in.IDs) == 0 {
		rd.open = true
		if err := rd.store.forget(agent.AID); err != nil {
			return rd.broken("wake state", err)
		}
		return rd.loud(Outcome{NotNeeded, "nothing unread"}), nil
	}
	asleep := rd.asleep(w.LastAttempt)
	if rd.rested(w.LastAttempt) {
		w.restart(rd.now)
	}
	v := w.decide(in, rd.now, asleep, force)
	if !v.fire || ctx.Err() != nil {
		rd.open = v.out.State.Settled()
		rd.soon = v.out.State == Pending && (asleep && w.Tries == 0 || w.NextTry.Sub(rd.now) <= quiet)
		if err := rd.store.save(agent.AID, w); err != nil {
			return rd.broken("wake state", err)
		}
		if v.fire {
			v.out = Outcome{Pending, "no time was left to try; a later pass does"}
		}
		return rd.loud(v.out), nil
	}
	w.begin(v.ids, rd.now)
	if err := rd.store.save(agent.AID, w); err != nil {
		return rd.broken("wake state", err)
	}
	out := rd.fire(ctx, v, in)
	w.settle(out, v, in.IDs, rd.now)
	rd.open = out.State.Settled()
	if err := rd.store.save(agent.AID, w); err != nil {
		// The wake was made; what is on disk says that it failed, so it will be
		// made again, more and more rarely.
		out.Evidence = line(out.Evidence+"; but the wake state cannot be written: "+err.Error(), evidenceMax)
		return out, storeError(agent.Name, err)
	}
	return out, nil
}

// fire makes the attempt and records it.
func (rd *round) fire(ctx context.Context, v verdict, in Waiting) Outcome {
	agent := rd.r.Agent
	p := Pointer{
		Agent: agent.Name, IDs: v.ids[max(0, len(v.ids)-MaxIDs):], Count: len(v.ids), Unread: len(in.IDs),
		Oblige: in.Oblige, Office: rd.Office, OfficeID: rd.OfficeID,
	}
	program := rd.Program
	if program == "" {
		program = "post"
	}
	p.Command = Command(program, agent.Name, rd.Office)
	p.Text = text(p, v.again)
	out := rd.loud(rd.call(ctx, p))
	if rd.Record != nil {
		rd.Record(Attempt{
			At: rd.now, Agent: agent, Kind: agent.Kind(), IDs: p.IDs, Count: p.Count,
			Reminder: v.again, Outcome: out,
		})
	}
	return out
}

// call gives the adapter its time and no more.
func (rd *round) call(ctx context.Context, p Pointer) Outcome {
	agent := rd.r.Agent
	ad, err := rd.Table.Adapter(agent.Kind())
	if err == nil {
		err = p.Check()
	}
	if err != nil {
		return Outcome{Failed, line(err.Error(), evidenceMax)}
	}
	if rd.Session != nil {
		agent.Session = rd.Session(agent)
		agent.Look = func() *presence.Session { return rd.Session(agent) }
	}
	if _, sees := ad.(Watcher); !sees {
		if why := untouchable(agent.Session); why != "" {
			return Outcome{Held, line(ad.Kind()+": "+why, evidenceMax)}
		}
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, rd.budget())
	defer cancel()
	done := make(chan Outcome, 1)
	go func() {
		out, err := ad.Notify(ctx, agent, p)
		done <- Tidy(ad.Kind(), out, err)
	}()
	select {
	case out := <-done:
		return out
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case out := <-done:
		return out
	case <-timer.C:
		return Outcome{Failed, ad.Kind() + ": " + overdue(ctx, start)}
	}
}

// overdue says in words why ctx is over.
func overdue(ctx context.Context, start time.Time) string {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "cancelled"
	}
	end, _ := ctx.Deadline()
	return fmt.Sprintf("took longer than %v", end.Sub(start).Round(100*time.Millisecond))
}

// Tidy makes what an adapter answered an outcome that keeps the rules.
func Tidy(kind string, out Outcome, err error) Outcome {
	if err != nil {
		out.State = Failed
		if out.Evidence == "" {
			out.Evidence = err.Error()
		}
	}
	if !out.State.Known() {
		out.Evidence = fmt.Sprintf("%s answered %q: %s", kind, out.State, out.Evidence)
		out.State = Failed
	}
	out.Evidence = line(out.Evidence, evidenceMax)
	if out.Evidence == "" {
		out.Evidence = kind
	}
	return out
}

// broken reports that the arbiter could not do its work; nobody was woken. The
// mark, if it can be made, has a later pass try again.
func (rd *round) broken(what string, err error) (Outcome, error) {
	err = errors.Join(err, rd.store.mark(rd.r.Agent.AID))
	return Outcome{Failed, line(what+": "+err.Error(), evidenceMax)}, storeError(rd.r.Agent.Name, err)
}
