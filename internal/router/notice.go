package router

import (
	"errors"
	"io/fs"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/spool"
)

// notice is something the office itself, or a person through it, tells one
// correspondent. Its id derives from its cause and key, so a repeat is the same
// message and goes nowhere twice (design §7.9).
type notice struct {
	from    string // office.Postroom if empty
	to      policy.Agent
	cause   mail.ID
	key     []string
	id      mail.ID // if set, used instead of a derived one
	reply   mail.ID // in_reply_to
	conv    string
	act     mail.Act // inform if empty
	subject string
	body    string
	waives  bool // see mail.Message.SetWaives
}

// notice puts the message into the outbox of its author, durably: from there
// it takes the way of all mail.
func (p *pass) notice(n notice) error {
	if n.from == "" {
		n.from = office.Postroom
	}
	if n.act == "" {
		n.act = mail.Inform
	}
	n.id = n.derived()
	author := p.o.SystemAuthor(n.from)
	known, err := p.noticeKnown(author, n.id)
	if err != nil || known {
		return err
	}
	m := &mail.Message{
		Schema: mail.Schema, ID: n.id, Conversation: n.conv, InReplyTo: n.reply, From: n.from, To: n.to.Name,
		Act: n.act, Subject: mail.CleanSubject(n.subject), Body: n.body, CreatedAt: p.now.Truncate(time.Millisecond),
		Office: p.o.Config.ID, Station: p.o.Station(), SentWith: p.o.Sys.Version, Envelope: &mail.Envelope{Recipients: []string{}},
	}
	if m.Conversation == "" {
		m.Conversation = mail.NewConversation(n.id)
	}
	if n.waives {
		m.SetWaives()
	}
	if n.to.AID != "" {
		m.Envelope.Recipients = []string{n.to.AID}
	}
	data, err := m.Encode()
	if err != nil {
		return err
	}
	err = spool.PutNew(author.Box.FS, author.Box.Path(spool.Outbox), spool.FileName(n.id), data)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	p.wrote = true
	return author.Box.FS.SyncDir(author.Box.Path(spool.Outbox))
}

// derived is the id of a notice.
func (n notice) derived() mail.ID {
	if n.id != "" {
		return n.id
	}
	from, to := n.from, n.to.AID // which no renaming changes
	if from == "" {
		from = office.Postroom
	}
	if to == "" {
		to = n.to.Name
	}
	return mail.DerivedID(n.cause, append([]string{from, to}, n.key...)...)
}

func (p *pass) noticeKnown(author office.Author, id mail.ID) (bool, error) {
	for _, where := range []struct {
		box  spool.Box
		path string
	}{
		{author.Box, author.Box.Path(spool.Sent, spool.FileName(id))},
		{spool.Box{FS: p.o.FS}, office.MessagePath(id)},
	} {
		_, err := where.box.FS.Lstat(where.path)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	return false, nil
}
