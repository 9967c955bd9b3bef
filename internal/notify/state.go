package notify

import (
	"slices"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// reminders are the ages of the last new announcement at which mail that is
// still unread is announced again; after them every hour until giveUp. Then it
// stays quiet until new mail comes.
var reminders = [...]time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour}

// retries are the pauses after failed attempts; the last one repeats.
var retries = [...]time.Duration{
	5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour,
}

const (
	giveUp = 24 * time.Hour
	// gap is the shortest time between two announcements of the same mail.
	gap = time.Minute
	// quiet is how long new mail waits after a wake: the agent sees it with what
	// it was woken for, or its hooks show it. So a burst is one wake.
	quiet = 1500 * time.Millisecond
	// patience is how many wakes in a row, none of which made the agent read
	// anything, new mail may cause after quiet. After them new mail waits for gap.
	patience = 3
	// longest is the longest pause above: a next try further off than this
	// means that the wall clock was set back.
	longest = time.Hour
)

// wake is what wake/<aid>.json holds: everything known about waking one agent
// who has unread mail. It does no I/O and has no clock.
type wake struct {
	V            int       `json:"v"`
	Agent        string    `json:"agent"`
	PendingSince time.Time `json:"pending_since,omitzero"` // set while a wake is owed
	LastAttempt  time.Time `json:"last_attempt,omitzero"`
	NextTry      time.Time `json:"next_try,omitzero"`    // zero: not before new mail comes
	Tries        int       `json:"tries,omitempty"`      // attempts in a row that did not get through
	Unanswered   int       `json:"unanswered,omitempty"` // wakes in a row after which nothing was read
	ToldAt       time.Time `json:"told_at,omitzero"`     // the last announcement of new mail
	Told         Outcome   `json:"told,omitzero"`        // the last outcome that settled the mail
	Last         Outcome   `json:"last,omitzero"`        // the last outcome of all
	Announced    idSet     `json:"announced,omitzero"`
	Tried        idSet     `json:"tried,omitzero"` // in attempts since the last success
}

// verdict is what the rules say about an agent's unread mail at one moment.
type verdict struct {
	fire  bool
	again bool      // a reminder: nothing of it is new
	ids   []mail.ID // what to announce, in delivery order
	out   Outcome   // the answer if fire is false
}

// decide applies the rules to the unread ids, which are in delivery order and
// not empty. asleep says that the session gave no sign since the last wake; then
// that wake is still under way and stands for new mail too. force (post
// renotify) fires whatever the back-off says.
func (w *wake) decide(in Waiting, now time.Time, asleep, force bool) verdict {
	unread := in.IDs
	w.steady(now)
	if w.Announced.keep(unread) > 0 {
		w.Unanswered = 0
	}
	w.Tried.keep(unread)
	if len(w.Tried.IDs) == 0 && !w.PendingSince.IsZero() { // what was waited for was read
		w.PendingSince, w.Tries, w.NextTry = time.Time{}, 0, reminder(w.ToldAt, w.LastAttempt)
	}
	fresh := w.absorb(in, now)
	if len(fresh) > 0 {
		w.admit(fresh, asleep, now)
	}
	switch {
	case force:
		return verdict{fire: true, ids: unread}
	case len(fresh) > 0 && !now.Before(w.NextTry):
		return verdict{fire: true, ids: fresh}
	case len(fresh) > 0:
		return verdict{out: Outcome{Pending, w.waiting()}}
	case !w.NextTry.IsZero() && !now.Before(w.NextTry):
		return verdict{fire: true, again: true, ids: unread}
	}
	return verdict{out: Outcome{w.Told.State, line("since "+clock(w.ToldAt)+": "+w.Told.Evidence, evidenceMax)}}
}

// absorb takes note of what the agent's own session was shown by its hooks:
// nobody needs to be woken for that, and it is reminded of like mail that was
// announced. It returns what was neither shown nor announced.
func (w *wake) absorb(in Waiting, now time.Time) (fresh []mail.ID) {
	by := w.Announced.missing(in.Surfaced)
	if len(by) == 0 {
		return w.Announced.missing(in.IDs)
	}
	fresh = except(w.Announced.missing(in.IDs), by)
	w.Announced.add(by)
	w.Told, w.ToldAt = Outcome{Notified, "its own session was shown it"}, now
	if len(fresh) == 0 {
		w.PendingSince, w.Tries, w.Tried = time.Time{}, 0, idSet{}
		w.NextTry = reminder(w.ToldAt, now)
	}
	return fresh
}

func except(ids, without []mail.ID) []mail.ID {
	drop := toMap(without)
	return slices.DeleteFunc(ids, func(id mail.ID) bool { return drop[id] })
}

