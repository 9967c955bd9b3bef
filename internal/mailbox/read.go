package mailbox

import (
	"errors"
	"io/fs"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/spool"
)

// Opened is a message whose bytes are what was delivered.
type Opened struct {
	*mail.Message
	Item Item // zero Seq and State for mail the caller sent
	Mine bool // the caller wrote it
	// Damaged names unread messages before this one that can't be shown.
	Damaged []mail.ID
}

// Open reads a message that the caller received or sent, by its full id, and
// checks it against the digest recorded at delivery.
func (m *Mailbox) Open(id mail.ID) (*Opened, error) {
	b := m.Author.Box
	for _, dir := range []string{spool.Inbox, spool.Done, spool.Outbox, spool.Sent, spool.Failed} {
		data, _, err := spool.ReadMail(b.FS, b.Path(dir, spool.FileName(id)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, m.readError(err)
		}
		msg, err := mail.Parse(data)
		if err != nil {
			return nil, corrupt(id, err.Error())
		}
		out := &Opened{Message: msg, Mine: dir != spool.Inbox && dir != spool.Done}
		if out.Mine {
			return out, nil
		}
		return out, m.check(out, mail.DigestOf(data), dir == spool.Done)
	}
	if m.Author.Name == office.Human {
		if msg, _, err := m.Office.ReadMessage(id); err == nil {
			return &Opened{Message: msg}, nil
		}
	}
	return nil, notFound(string(id))
}

// check compares what is in the mailbox with what was delivered: the index has
// the digest, the office has its own copy (design §3, limits: link, don't copy).
func (m *Mailbox) check(o *Opened, digest mail.Digest, done bool) error {
	line, ok, err := m.Author.Box.FindIndex(o.ID, 0)
	if err != nil {
		return m.readError(err)
	}
	if !ok {
		it, err := m.unindexed(o.ID)
		if err == nil {
			o.Item = it
		}
		return nil
	}
	o.Item = item(line)
	if done {
		o.Item.State = Done
	}
	if line.Digest != digest {
		return corrupt(o.ID, "the file was changed after it was delivered")
	}
	return nil
}

var errNoSuch = errors.New("there is no such message in this mailbox")

func notFound(ref string) error {
	return &mail.Error{Op: "find message", Kind: mail.KindNotFound, Addr: mail.Neutralise(ref, false),
		Err: errNoSuch, Hint: `see "post inbox --all"`}
}

// Next gives the first unread message to show, under the mailbox lock, and
// records it as read if show says that the bytes are out (done) without an
// error. So two processes of one agent never get the same one. nil without an
// error: nothing is unread. A message that was changed after its delivery holds
// up no other: it is named in Damaged, and is the error (KindCorrupt) only if
// nothing else is unread.
func (m *Mailbox) Next(show func(*Opened) (receipt *mail.Receipt, err error)) (*Opened, error) {
	unlock, err := m.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	items, err := m.List(true)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	o, err := m.firstSound(items)
	if err != nil {
		return nil, err
	}
	r, err := show(o)
	if err != nil || r == nil {
		return o, err
	}
	m.observe(o.ID)
	return o, m.receipt(*r)
}

func (m *Mailbox) firstSound(items []Item) (*Opened, error) {
	var damaged []mail.ID
	var first error
	for _, it := range items {
		o, err := m.Open(it.ID)
		if err == nil {
			o.Item.State, o.Damaged = it.State, damaged
			return o, nil
		}
		if mail.KindOf(err) != mail.KindCorrupt {
			return nil, err
		}
		damaged = append(damaged, it.ID)
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// observe lets the mailbox's clock see an id, so that what is written next sorts
// after it (design §5). Under the mailbox lock.
func (m *Mailbox) observe(id mail.ID) {
	c := m.Author.Box.OpenClock()
	if c.Observe(id, m.now(), driftLimit) {
		c.SaveSeen()
	}
}

// Shown records that a message was read. Call it when the bytes are out.
func (m *Mailbox) Shown(o *Opened, r mail.Receipt) error {
	if o.Mine || m.Author.AID == "" {
		return nil
	}
	unlock, err := m.lock()
	if err != nil {
		return err
	}
	defer unlock()
	m.observe(o.ID)
	return m.receipt(r)
}

// Finished says what Finish did with one message.
type Finished struct {
	ID      mail.ID
	Already bool
	Item    Item
}

// Finish moves messages to .done. Each is handled on its own; the first error
// ends it.
func (m *Mailbox) Finish(ids ...mail.ID) ([]Finished, error) {
	unlock, err := m.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	var out []Finished
	for _, id := range ids {
		o, err := m.Open(id)
		if err != nil {
			return out, err
		}
		if o.Mine {
			return out, &mail.Error{Op: "finish", Kind: mail.KindRule, ID: id, Err: errors.New("you wrote this one"), Hint: "done is for mail you received"}
		}
		moved, err := m.Author.Box.Finish(id, m.Office.Sys.Batch())
		if err != nil {
			return out, &mail.Error{Op: "finish", Kind: mail.KindStore, ID: id, Err: err, Hint: "free some space, then try again"}
		}
		if moved {
			if err := m.receipt(mail.Receipt{Event: mail.EventDone, ID: id, Evidence: "post done"}); err != nil {
				return out, err
			}
		}
		out = append(out, Finished{ID: id, Already: !moved, Item: o.Item})
	}
	return out, nil
}
