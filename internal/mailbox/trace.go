package mailbox

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/debt"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/spool"
)

// Step is one event in a message's life, with its evidence.
type Step struct {
	At       time.Time         `json:"at"`
	Event    string            `json:"event"`
	Agent    string            `json:"agent,omitempty"`
	Evidence string            `json:"evidence,omitempty"`
	Record   uint64            `json:"record,omitempty"` // number in the journal; 0: not there yet
	Detail   map[string]string `json:"detail,omitempty"`
}

// Life is what became of a message (design §8).
type Life struct {
	Message *mail.Message
	Steps   []Step
	Where   office.Fate
	Owed    []policy.Debt
	Replies []mail.ID
	Digest  mail.Digest // of the file as it was delivered, by the journal; "" if that says nothing
	// Far is how it stands on its way to each recipient at another station. They
	// are in Where.Reached, too, since it lies in their mailboxes here.
	Far []FarStand

	crossings map[string]*Crossing // by aid
}

// Trace tells a message's whole life. Anyone in the office may ask: nothing is
// secret from those who share a disk.
func (m *Mailbox) Trace(id mail.ID) (*Life, error) {
	msg, author, err := m.anywhere(id)
	if err != nil {
		return nil, err
	}
	life := &Life{Message: msg}
	stored := Step{At: msg.CreatedAt, Event: "stored", Agent: msg.From, Evidence: "outbox of " + msg.From + ", " + msg.SentWith}
	if author.Far() {
		stored.Evidence = "station " + author.Station + ", by its clock, " + msg.SentWith
	}
	life.Steps = append(life.Steps, stored)
	if life.Where, err = m.Office.Fate(m.Registry, author, msg, m.Office.Sys.Batch()); err != nil {
		return nil, err
	}
	if err := m.journalled(life); err != nil {
		return nil, err
	}
	m.unfolded(life)
	life.stands()
	book, err := debt.Load(m.Office.FS)
	if err != nil {
		return nil, err
	}
	for _, d := range book.Open(m.Office.Settings()) {
		if d.ID == id {
			life.Owed = append(life.Owed, d)
		}
	}
	slices.SortStableFunc(life.Steps, func(a, b Step) int { return a.At.Compare(b.At) })
	return life, nil
}

// anywhere finds a message in the office's copies or in any outbox.
func (m *Mailbox) anywhere(id mail.ID) (*mail.Message, office.Author, error) {
	if msg, _, err := m.Office.ReadMessage(id); err == nil {
		return msg, m.authorOf(msg.From), nil
	}
	authors := []office.Author{m.Office.SystemAuthor(office.Human), m.Office.SystemAuthor(office.Postroom)}
	for _, e := range m.Registry.Entries() {
		if a, err := m.Office.Author(e); err == nil {
			authors = append(authors, a)
		}
	}
	for _, a := range authors {
		for _, dir := range []string{spool.Outbox, spool.Sent, spool.Failed} {
			data, _, err := spool.ReadMail(a.Box.FS, a.Box.Path(dir, spool.FileName(id)))
			if err != nil {
				continue
			}
			if msg, err := mail.Parse(data); err == nil {
				return msg, a, nil
			}
		}
	}
	return nil, office.Author{}, &mail.Error{Op: "trace", Kind: mail.KindNotFound, ID: id,
		Err: errors.New("this office has no such message"), Hint: `give the whole id; "post inbox --all --json" shows ids`}
}

func (m *Mailbox) authorOf(from string) office.Author {
	if e, ok := m.Registry.Entry(from); ok {
		if a, err := m.Office.Author(e); err == nil {
			return a
		}
	}
	return m.Office.SystemAuthor(from)
}

// internalEvents are in the journal for the router's sake, not for a reader's.
var internalEvents = []string{journal.Transcript, journal.Settled}

func (m *Mailbox) journalled(life *Life) error {
	id := life.Message.ID
	from := id.Time()
	if life.Message.CreatedAt.Before(from) {
		from = life.Message.CreatedAt
	}
	if from.After(m.now()) { // by a far clock that is ahead
		from = time.Time{}.Add(receiptSlack)
	}
	// A record bears the time at which its pass began, which may be long before.
	return journal.EachMatching(m.Office.FS, from.Add(-receiptSlack), []byte(id), func(r journal.Record) error {
		if r.ID != id || slices.Contains(internalEvents, r.Event) {
			return nil
		}
		if r.Event == journal.Delivered || r.Event == journal.Redelivered || r.Event == journal.Escalated {
			life.Digest = r.Digest
		}
		s := Step{At: r.At, Event: r.Event, Agent: r.Agent, Record: r.N, Detail: r.Detail, Evidence: "journal"}
		if e := r.Detail["evidence"]; e != "" {
			s.Evidence = e
		}
		if a, ok := m.Registry.ByAID(r.AID); ok && a.Far() {
			life.cross(a, &s, mail.Receipt{Event: r.Event, Evidence: r.Detail["evidence"]})
		}
		life.Steps = append(life.Steps, s)
		return nil
	})
}

