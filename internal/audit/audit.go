// Package audit keeps an office's history in git (design §14): a repository of
// the office's own, <office>/audit.git, which no other tool takes for one of a
// project's.
//
// Invariants. Mail never waits for it and never fails because of it. One
// process commits at a time, under a lock of its own, not under the router's
// lease. Git gets contents through a pipe and never sees the office's
// directory: it can change nothing there and read nothing beside it. What is
// committed are the files named in roots, opened without following symlinks.
// The user's git runs without the user's configuration, hooks, signing or
// prompts, and is killed when it makes no progress. Whatever goes wrong is kept
// in audit.json until it goes well.
//
// Each commit says up to where the journal's chain was durable before the
// commit was begun; the journal in it holds that record. So a commit kept
// elsewhere proves the chain (journal.Verify).
package audit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// The names in the office (docs/spool-format.md §1).
const (
	GitDir    = "audit.git"
	LockFile  = "audit.lock"
	StateFile = "audit.json"
	// Branch is where the commits are.
	Branch = "audit"
	ref    = "refs/heads/" + Branch
)

// Audit is the audit of one office.
type Audit struct {
	FS       vfs.FS
	Dir      string // of the office, absolute
	OfficeID string
	Version  string // of the tool
	Now      func() time.Time
	// Boot says how long ago the machine was started; nil or !ok: unknown.
	Boot func() (id string, since time.Duration, ok bool)
	// Path is where git is looked for: directories as in $PATH.
	Path string
	// Stall is how long git may make no progress (0: one minute).
	Stall time.Duration
	// Patience is how long Commit waits for another committer (0: not at all).
	Patience time.Duration
	// StaleAfter is how old a lock must be to be taken for a dead git's
	// (0: ten minutes).
	StaleAfter time.Duration
}

// Commit is one commit, or the last of several that one call made.
type Commit struct {
	ID      string       `json:"id"`
	At      time.Time    `json:"at"`
	Head    journal.Head `json:"journal_head"`
	Changed int          `json:"changed"` // files
	Removed int          `json:"removed"`
	Skipped int          `json:"skipped,omitempty"` // names that no office gives
	TookMS  int64        `json:"took_ms"`
}

// Options say how thorough a commit is.
type Options struct {
	// Full compares the content of every file with the last commit. Otherwise
	// what neither changed its size nor its time, and messages of months whose
	// directory did not change, are taken as they were.
	Full bool
}

func (a *Audit) gitDir() string { return filepath.Join(a.Dir, GitDir) }

func (a *Audit) stall() time.Duration {
	if a.Stall > 0 {
		return a.Stall
	}
	return time.Minute
}

// Commit commits what changed since the last commit, and nothing (made is
// false) if nothing did. Errors: KindBusy (another committer is at it),
// KindNotFound (there is no git), KindTimeout (git makes no progress),
// KindStore; all but KindBusy are kept in audit.json too.
func (a *Audit) Commit(ctx context.Context, opt Options) (c Commit, made bool, err error) {
	lock, err := a.lock(ctx)
	if err != nil {
		return Commit{}, false, err
	}
	defer lock.Close()
	s := a.load()
	began := a.Now().UTC()
	s.Try = began
	c, made, err = a.commit(ctx, &s, opt, began)
	switch {
	case err != nil && ctx.Err() != nil: // we were told to stop; that is no trouble of git's
		return c, false, err
	case err != nil:
		s.Failures++
		s.Error = &Trouble{At: a.Now().UTC(), Kind: mail.KindOf(err), Text: mail.Neutralise(err.Error(), false)}
	default:
		s.Failures, s.Error, s.Since, s.Seen = 0, nil, began, s.pending
		if made {
			s.Last = &c
		}
		a.upkeep(ctx, &s)
	}
	return c, made, errors.Join(err, a.save(s))
}

func (a *Audit) commit(ctx context.Context, s *State, opt Options, began time.Time) (Commit, bool, error) {
	g, err := a.git()
	if err != nil {
		return Commit{}, false, err
	}
	if err := g.prepare(ctx); err != nil {
		return Commit{}, false, err
	}
	s.Locks = a.clearLocks()
	s.pending = a.fingerprint()
	head, err := journal.Durable(a.FS) // before anything is read, so that the commit holds it
	if err != nil {
		return Commit{}, false, err
	}
	since := s.Since
	if opt.Full || began.Before(since) { // the clock was set back: times say nothing
		since = time.Time{}
	}
	tip, err := g.tip(ctx)
	if err != nil {
		return Commit{}, false, err
	}
	w := &writer{a: a, g: g, parent: ctx, head: head, at: began, tip: tip}
	sc := &scan{a: a, g: g, tip: tip, since: since, full: opt.Full, put: w.put, drop: w.drop}
	err = sc.all(ctx)
	if gone := w.wrong(); gone != nil {
		err = gone // git ended first: that is the cause
	}
	if err != nil {
		w.abort()
		return Commit{}, false, err
	}
	if s.Last == nil || head.N > s.Last.Head.N { // the content is committed, but no commit names the head
		err = w.ensure()
	}
	if err != nil {
		return Commit{}, false, err
	}
	made, err := w.finish()
	if err != nil || !made {
		return Commit{}, false, err
	}
	tip, err = g.tip(ctx)
	took := a.Now().Sub(began)
	return Commit{ID: tip, At: began, Head: head, Changed: w.changed, Removed: w.removed, Skipped: sc.skipped, TookMS: took.Milliseconds()}, true, err
}

// lock makes this process the committer.
func (a *Audit) lock(ctx context.Context) (vfs.File, error) {
	f, err := a.FS.OpenFile(LockFile, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, storeError(LockFile, err)
	}
	const poll = 20 * time.Millisecond
	for waited := time.Duration(0); ; waited += poll {
		ok, err := f.TryLock()
		if ok {
			return f, nil
		}
		if err == nil && waited < a.Patience && pause(ctx, poll) == nil {
			continue
		}
		f.Close()
		if err != nil {
			return nil, storeError(LockFile, err)
		}
		return nil, &mail.Error{Op: "audit", Kind: mail.KindBusy, Addr: a.Dir, Err: errors.New("another process is committing"), Hint: "try again later"}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func storeError(addr string, err error) error {
	return &mail.Error{Op: "audit", Kind: mail.KindStore, Addr: addr, Err: err, Hint: `see "post audit status"; mail is not affected`}
}
