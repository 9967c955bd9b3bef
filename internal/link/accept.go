package link

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
)

// errWaits: it is not the disk that keeps a message from being stored.
var errWaits = errors.New("what its station sent before it waits")

// sequence names the sequence that an envelope is of.
func (c *coming) sequence() string { return c.peer.Station + " " + c.env.Epoch }

// accept puts messages into their authors' outboxes here, durably, and notes
// their numbers. Those whose err is set were not stored.
func (e *engine) accept(list []*coming) []*coming {
	reg, err := e.registry()
	if err != nil {
		for _, c := range list {
			c.err = err
		}
		return list
	}
	letters := map[string][]*spool.Letter{}
	of := map[string][]*coming{}
	first := map[string]*coming{} // by station and id: it may stand twice among what came
	stuck := map[string]error{}   // by sequence: one waits, so those behind it do
	for _, c := range list {
		key := c.peer.Station + "/" + string(c.env.ID)
		if c.twin = first[key]; c.twin != nil {
			continue
		}
		first[key] = c
		if c.err = stuck[c.sequence()]; c.err != nil {
			continue
		}
		author, data, err := e.prepare(reg, c)
		if err != nil {
			stuck[c.sequence()] = errWaits
		}
		if c.err = err; err != nil || data == nil {
			continue
		}
		letters[author.Name] = append(letters[author.Name], &spool.Letter{ID: c.msg.ID, Data: data})
		of[author.Name] = append(of[author.Name], c)
	}
	for name, ls := range letters {
		x, _ := reg.Entry(name)
		if err := e.store(x, ls); err != nil {
			for _, c := range of[name] {
				c.err = err
			}
			continue
		}
		for i, l := range ls {
			if l.Err != nil && !errors.Is(l.Err, fs.ErrExist) {
				of[name][i].err = l.Err
			}
		}
	}
	for _, c := range list {
		if c.twin != nil {
			c.err, c.digest, c.here = c.twin.err, c.twin.digest, true
		}
	}
	e.noteIn(list)
	return list
}

// store puts letters into a far author's outbox, durably, as its owner.
// Each letter has an error of its own, too.
func (e *engine) store(x registry.Entry, ls []*spool.Letter) error {
	a, err := e.office.Author(x)
	if err != nil {
		return err
	}
	unlock, err := a.Box.Lock(boxPatience)
	if err != nil {
		return err
	}
	defer unlock()
	a.Box.StoreInOrder(ls, e.office.Sys.Batch())
	return nil
}

// recipientsMost bounds the recipients of one message: each that is unknown is
// answered by itself.
const recipientsMost = 2000

// prepare makes a message local. Without data there is nothing to store: it is
// here already, or refused, which its station is told. An error means: later.
func (e *engine) prepare(reg *registry.Registry, c *coming) (author registry.Entry, data []byte, err error) {
	p := c.peer
	refuse := func(why string) (registry.Entry, []byte, error) {
		e.tell(p, Event{Event: mail.EventRefused, ID: c.env.ID, At: e.now(), Text: why})
		return author, nil, nil
	}
	body, err := c.env.unseal(e.keys, p.Curve)
	if err != nil {
		return refuse(line(err))
	}
	cargo, raw, err := unpack(body)
	if err != nil {
		return refuse(line(err))
	}
	if len(cargo.Recipients)+len(cargo.CC) > recipientsMost {
		return refuse("it has too many recipients")
	}
	c.cargo, c.digest = cargo, mail.DigestOf(raw)
	if d, ok := p.in.digests[c.env.ID]; ok && d != c.digest {
		e.alarm(p.Station, fmt.Sprintf("%s came again with other content; the first one stands", c.env.ID))
		return refuse("another message of this id came before")
	}
	m, err := mail.Parse(raw)
	switch {
	case err != nil:
		return refuse("it is no message: " + line(err))
	case m.ID != c.env.ID:
		return refuse("its envelope names another message")
	}
	h := home{station: e.id.Station, office: e.office.Config.ID, nameOf: func(aid string) (string, bool) {
		a, ok := reg.EntryByAID(aid)
		return a.Name, ok && a.Station == ""
	}}
	if c.msg, err = h.localise(m, cargo, p.Station); err != nil {
		return refuse(line(err))
	}
	author, ok := reg.Entry(c.msg.From)
	if !ok || author.Station != p.Station {
		return e.unknownAuthor(p, c)
	}
	if c.here = e.hasIt(author, c); c.here {
		return author, nil, nil
	}
	if data, err = c.msg.Encode(); err != nil {
		return refuse("it does not fit here: " + line(err))
	}
	return author, data, nil
}

