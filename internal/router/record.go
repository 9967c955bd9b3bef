package router

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/debt"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/transcript"
)

// section is one transcript section that is about to be written.
type section struct {
	intent transcript.Intent
	text   []byte
}

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
	chained := map[string]transcript.Intent{}
	var records []journal.Record
	var debts []policy.DebtEvent
	for _, j := range jobs {
		if err := p.sayAdopted(j); err != nil {
			return err
		}
		if err := p.notices(j); err != nil {
			return err
		}
		p.journalJob(j)
		if err := p.prepareSections(j, chained); err != nil {
			return err
		}
		records = append(records, j.records...)
		debts = append(debts, j.debts(p.now)...)
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

// unlisted puts off what has no durable index line: it is in the inbox, and
// everybody was told so; the next pass tries the line again. The mailbox's
// trouble is nobody else's.
func (p *pass) unlisted(jobs []*job) {
	for _, j := range jobs {
		for _, d := range j.deliveries {
			if d.listed != nil && d.listed.Err != nil {
				p.problem("sync index", "mailbox of "+d.To.Name, d.listed.Err)
				j.deferred = true
			}
		}
	}
}

// copies makes the office's own copy of every message (design §3).
func (p *pass) copies(jobs []*job) (must []*spool.Ticket, err error) {
	for _, j := range jobs {
		if j.copied {
			continue
		}
		month := office.MessagesDir + "/" + j.msg.ID.Month()
		if err := p.o.FS.Mkdir(month, 0o700); err == nil {
			if err := p.o.FS.SyncDir(office.MessagesDir); err != nil {
				return nil, err
			}
		} else if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if err := spool.CopyTo(p.o.FS, month, spool.FileName(j.msg.ID), j.source()); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		must = append(must, p.batch.Dir(p.o.FS, month))
	}
	return must, nil
}

// indexes appends one line per delivery to each recipient's index.
func (p *pass) indexes(jobs []*job) {
	byBox := map[string][]*delivery{}
	var order []string
	for _, j := range jobs {
		for _, d := range j.deliveries {
			if d.err != nil || j.past != nil && j.past.delivered[d.To.AID] {
				continue
			}
			d.line = j.indexLine(d)
			if _, ok := byBox[d.To.AID]; !ok {
				order = append(order, d.To.AID)
			}
			byBox[d.To.AID] = append(byBox[d.To.AID], d)
		}
	}
	for _, aid := range order {
		if err := p.indexBox(byBox[aid]); err != nil {
			// It is in the inbox, and everybody was told so: what is missing is
			// the line, which the next pass tries again.
			p.problem("append index", "mailbox of "+byBox[aid][0].To.Name, err)
			for _, d := range byBox[aid] {
				d.unlisted = err
			}
		}
	}
	for _, j := range jobs {
		j.deferred = j.deferred || slices.ContainsFunc(j.deliveries, func(d *delivery) bool { return d.unlisted != nil })
	}
}

func (j *job) indexLine(d *delivery) mail.IndexLine {
	m := j.msg
	l := mail.IndexLine{ID: m.ID, Digest: j.draft.Digest, From: m.From, Act: string(m.Act), Subject: m.Subject,
		Conversation: m.Conversation, As: string(d.As)}
	if j.author.AID != "" {
		l.Turns, l.Chain, l.Since = j.world.Turns, j.world.TurnsHour, j.world.Since
	}
	return l
}

func (p *pass) indexBox(ds []*delivery) error {
	box := ds[0].box
	var lines []mail.IndexLine
	var fresh []*delivery
	for _, d := range ds {
		if !d.fresh { // an earlier pass may have got as far as this
			old, ok, err := box.FindIndex(d.line.ID, spool.Reach)
			if err != nil {
				return err
			}
			if ok {
				d.line = old
				continue
			}
		}
		lines, fresh = append(lines, d.line), append(fresh, d)
	}
	if len(lines) == 0 {
		return nil
	}
	f, err := box.AppendIndex(lines)
	if err != nil {
		return err
	}
	for i, d := range fresh {
		d.line = lines[i]
	}
	listed := p.batch.File(f)
	for _, d := range fresh {
		d.listed = listed
	}
	return nil
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

// prepareSections fixes where each section goes, so that a crash can be told
// from a forgery. chained holds where the last section of each file ends.
func (p *pass) prepareSections(j *job, chained map[string]transcript.Intent) error {
	if !j.reached() {
		return nil // nothing was delivered yet, or ever will be
	}
	for _, a := range j.actions {
		t, ok := a.(policy.Transcript)
		if !ok || j.past != nil && j.past.sections[t.File] {
			continue
		}
		text := transcript.Render(t.Header, j.msg, p.now, p.o.Config.Policy.Arrow)
		last, ok := chained[t.File]
		in := last.Next(text)
		if !ok {
			var err error
			in, err = transcript.Prepare(p.o.FS, t.File, text)
			if mail.KindOf(err) == mail.KindStore {
				return err
			}
			if err != nil {
				// Somebody put something else there. The mail is not to wait for
				// that; verify and doctor show what the transcript lacks.
				p.problem("append transcript", t.File, err)
				j.records = append(j.records, lost(p.now, j.msg.ID, journal.Transcript, t.File, err))
				continue
			}
		}
		chained[t.File] = in
		j.sections = append(j.sections, &section{in, text})
		j.records = append(j.records, journal.Record{At: p.now, Event: journal.Transcript, ID: j.msg.ID, From: j.msg.From, File: in.File,
			Offset: in.Offset, Length: in.Length, Digest: in.Digest, Detail: map[string]string{"header": t.Header}})
	}
	return nil
}

// transcribe appends the sections, now that the journal knows of them.
func (p *pass) transcribe(jobs []*job) error {
	var done []transcript.Intent
	var errs []error
	for _, j := range jobs {
		for _, s := range j.sections {
			if err := transcript.Append(p.o.FS, s.intent, s.text); err != nil {
				errs = append(errs, err)
				continue
			}
			done = append(done, s.intent)
		}
	}
	return errors.Join(append(errs, transcript.Sync(p.o.FS, done...))...)
}

// debts are what the message changes in the ledger: nobody owes an answer to
// what has not reached them, and nothing is settled by an answer that waits.
func (j *job) debts(now time.Time) []policy.DebtEvent {
	missed := map[string]bool{}
	for _, d := range j.deliveries {
		if d.err != nil {
			missed[d.To.AID] = true
		}
	}
	var out []policy.DebtEvent
	for _, e := range policy.Ledger(j.msg, j.actions, now) {
		if e.Op == policy.OpOwe && missed[e.Debtor] || e.Op != policy.OpOwe && len(missed) > 0 {
			continue
		}
		out = append(out, e)
	}
	return out
}

// owe appends to the ledger, the hint first: one that is too early costs a
// look, one that is too late a reminder.
func (p *pass) owe(events []policy.DebtEvent) ([]*spool.Ticket, error) {
	if len(events) == 0 {
		return nil, nil
	}
	boot, _, _ := p.o.Sys.Boot()
	if h, ok := debt.LoadHint(p.o.FS, boot); ok {
		lower := h
		for _, e := range events {
			if e.Op == policy.OpOwe || e.Op == policy.OpAgree {
				lower = lower.Lower(e.Due)
			}
		}
		if lower != h {
			if err := debt.SaveHint(p.o.FS, lower); err != nil {
				debt.DropHint(p.o.FS)
			}
		}
	}
	pending, err := debt.Append(p.o.FS, events...)
	if err != nil {
		return nil, err
	}
	return []*spool.Ticket{p.batch.Do(pending.Sync)}, nil
}
