package audit

import (
	"context"
	"log/slog"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// Committer commits now and then, beside the router.
type Committer struct {
	a   *Audit
	log *slog.Logger
	// Every is the shortest time between two commits, and how long changes wait
	// for company (0: 30 s). Check is how often it looks for changes (0: 2 s).
	Every, Check time.Duration
}

// NewCommitter returns the committer of an office.
func NewCommitter(a *Audit, log *slog.Logger) *Committer { return &Committer{a: a, log: log} }

// Name implements serve.Side.
func (*Committer) Name() string { return "audit" }

// State implements serve.Side.
func (c *Committer) State() any {
	s, err := c.a.Status()
	if err != nil {
		return map[string]string{"error": mail.Neutralise(err.Error(), false)}
	}
	return s
}

// enough is how many journal records wait before they wait no longer.
const enough = 1000

// share bounds the audit to a part of one processor: a commit that took a second
// is followed by twenty without.
const share = 20

// maxPause is the longest time between two tries.
const maxPause = 15 * time.Minute

// Run implements serve.Side.
func (c *Committer) Run(ctx context.Context) {
	every, check := c.Every, c.Check
	if every <= 0 {
		every = 30 * time.Second
	}
	if check <= 0 {
		check = 2 * time.Second
	}
	p := plan{every: every}
	for ; ctx.Err() == nil; pause(ctx, check) {
		s := c.a.load()
		if !p.due(time.Now(), s.Seen != c.a.fingerprint(), c.behind(s)) {
			continue
		}
		began := time.Now()
		done, made, err := c.a.Commit(ctx, Options{})
		if ctx.Err() != nil {
			return
		}
		p.tried(time.Now(), time.Since(began), err)
		c.say(done, made, err, p.failures)
	}
}

func (c *Committer) behind(s State) func() uint64 {
	return func() uint64 {
		st, err := c.a.Status()
		if err != nil {
			return 0
		}
		return st.Behind
	}
}

func (c *Committer) say(done Commit, made bool, err error, failures int) {
	switch {
	case mail.KindOf(err) == mail.KindBusy:
	case err != nil && (failures == 1 || failures%10 == 0):
		c.log.Error("the audit failed; mail is not affected", "kind", string(mail.KindOf(err)), "error", err.Error(), "failures", failures)
	case made:
		c.log.Info("audited", "commit", done.ID, "changed", done.Changed, "removed", done.Removed, "took_ms", done.TookMS, "journal", done.Head.N)
	}
}

// plan says when a commit is due.
type plan struct {
	every    time.Duration
	dirty    time.Time // since when there is something to commit
	next     time.Time // not before
	failures int
	begun    bool
}

// due: changes wait for company, unless it is enough already; the first look
// after the start does not wait.
func (p *plan) due(now time.Time, changed bool, behind func() uint64) bool {
	if !changed {
		p.dirty = time.Time{}
		return false
	}
	if p.dirty.IsZero() {
		p.dirty = now
	}
	if now.Before(p.next) {
		return false
	}
	return !p.begun || now.Sub(p.dirty) >= p.every || behind() >= enough
}

func (p *plan) tried(now time.Time, took time.Duration, err error) {
	if mail.KindOf(err) == mail.KindBusy {
		return
	}
	p.begun, p.dirty = true, time.Time{}
	wait := max(p.every, share*took)
	p.failures++
	if err == nil {
		p.failures = 0
	}
	for range min(p.failures, 6) {
		wait *= 2
	}
	p.next = now.Add(min(wait, max(maxPause, p.every)))
}