// unfolded adds what owners have recorded and no pass has journalled yet.
func (m *Mailbox) unfolded(life *Life) {
	have := map[string]bool{}
	for _, s := range life.Steps {
		have[s.Event+" "+s.Agent] = true
	}
	for _, a := range life.Where.Reached {
		e, ok := m.Registry.EntryByAID(a.AID)
		if !ok {
			continue
		}
		box, err := m.Office.Box(e)
		if err != nil {
			continue
		}
		for _, r := range receiptsFor(box, life.Message.ID) {
			if have[r.Event+" "+a.Name] || r.OfLink() && !a.Far() {
				continue
			}
			s := Step{At: r.At, Event: r.Event, Agent: a.Name, Evidence: "receipts of " + a.Name + ": " + r.Evidence}
			if a.Far() {
				life.cross(a, &s, r)
			}
			life.Steps = append(life.Steps, s)
		}
	}
}

// receiptTail bounds how much of an owner's receipts a trace reads.
const receiptTail = 4 << 20

func receiptsFor(b spool.Box, id mail.ID) []mail.Receipt {
	f, err := b.FS.OpenFile(b.Path(spool.Receipts), os.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil
	}
	from := max(0, fi.Size()-receiptTail)
	data, err := io.ReadAll(io.NewSectionReader(f, from, fi.Size()-from))
	if err != nil {
		return nil
	}
	var out []mail.Receipt
	for line := range bytes.Lines(data) {
		if !bytes.Contains(line, []byte(id)) {
			continue
		}
		if r, err := mail.ParseReceipt(line); err == nil && r.ID == id {
			out = append(out, r)
		}
	}
	return out
}

// Thread returns a conversation's messages, oldest first: by its id, or by any
// message of it. Agents see what they sent or received, a person everything.
func (m *Mailbox) Thread(conversation string) ([]*mail.Message, error) {
	if id := mail.ID(conversation); id.Valid() {
		msg, _, err := m.anywhere(id)
		if err != nil {
			return nil, err
		}
		conversation = msg.Conversation
	}
	if !mail.ValidConversation(conversation) {
		return nil, &mail.Error{Op: "show thread", Kind: mail.KindInvalid, Addr: mail.Neutralise(conversation, false),
			Err: errors.New("is neither a conversation nor a message id"), Hint: `copy one from "post inbox --json"`}
	}
	ids := map[mail.ID]bool{}
	err := journal.EachMatching(m.Office.FS, time.Time{}, []byte(conversation), func(r journal.Record) error {
		if r.Conversation == conversation && r.ID != "" {
			ids[r.ID] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []*mail.Message
	for id := range ids {
		msg, _, err := m.Office.ReadMessage(id)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, corrupt(id, err.Error())
		}
		if m.MayRead(msg) {
			out = append(out, msg)
		}
	}
	if len(out) == 0 {
		return nil, &mail.Error{Op: "show thread", Kind: mail.KindNotFound, Addr: conversation, Err: errors.New("there is nothing of yours in it"), Hint: `see "post inbox --all"`}
	}
	slices.SortFunc(out, func(a, b *mail.Message) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return out, nil
}

// MayRead reports whether the owner may be shown a message: its own and what it
// got; a person everything.
func (m *Mailbox) MayRead(msg *mail.Message) bool {
	if m.Author.Name == office.Human || m.sameAgent(msg.From, m.Author.Name) {
		return true
	}
	return msg.Envelope != nil && (slices.Contains(msg.Envelope.Recipients, m.Author.AID) || slices.Contains(msg.Envelope.CC, m.Author.AID))
}

// Owed is one debt, with the names of today.
type Owed struct {
	policy.Debt
	DebtorName, CreditorName string
	Subject                  string
	Late                     time.Duration // negative: not due yet
	// Answered: the debtor's answer waits in its outbox. Known of one's own only.
	Answered bool
}

// Owed lists who owes whom an answer, earliest due first. Names limit it to
// debts by or to one agent; "" is everybody.
func (m *Mailbox) Owed(name string) ([]Owed, error) {
	book, err := debt.Load(m.Office.FS)
	if err != nil {
		return nil, err
	}
	var out []Owed
	answered := m.answered()
	for _, d := range book.Open(m.Office.Settings()) {
		o := Owed{Debt: d, DebtorName: m.nameOf(d.Debtor), CreditorName: m.nameOf(d.Creditor), Late: m.now().Sub(d.Due)}
		if name != "" && !m.sameAgent(o.DebtorName, name) && !m.sameAgent(o.CreditorName, name) {
			continue
		}
		if msg, _, err := m.Office.ReadMessage(d.ID); err == nil {
			o.Subject = msg.Subject
		}
		o.Answered = d.Debtor == m.Author.AID && answered[d.ID]
		out = append(out, o)
	}
	return out, nil
}

// answered lists what the owner has answered in mail that nobody has routed yet:
// where it may not route itself, in a sandbox, that may take a while. Files that
// can't be read are a pass's to complain of.
func (m *Mailbox) answered() map[mail.ID]bool {
	out := map[mail.ID]bool{}
	ids, _, err := m.Author.Box.Pending(nil)
	if err != nil {
		return out
	}
	for _, name := range ids {
		d, err := m.Author.Box.Draft(name)
		if err != nil || d.Err != nil {
			continue
		}
		if msg, err := mail.Parse(d.Data); err == nil && msg.InReplyTo != "" {
			out[msg.InReplyTo] = true
		}
	}
	return out
}

func (m *Mailbox) nameOf(aid string) string {
	if aid == "" {
		return office.Human
	}
	if e, ok := m.Registry.EntryByAID(aid); ok {
		return e.Name
	}
	return aid
}

// Approvals lists what waits for a person, oldest first.
func (m *Mailbox) Approvals() ([]approval.Approval, error) { return approval.Open(m.Office.FS) }
