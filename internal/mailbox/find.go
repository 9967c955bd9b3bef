package mailbox

import (
	"errors"
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/spool"
)

// Last is the reference that names the newest message received.
const Last = "last"

// enough is how many candidates an ambiguous suffix lists.
const enough = 5

// Find turns what a person typed into a full id: the id itself, "last", or a
// suffix that only one message of this mailbox has (design §9).
func (m *Mailbox) Find(ref string) (mail.ID, error) {
	if ref == Last {
		return m.last()
	}
	if id := mail.ID(ref); id.Valid() {
		return id, nil
	}
	if len(ref) < 4 || strings.ContainsAny(ref, "/\\ \n") {
		return "", &mail.Error{Op: "find message", Kind: mail.KindInvalid, Addr: mail.Neutralise(ref, false),
			Err: errors.New("is no message id"), Hint: "give an id or the last characters of one, at least four"}
	}
	found, err := m.candidates(ref)
	if err != nil {
		return "", err
	}
	switch len(found) {
	case 0:
		return "", &mail.Error{Op: "find message", Kind: mail.KindNotFound, Addr: mail.Neutralise(ref, false),
			Err: errNoSuch, Hint: `ids are shortened to their last characters; see "post inbox --all"`}
	case 1:
		return found[0], nil
	}
	list := make([]string, len(found))
	for i, id := range found {
		list[i] = string(id)
	}
	return "", &mail.Error{Op: "find message", Kind: mail.KindAmbiguous, Addr: ref,
		Err: errors.New("fits several: " + strings.Join(list, ", ")), Hint: "give more of the id"}
}

func (m *Mailbox) candidates(ref string) ([]mail.ID, error) {
	var found []mail.ID
	add := func(id mail.ID) {
		if mail.MatchSuffix(id, ref) && len(found) < enough {
			for _, have := range found {
				if have == id {
					return
				}
			}
			found = append(found, id)
		}
	}
	if m.Author.AID != "" {
		if err := m.Author.Box.ScanIndex(func(l mail.IndexLine) bool { add(l.ID); return len(found) < enough }); err != nil {
			return nil, m.readError(err)
		}
	}
	b := m.Author.Box
	for _, dir := range []string{spool.Inbox, spool.Outbox, spool.Sent, spool.Failed} {
		names, err := b.FS.ReadNames(b.Path(dir))
		if err != nil {
			continue // a person has an outbox only
		}
		for _, n := range names {
			if id := mail.ID(strings.TrimSuffix(n, ".json")); id.Valid() {
				add(id)
			}
		}
	}
	return found, nil
}

func (m *Mailbox) last() (mail.ID, error) {
	var id mail.ID
	err := m.Author.Box.ScanIndex(func(l mail.IndexLine) bool { id = l.ID; return false })
	if err != nil {
		return "", m.readError(err)
	}
	if id == "" {
		return "", notFound(Last)
	}
	return id, nil
}

// ReplyDraft starts a reply: its recipient, subject and parent.
func (m *Mailbox) ReplyDraft(id mail.ID) (Draft, error) {
	o, err := m.Open(id)
	if err != nil {
		return Draft{}, err
	}
	to := o.From
	switch {
	case o.Mine && o.Act == mail.Agree && o.InReplyTo != "":
		// "done" after one's own "agree" answers the request, not the agreement.
		return m.ReplyDraft(o.InReplyTo)
	case o.Mine: // a follow-up to one's own message
		to = o.To
	}
	subject := o.Subject
	if !strings.HasPrefix(strings.ToLower(subject), "re: ") {
		subject = "Re: " + subject
	}
	return Draft{To: []string{to}, Act: mail.Inform, Subject: subject, InReplyTo: id, Conversation: o.Conversation}, nil
}