// authorPatience is how long the card that names an author may lag behind its
// mail. It is published before the mail is; and what its station sent after it
// waits, too.
const authorPatience = 3 * time.Second

func (e *engine) unknownAuthor(p *peer, c *coming) (registry.Entry, []byte, error) {
	e.cardsAt = time.Time{}
	if p.strangers == nil {
		p.strangers = map[mail.ID]time.Time{}
	}
	first, known := p.strangers[c.env.ID]
	if !known {
		p.strangers[c.env.ID] = e.mono()
	} else if e.mono().Sub(first) > authorPatience && !p.unsynced && e.cardsRead.After(first) {
		delete(p.strangers, c.env.ID)
		e.tell(p, Event{Event: mail.EventRefused, ID: c.env.ID, At: e.now(), Text: "its author is nobody on the card of " + p.Station})
		return registry.Entry{}, nil, nil
	}
	return registry.Entry{}, nil, fmt.Errorf("%w: its author %s is not on the card of %s yet", errWaits, c.msg.From, p.Station)
}

// hasIt reports whether the message is here already; then its station is told
// again what became of it.
func (e *engine) hasIt(author registry.Entry, c *coming) bool {
	m, _, err := e.office.ReadMessage(c.msg.ID)
	box, berr := e.office.Box(author)
	if berr != nil {
		return false
	}
	if err == nil {
		if m.From == c.msg.From || e.sameAuthor(m.From, author) {
			e.tellAgain(author, box, c)
			return true
		}
		return false // the router refuses it: the id is somebody else's
	}
	for _, dir := range []string{spool.Sent, spool.Failed} {
		if ok, err := spool.Exists(box.FS, box.Path(dir, spool.FileName(c.msg.ID))); err == nil && ok {
			e.tellAgain(author, box, c)
			return true
		}
	}
	return false
}

func (e *engine) sameAuthor(from string, author registry.Entry) bool {
	reg, err := e.registry()
	if err != nil {
		return false
	}
	a, ok := reg.Agent(from)
	return ok && a.AID == author.AID
}

// noteIn writes the numbers of what is in into the ledgers, durably.
func (e *engine) noteIn(list []*coming) {
	entries := map[*peer][]entry{}
	of := map[*peer][]*coming{}
	for _, c := range list {
		if c.err != nil {
			continue
		}
		p := c.peer
		if p.in.judge(c.env.Epoch, c.env.Seq) == seen && !p.in.knows(c.env.ID) && !c.here && !p.in.gaveUp(c.env.Seq) {
			p.clash, p.sayHave = true, true // the number was another message's: its sender was set back
		}
		if p.in.judge(c.env.Epoch, c.env.Seq) == seen && p.in.knows(c.env.ID) {
			continue
		}
		entries[p] = append(entries[p], entry{Epoch: c.env.Epoch, Seq: c.env.Seq, ID: c.env.ID, Digest: c.digest})
		of[p] = append(of[p], c)
	}
	for p, es := range entries {
		if err := p.inLog.append(es...); err != nil {
			for _, c := range of[p] {
				c.err = err
			}
			continue
		}
		p.trouble = ""
		for _, x := range es {
			p.in.note(x)
			delete(p.strangers, x.ID)
		}
	}
}
