package router

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/transcript"
)

// record makes everything durable that has to be before the transcripts are
// touched: office copies, index lines, ledger, notices and, in one append, the
// journal.
func (p *pass) record(jobs []*job) error {
	must, err := p.copies(jobs)
	if err != nil {
		return err
	}
	p.indexes(jobs)
	p.archive(jobs)
	records, debts, err := p.journalRound(jobs)
	if err != nil {
		return err
	}
	owed, err := p.owe(debts)
	if err != nil {
		return err
	}
	if len(records) > 0 {
		if err := p.append(records...); err != nil {
			return err
		}
		must = append(must, p.batch.Do(p.journal.Sync))
	}
	p.batch.Flush()
	p.unlisted(jobs)
	for _, t := range append(must, owed...) {
		if t.Err != nil {
			return t.Err
		}
	}
	return nil
}

// journalRound says what a round did: in the journal, in the ledger, and in
// notices, which it puts into the office's outbox.
func (p *pass) journalRound(jobs []*job) (records []journal.Record, debts []policy.DebtEvent, err error) {
	chained := map[string]transcript.Intent{}
	for _, j := range jobs {
		if err := p.sayAdopted(j); err != nil {
			return nil, nil, err
		}
		if err := p.notices(j); err != nil {
			return nil, nil, err
		}
		p.journalJob(j)
		if err := p.prepareSections(j, chained); err != nil {
			return nil, nil, err
		}
		records = append(records, j.records...)
		debts = append(debts, j.debts(p.now)...)
	}
	return records, debts, nil
}

// copies makes the office's own copy of every message (design §3).
func (p *pass) copies(jobs []*job) (must []*spool.Ticket, err error) {
	for _, j := range jobs {
		month := office.MessagesDir + "/" + j.msg.ID.Month()
		if j.copied {
			must = append(must, p.batch.Dir(p.o.FS, month)) // whoever copied it may not have synced that
			continue
		}
		if err := p.copy(month, j); err != nil {
			return nil, err
		}
		must = append(must, p.batch.Dir(p.o.FS, month))
	}
	return must, nil
}

// copy makes one copy, and the first one of its month the directory.
func (p *pass) copy(month string, j *job) error {
	err := spool.CopyTo(p.o.FS, month, spool.FileName(j.msg.ID), j.source())
	if errors.Is(err, fs.ErrNotExist) {
		if err := p.o.FS.Mkdir(month, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := p.o.FS.SyncDir(office.MessagesDir); err != nil {
			return err
		}
		err = spool.CopyTo(p.o.FS, month, spool.FileName(j.msg.ID), j.source())
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// journalJob writes down what was done for a message in this round.
func (p *pass) journalJob(j *job) {
	base := journal.Record{At: p.now, ID: j.msg.ID, From: j.msg.From, Act: string(j.msg.Act), Conversation: j.msg.Conversation, Digest: j.draft.Digest}
	waiting := ""
	for _, d := range j.deliveries {
		if d.err != nil {
			waiting = d.To.Name
		}
		if d.err != nil || d.unlisted != nil || j.past != nil && j.past.delivered[d.To.AID] {
			continue
		}
		r := base
		r.Event, r.Agent, r.AID, r.Seq, r.As = journal.Delivered, d.To.Name, d.To.AID, d.line.Seq, string(d.As)
		r.Detail = turnDetail(d.line)
		j.records = append(j.records, r)
	}
	for _, k := range j.asks {
		if k.err == nil {
			r := base
			r.Event, r.Agent, r.Detail = journal.Escalated, office.Human, map[string]string{"approval": k.id, "kind": string(k.Kind), "why": k.Why}
			j.records = append(j.records, r)
		}
	}
	for _, b := range j.bounces {
		if j.past == nil || !j.past.bounced[b.Recipient] {
			r := base
			r.Event, r.Agent, r.Detail = journal.Bounced, b.Recipient, map[string]string{"kind": string(b.Kind), "reason": b.Reason}
			j.records = append(j.records, r)
		}
	}
	if waiting != "" && j.deferred && (j.past == nil || j.past.deferred.IsZero()) {
		r := base
		r.Event, r.Agent = journal.Deferred, waiting
		j.records = append(j.records, r)
	}
}

// turnDetail keeps what the fuse needs, so that an index can be rebuilt.
func turnDetail(l mail.IndexLine) map[string]string {
	if l.Turns == 0 && l.Chain == 0 {
		return nil
	}
	return map[string]string{"turns": strconv.Itoa(l.Turns), "chain": strconv.Itoa(l.Chain), "since": l.Since.UTC().Format(time.RFC3339Nano)}
}

// notices writes what the rules say to whom about this message. Their ids
// derive from it, so writing them again is harmless.
func (p *pass) notices(j *job) error {
	for _, a := range j.actions {
		t, ok := a.(policy.Tell)
		if !ok {
			continue
		}
		if err := p.notice(notice{to: t.To, cause: j.msg.ID, key: []string{"tell", t.Cause}, reply: j.msg.ID, conv: j.msg.Conversation,
			subject: "About: " + j.msg.Subject, body: t.Text}); err != nil {
			return err
		}
	}
	for _, b := range j.bounces {
		if j.author.Name == office.Postroom && j.author.AID == "" {
			continue // what the office wrote never bounces
		}
		if err := p.notice(notice{to: j.author.Agent, cause: j.msg.ID, key: []string{"bounce", b.Recipient}, reply: j.msg.ID,
			conv: j.msg.Conversation, subject: "Not delivered: " + j.msg.Subject, body: bounceText(j.msg, b)}); err != nil {
			return err
		}
	}
	return nil
}

func bounceText(m *mail.Message, b policy.Bounce) string {
	to := b.Recipient
	if to == "" {
		to = m.To
	}
	var s strings.Builder
	s.WriteString("Your message " + string(m.ID) + " to " + mail.Neutralise(to, false) + " was not delivered: " + b.Reason + ".")
	switch {
	case len(b.Suggest) > 0:
		s.WriteString(" Did you mean " + strings.Join(b.Suggest, " or ") + "?")
	case b.Hint != "":
		s.WriteString("\n\nWhat to do: " + b.Hint + ".")
	}
	return s.String()
}
