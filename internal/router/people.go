package router

import (
	"errors"
	"io/fs"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/spool"
)

// decisions performs what people decided: the asker gets the answer, once; a
// released message goes back into its author's outbox; a fuse is mended
// (design §13).
func (p *pass) decisions() error {
	if none, err := approval.None(p.o.FS); err != nil || none {
		return err
	}
	if _, err := approval.Expire(p.o.FS, p.now); err != nil {
		return err
	}
	closed, err := approval.Undone(p.o.FS)
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range closed {
		if c.Approval.Broken != nil {
			errs = append(errs, c.Approval.Broken)
			continue
		}
		errs = append(errs, p.decided(c))
	}
	return errors.Join(errs...)
}

func (p *pass) decided(c approval.Closed) error {
	a := c.Approval
	if err := p.answer(c); err != nil {
		return err
	}
	if a.Kind == policy.Release {
		if err := p.mendFuse(c); err != nil {
			return err
		}
		if c.Delivers() {
			if err := p.requeue(c); err != nil {
				return err
			}
		}
	}
	event := journal.Decided
	if c.Decision.Verdict == approval.VerdictExpired {
		event = journal.Expired
	}
	if err := p.append(journal.Record{At: p.now, Event: event, ID: a.Message, Agent: a.Asker, AID: a.AskerAID, Conversation: a.Conversation,
		Detail: map[string]string{"approval": a.ID, "verdict": string(c.Decision.Verdict), "choice": c.Decision.Choice, "by": c.Decision.By}}); err != nil {
		return err
	}
	if err := p.journal.Sync(); err != nil {
		return err
	}
	return approval.Finish(p.o.FS, a.ID)
}

func (p *pass) answer(c approval.Closed) error {
	a := c.Approval
	act, subject, body := approval.AnswerMessage(c)
	if act == "" || a.AskerAID == "" {
		return nil
	}
	asker, ok := p.reg.ByAID(a.AskerAID)
	if !ok {
		return nil
	}
	return p.notice(notice{from: office.Human, to: asker, id: a.AnswerID(), reply: a.Message, conv: a.Conversation,
		act: act, subject: subject, body: body})
}

// mendFuse: letting the message through grants the conversation as many turns
// again. A conversation that was stopped stays stopped; an agent's own fuse is
// whole again either way, else a stop would silence it for ever.
func (p *pass) mendFuse(c approval.Closed) error {
	a := c.Approval
	if !a.Fuse {
		return nil
	}
	key := approval.ConversationFuse(a.Conversation)
	if a.FuseAgent != "" {
		key = approval.AgentFuse(a.FuseAgent)
	}
	f, err := approval.LoadFuse(p.o.FS, key)
	if err != nil || f.Approval != a.ID || !f.Blown {
		return err
	}
	s := p.o.Settings()
	if c.Delivers() && a.FuseAgent == "" {
		f.Allowed += s.FuseTurns
	}
	if c.Delivers() && a.FuseAgent != "" {
		f.AllowedHour += s.FusePerHour
	}
	f.Blown = !c.Delivers() && a.FuseAgent == ""
	f.ReleasedAt = p.now
	return approval.SaveFuse(p.o.FS, key, f)
}

// requeue puts a released message back into its author's outbox, as it was
// stamped; the next round delivers it.
func (p *pass) requeue(c approval.Closed) error {
	id := c.Approval.Message
	m, data, err := p.o.ReadMessage(id)
	if err != nil {
		return err
	}
	if d := mail.DigestOf(data); d != c.Approval.Digest {
		return &mail.Error{Op: "release", Kind: mail.KindCorrupt, ID: id, Err: errors.New("the message is not the one that was shown to a person"), Hint: `run "post verify"`}
	}
	e, ok, err := office.Entry(p.reg, m.From)
	if err != nil || !ok {
		return err
	}
	a, err := p.o.Author(e)
	if err != nil {
		return err
	}
	done := &job{author: a, msg: m}
	if err := p.recall(done); err != nil {
		return err
	}
	if len(done.past.delivered) > 0 {
		return nil
	}
	err = spool.PutNew(a.Box.FS, a.Box.Path(spool.Outbox), spool.FileName(id), data)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	p.requeued, p.wrote = append(p.requeued, a), true
	return a.Box.FS.SyncDir(a.Box.Path(spool.Outbox))
}

// officeAndRequeued lists the outboxes that the pass itself wrote to.
func (p *pass) officeAndRequeued() []office.Author {
	list := p.officeAuthors()
	for _, a := range p.requeued {
		if !hasAuthor(list, a.Tag()) {
			list = append(list, a)
		}
	}
	return list
}
