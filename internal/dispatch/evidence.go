package dispatch

import (
	"errors"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/spool"
)

// flushTries and flushPause are how long Flush tries for the lease; a pass
// mostly takes less.
const (
	flushTries = 50
	flushPause = 2 * time.Millisecond
)

func (d *Dispatcher) record(a notify.Attempt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.attempts = append(d.attempts, a)
}

// Flush journals the evidence of every attempt, under a lease of its own, and
// with it what others left. If somebody else is routing, it tries for a moment
// and then leaves the evidence in wake/, for the next pass over all mailboxes;
// that is KindBusy. The wake itself is never undone by a journal that has to
// wait.
func (d *Dispatcher) Flush() error {
	d.mu.Lock()
	attempts, left := d.attempts, d.left
	d.attempts, d.left = nil, false
	d.mu.Unlock()
	if len(attempts) == 0 && !left {
		return nil
	}
	var err error
	for range flushTries {
		if err = d.journal(attempts); mail.KindOf(err) != mail.KindBusy {
			return err
		}
		time.Sleep(flushPause)
	}
	return errors.Join(err, notify.Leave(d.Office.FS, d.Office.Sys.PID, attempts))
}

func (d *Dispatcher) journal(attempts []notify.Attempt) error {
	s := d.Office.Sys
	lease, err := spool.AcquireLease(d.Office.FS, spool.Holder{PID: s.PID, Host: s.Host, Since: s.Now().UTC(), Version: s.Version})
	if err != nil {
		return err
	}
	defer lease.Release()
	left, forget, err := notify.TakeLeft(d.Office.FS)
	if err != nil {
		return err
	}
	j, err := journal.Open(d.Office.FS, s.Now())
	if err != nil {
		return err
	}
	defer j.Close()
	var rs []journal.Record
	for _, a := range append(left, attempts...) {
		rs = append(rs, attemptRecords(a, s.Now())...)
	}
	if len(rs) == 0 {
		return nil
	}
	if err := j.Append(rs...); err != nil {
		return err
	}
	return forget()
}

// attemptRecords is one record per message of which the attempt told.
func attemptRecords(a notify.Attempt, now time.Time) []journal.Record {
	var rs []journal.Record
	aid := a.Agent.AID
	if a.Agent.Name == mail.NameHuman {
		aid = "" // as everywhere in the journal
	}
	for _, id := range a.IDs {
		rs = append(rs, journal.Record{At: now, Event: journal.Notified, ID: id, Agent: a.Agent.Name, AID: aid,
			Detail: map[string]string{"adapter": a.Agent.Kind(), "state": string(a.Outcome.State), "evidence": a.Outcome.Evidence}})
	}
	return rs
}
