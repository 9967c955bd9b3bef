package router

import (
	"errors"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/spool"
)

// failRaw moves a hand-written file to .failed, loudly: the journal and the
// author are told. false: it could not be.
func (p *pass) failRaw(a office.Author, d spool.Draft, cause error) bool {
	why := spool.Why{At: p.now, Reason: cause.Error()}
	var e *mail.Error
	if errors.As(cause, &e) {
		why.Hint = e.Hint
	}
	cid := rawCause(d, p.now)
	if err := p.notice(notice{
		to: a.Agent, cause: cid, key: []string{"failed", d.Name, string(d.Digest)}, subject: "Not sent: " + d.Name,
		body: "Your file " + d.Name + " in the outbox was not sent: " + cause.Error() + "\n\nIt is kept in outbox/.failed/ with the reason beside it. Mend it and drop it in the outbox again.",
	}); err != nil {
		p.problem("tell", a.Name, err)
		return false // told first, moved then: the file stays and is tried again
	}
	return p.setAside(a, d, why, cause)
}

// setAside moves a file to .failed and says so in the journal.
func (p *pass) setAside(a office.Author, d spool.Draft, why spool.Why, cause error) bool {
	name, err := a.Box.Fail(d, why)
	if err != nil {
		p.problem("set aside", a.Name, err)
		return false
	}
	detail := map[string]string{"reason": mail.Neutralise(cause.Error(), false)}
	if a.Far() {
		detail["kind"] = string(mail.KindOf(cause)) // the link tells the author's station
	}
	err = p.append(journal.Record{At: p.now, Event: journal.Bounced, From: a.Name, AID: a.AID, File: name, Digest: d.Digest, Detail: detail})
	if err != nil {
		p.problem("journal", a.Name, err) // it is in .failed and the author told: nothing is lost
	}
	p.rep.Results = append(p.rep.Results, Result{Author: a.Tag(), Name: d.Name, Fates: []Fate{{State: Bounced, Err: cause}}})
	p.steps++
	return true
}

// failFar sets aside what lies in a far agent's outbox and is no message that
// the link put there: nobody else writes there, and what is written by hand is
// nobody's. A message whose id another one has got is a message all the same, and
// its author is told; it gets no other id, under which the far office could not
// know it (docs/adr/0035).
func (p *pass) failFar(a office.Author, d spool.Draft) {
	m, err := mail.Parse(d.Data)
	if d.Err == nil && err == nil && m.Envelope != nil && d.Name == spool.FileName(m.ID) && m.Office == p.o.Config.ID && p.writtenBy(m.From, a) {
		cause := &mail.Error{Op: "take far mail", Kind: mail.KindConflict, ID: m.ID,
			Err: errors.New("another message has this id here"), Hint: "send it again, under another id"}
		if err := p.notice(notice{to: a.Agent, cause: m.ID, key: []string{"conflict", string(d.Digest)}, subject: "Not delivered: " + m.Subject,
			body: "Your message " + string(m.ID) + " was not delivered: another message has this id here.\n\nWhat to do: send it again; it gets another id."}); err != nil {
			p.problem("tell", a.Name, err)
			return
		}
		p.setAside(a, d, spool.Why{At: p.now, Reason: cause.Err.Error(), Hint: cause.Hint}, cause)
		return
	}
	if p.stillBeingWritten(d) {
		p.rep.Waiting++
		p.skipFile(a, d.Path())
		return
	}
	cause := &mail.Error{Op: "take far mail", Kind: mail.KindInvalid, Addr: d.Name,
		Err: errors.New("is no message that the link put into the outbox of " + a.Name), Hint: "write from an agent of this office"}
	p.setAside(a, d, spool.Why{At: p.now, Reason: cause.Err.Error(), Hint: cause.Hint}, cause)
}

// rawCause is an id to derive a notice's id from when the file has none: its
// last change and content, so that a repeat gives the same.
func rawCause(d spool.Draft, now time.Time) mail.ID {
	at := now
	if d.Info != nil {
		at = d.Info.ModTime()
	}
	if at.Sub(now) > driftLimit {
		at = time.Unix(0, 0) // its owner set it; the notice may not lie in the far future
	}
	var c mail.Clock
	return c.Next(at, string(d.Digest)+d.Name)
}