// admit sets the next try for mail that was not announced yet.
func (w *wake) admit(fresh []mail.ID, asleep bool, now time.Time) {
	due := now
	switch {
	case w.Tries > 0 && len(w.Tried.missing(fresh)) > 0:
		// New mail starts the ladder of retries again, from the last attempt.
		due, w.Tries = w.LastAttempt.Add(retries[0]), 1
		w.Tried.add(fresh)
	case w.Tries > 0:
		return
	case w.Unanswered >= patience, w.Unanswered > 0 && asleep:
		due = w.LastAttempt.Add(gap)
	case w.Unanswered > 0:
		due = w.LastAttempt.Add(quiet)
	}
	if w.PendingSince.IsZero() {
		w.PendingSince = now
	}
	if w.NextTry.IsZero() || due.Before(w.NextTry) {
		w.NextTry = due
	}
}

// restart ends the back-off of attempts that did not get through.
func (w *wake) restart(now time.Time) {
	if w.Tries > 0 {
		w.Tries, w.NextTry = 0, now
	}
}

// begin records an attempt as if it had failed, so that a crash in the middle
// of it is a failure.
func (w *wake) begin(ids []mail.ID, now time.Time) {
	if w.PendingSince.IsZero() {
		w.PendingSince = now
	}
	w.LastAttempt = now
	w.NextTry = now.Add(retries[min(w.Tries, len(retries)-1)])
	w.Tries++
	w.Tried.add(ids)
	w.Last = Outcome{Pending, "began at " + clock(now) + " and did not end"}
}

// settle records how the attempt ended.
func (w *wake) settle(out Outcome, v verdict, unread []mail.ID, now time.Time) {
	w.Last = out
	if !out.State.Settled() {
		return
	}
	w.Told = out
	w.PendingSince, w.Tries, w.Tried = time.Time{}, 0, idSet{}
	w.Announced = idSet{}
	w.Announced.add(unread)
	if out.State == Notified {
		w.Unanswered++
	}
	if !v.again {
		w.ToldAt = now
	}
	w.NextTry = reminder(w.ToldAt, now)
}

// reminder returns when mail that was told at told, and is told again at now,
// is to be told the next time; zero if never.
func reminder(told, now time.Time) time.Time {
	for _, age := range reminders {
		if at := told.Add(age); !at.Before(now.Add(gap)) {
			return at
		}
	}
	hours := now.Add(gap).Sub(told).Truncate(time.Hour) + time.Hour
	if hours > giveUp {
		return time.Time{}
	}
	return told.Add(hours)
}

// steady undoes what a wall clock that was set back would do to the ladders.
func (w *wake) steady(now time.Time) {
	if w.NextTry.Sub(now) > longest {
		w.NextTry = now
	}
	if w.ToldAt.After(now) {
		w.ToldAt = now
	}
	if w.LastAttempt.After(now) {
		w.LastAttempt = now
	}
}

func (w *wake) waiting() string {
	s := "next try at " + clock(w.NextTry)
	if w.Last.Evidence != "" {
		s += "; last: " + w.Last.Evidence
	}
	return line(s, evidenceMax)
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

// idSet is a set of unread ids in delivery order, bounded to the newest MaxIDs.
// Cut says that older ones were dropped; then whatever stands before the
// oldest one kept counts as a member.
type idSet struct {
	IDs []mail.ID `json:"ids,omitempty"`
	Cut bool      `json:"cut,omitempty"`
}

// IsZero lets an empty set be left out of the file.
func (s idSet) IsZero() bool { return len(s.IDs) == 0 && !s.Cut }

// add puts ids behind those in the set.
func (s *idSet) add(ids []mail.ID) {
	in := toMap(s.IDs)
	for _, id := range ids {
		if !in[id] {
			s.IDs = append(s.IDs, id)
		}
	}
	if over := len(s.IDs) - MaxIDs; over > 0 {
		s.IDs, s.Cut = append([]mail.ID(nil), s.IDs[over:]...), true
	}
}

// keep drops what is not in unread any more and returns how many that were.
func (s *idSet) keep(unread []mail.ID) int {
	in := toMap(unread)
	var kept []mail.ID
	for _, id := range s.IDs {
		if in[id] {
			kept = append(kept, id)
		}
	}
	gone := len(s.IDs) - len(kept)
	s.IDs = kept
	if len(kept) == 0 {
		s.Cut = false
	}
	return gone
}

// missing returns what of ids, in delivery order, is not in the set.
func (s *idSet) missing(ids []mail.ID) []mail.ID {
	in := toMap(s.IDs)
	var out []mail.ID
	before := s.Cut
	for _, id := range ids {
		switch {
		case in[id]:
			before = false
		case !before:
			out = append(out, id)
		}
	}
	return out
}

func toMap(ids []mail.ID) map[mail.ID]bool {
	m := make(map[mail.ID]bool, len(ids))
	for _, id := range ids {
		m[id] = true
	}
	return m
}
