package reach

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/vfs"
)

// least is how much time there has to be for an attempt to begin: one that is cut
// off is in doubt, and a later pass has more.
const least = 500 * time.Millisecond

// defaultBudget bounds one attempt where the caller says nothing.
const defaultBudget = 2 * time.Second

// rounds bounds how often one call looks again because others came meanwhile.
const rounds = 4

// Reacher reaches the person of one office.
type Reacher struct {
	FS       vfs.FS
	Office   string // its absolute path
	OfficeID string
	Person   config.Person
	Table    notify.Table
	Program  string // what a person types for post
	Budget   time.Duration
	Now      func() time.Time
	// Record gets what each adapter said, for the journal; it may be nil.
	Record func(notify.Attempt)
}

// Wanted reports whether the person is told by anything at all.
func (r *Reacher) Wanted() bool { return len(r.Person.Notify) > 0 }

// Run tells the person what is due now. Safe to call at any time and from several
// processes at once; whoever comes second leaves it to the first. What the
// adapters could not do is no error: it is on record, is tried again, and is shown
// by Statuses. Errors: KindStore.
func (r *Reacher) Run(ctx context.Context) error {
	if !r.Wanted() {
		return nil
	}
	if due, err := r.anything(); err != nil || !due {
		return err
	}
	if r.budget(ctx) < least {
		return nil
	}
	for range rounds {
		held, err := lock(r.FS)
		if err != nil {
			return err
		}
		if held == nil {
			return mark(r.FS)
		}
		unmark(r.FS)
		err = r.round(ctx)
		held.Close()
		if err != nil || !marked(r.FS) || r.budget(ctx) < least {
			return err
		}
	}
	return nil
}

// anything reports whether a round would tell of something, without a lock: what
// somebody else is at is on record, and not due.
func (r *Reacher) anything() (bool, error) {
	if none, err := approval.None(r.FS); err != nil || none {
		return false, err
	}
	now := r.Now().UTC()
	if r.hush(now) {
		return false, nil
	}
	b, err := load(r.FS)
	if mail.KindOf(err) == mail.KindCorrupt {
		return true, nil // a round puts it aside
	}
	if err != nil {
		return false, err
	}
	open, err := approval.Open(r.FS)
	return err == nil && (b.prune(open, now) || len(b.due(open, r.Person.Reminder(), now)) > 0), err
}

// hush reports whether it is quiet now. Hours that cannot be read keep nobody
// from being told; that is shown.
func (r *Reacher) hush(now time.Time) bool {
	quiet, err := ParseQuiet(r.Person.Quiet)
	if err != nil {
		return false
	}
	_, is := quiet.Until(now)
	return is
}

func (r *Reacher) round(ctx context.Context) error {
	now := r.Now().UTC()
	b, err := loadOrPutAside(r.FS)
	if err != nil {
		return err
	}
	open, err := approval.Open(r.FS)
	if err != nil {
		return err
	}
	changed := b.prune(open, now)
	list := b.due(open, r.Person.Reminder(), now)
	if len(list) == 0 || r.hush(now) {
		if changed {
			return b.save(r.FS)
		}
		return nil
	}
	b.begin(list, now)
	if err := b.save(r.FS); err != nil {
		return err
	}
	still, err := r.undecided(list)
	if err != nil {
		b.end(list, notify.Outcome{State: notify.Failed, Evidence: mail.Neutralise(err.Error(), false)}, now)
		return errors.Join(err, b.save(r.FS))
	}
	if len(still) == 0 {
		return nil
	}
	list = still
	out := r.tell(ctx, r.pointer(list, open))
	b.end(list, out, r.Now().UTC())
	return b.save(r.FS)
}

// undecided drops what was decided a moment ago.
func (r *Reacher) undecided(list []due) ([]due, error) {
	open, err := approval.Open(r.FS)
	if err != nil {
		return nil, err
	}
	is := map[string]bool{}
	for _, a := range open {
		is[a.ID] = true
	}
	var out []due
	for _, d := range list {
		if is[d.approval.ID] {
			out = append(out, d)
		}
	}
	return out, nil
}

// Said is what one adapter said.
type Said struct {
	Notify  []string
	Outcome notify.Outcome
	Err     error
}

// tell has every adapter tell the person, side by side. The person is told if one
// of them did; what the others say stays in the evidence.
func (r *Reacher) tell(ctx context.Context, p notify.Pointer) notify.Outcome {
	said := r.ask(ctx, p)
	out := notify.Outcome{State: notify.Failed}
	var words []string
	for _, s := range said {
		words = append(words, evidence(s))
		switch {
		case s.Outcome.State == notify.Notified:
			out.State = notify.Notified
		case s.Outcome.State == notify.Held && out.State == notify.Failed:
			out.State = notify.Held
		}
		if r.Record != nil {
			r.Record(notify.Attempt{At: r.Now().UTC(), Agent: notify.Agent{Name: mail.NameHuman, AID: mail.NameHuman, Notify: s.Notify[:1]},
				Kind: s.Notify[0], IDs: p.IDs, Count: p.Count, Outcome: s.Outcome})
		}
	}
	out.Evidence = strings.Join(words, "; ")
	return out
}

// evidence is what an adapter said, behind its kind.
func evidence(s Said) string {
	text := strings.TrimPrefix(s.Outcome.Evidence, s.Notify[0]+": ")
	if s.Outcome.State != notify.Notified {
		text = string(s.Outcome.State) + ": " + text
	}
	return s.Notify[0] + ": " + text
}

// budget is how long an attempt may take.
func (r *Reacher) budget(ctx context.Context) time.Duration {
	budget := r.Budget
	if budget <= 0 {
		budget = defaultBudget
	}
	if end, ok := ctx.Deadline(); ok {
		budget = min(budget, time.Until(end))
	}
	return budget
}

// ask calls every adapter, each within the budget.
func (r *Reacher) ask(ctx context.Context, p notify.Pointer) []Said {
	// One that has begun is not given up because the caller is ended; but it has no
	// more time than the caller.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.budget(ctx))
	defer cancel()
	said := make([]Said, len(r.Person.Notify))
	var wg sync.WaitGroup
	for i, words := range r.Person.Notify {
		wg.Go(func() {
			s := Said{Notify: words}
			agent := notify.Agent{Name: mail.NameHuman, AID: mail.NameHuman, Notify: words}
			var ad notify.Adapter
			if ad, s.Err = r.Table.Adapter(words[0]); s.Err == nil {
				s.Outcome, s.Err = ad.Notify(ctx, agent, p)
			}
			s.Outcome = notify.Tidy(words[0], s.Outcome, s.Err)
			if s.Outcome.State == notify.NotNeeded || s.Outcome.State == notify.Pending {
				s.Outcome.State = notify.Failed // no adapter of a person's may leave it at that
			}
			said[i] = s
		})
	}
	wg.Wait()
	return said
}

// Test has every adapter send a notice that is one of a test, and tells what came
// of it. Nothing is recorded, and quiet hours do not count: somebody asked for it.
func (r *Reacher) Test(ctx context.Context) ([]Said, error) {
	if !r.Wanted() {
		return nil, &mail.Error{Op: "test", Kind: mail.KindNotFound, Addr: config.OfficeFile, Err: errors.New("nothing is set that tells the person"),
			Hint: `set it: post person set --notify desktop`}
	}
	return r.ask(ctx, r.testPointer()), nil
}
