package mailbox

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/spool"
)

// State of a message in its owner's mailbox.
type State string

// The states, in the order of a message's life.
const (
	Unread   State = "unread"
	Surfaced State = "surfaced" // announced, not read: still unread
	Read     State = "read"
	Done     State = "done"
)

// Item is one message in an inbox.
type Item struct {
	mail.IndexLine       // Seq is 0 while the delivery is not indexed yet
	State          State `json:"state"`
	// Obliges: an answer is owed by the owner of this mailbox.
	Obliges bool `json:"obliges"`
}

// Unread reports whether its owner has not read the message.
func (it Item) Unread() bool { return it.State == Unread || it.State == Surfaced }

// List returns what is in the inbox and not done, in delivery order
// (design §5). unreadOnly leaves out what was read. With nothing there it costs
// one look at a directory.
func (m *Mailbox) List(unreadOnly bool) ([]Item, error) {
	ids, err := m.waiting()
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	want := make(map[mail.ID]bool, len(ids))
	for _, id := range ids {
		want[id] = true
	}
	seen, err := receiptsOf(m.Author.Box, want, ownReceipts, m.now())
	if err != nil {
		return nil, m.readError(err)
	}
	if unreadOnly {
		for id := range want {
			if seen[id].read {
				delete(want, id)
			}
		}
	}
	items, err := m.items(want)
	if err != nil {
		return nil, err
	}
	for i := range items {
		items[i].State = stateOf(seen[items[i].ID])
	}
	slices.SortFunc(items, inOrder)
	return items, nil
}

func stateOf(k known) State {
	switch {
	case k.read:
		return Read
	case k.surfaced:
		return Surfaced
	}
	return Unread
}

// inOrder sorts by delivery sequence; what is not indexed yet came last.
func inOrder(a, b Item) int {
	if (a.Seq == 0) != (b.Seq == 0) {
		return cmp.Compare(b.Seq, a.Seq)
	}
	return cmp.Or(cmp.Compare(a.Seq, b.Seq), strings.Compare(string(a.ID), string(b.ID)))
}

// waiting lists the ids in inbox/ that are not in .done.
func (m *Mailbox) waiting() ([]mail.ID, error) {
	if m.Author.AID == "" {
		return nil, nil // a person's mail is in approvals
	}
	b := m.Author.Box
	names, err := b.Waiting(m.boot, func() bool { return m.Office.CheckWritable() == nil })
	if err != nil {
		return nil, m.readError(err)
	}
	var ids []mail.ID
	for _, n := range names {
		id := mail.ID(strings.TrimSuffix(n, ".json"))
		if spool.Hidden(n) || spool.FileName(id) != n || !id.Valid() {
			continue
		}
		if _, err := b.FS.Lstat(b.Path(spool.Done, n)); err == nil {
			continue // being moved there
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// boot is the id of this boot; "" if there is none.
func (m *Mailbox) boot() string {
	id, _, ok := m.Office.Sys.Boot()
	if !ok {
		return ""
	}
	return id
}

func (m *Mailbox) readError(err error) error {
	return &mail.Error{Op: "read mailbox", Kind: mail.KindStore, Addr: m.Author.Name, Err: err, Hint: `run "post doctor"`}
}

// items looks the wanted messages up in the index; one that is not there yet is
// described from its file.
func (m *Mailbox) items(want map[mail.ID]bool) ([]Item, error) {
	left := len(want)
	if left == 0 {
		return nil, nil
	}
	var out []Item
	found := make(map[mail.ID]bool, left)
	err := m.Author.Box.ScanIndex(func(l mail.IndexLine) bool {
		if want[l.ID] && !found[l.ID] {
			found[l.ID] = true
			out = append(out, item(l))
			left--
		}
		return left > 0
	})
	if err != nil {
		return nil, m.readError(err)
	}
	for id := range want {
		if !found[id] {
			it, err := m.unindexed(id)
			if errors.Is(err, fs.ErrNotExist) {
				continue // done meanwhile
			}
			if err != nil {
				return nil, err
			}
			out = append(out, it)
		}
	}
	return out, nil
}

func item(l mail.IndexLine) Item {
	obliges := mail.Act(l.Act).Obliges() && l.As != mail.AsCC && l.From != office.Postroom
	return Item{IndexLine: l, State: Unread, Obliges: obliges}
}

func (m *Mailbox) unindexed(id mail.ID) (Item, error) {
	b := m.Author.Box
	data, _, err := spool.ReadMail(b.FS, b.Path(spool.Inbox, spool.FileName(id)))
	if err != nil {
		return Item{}, err
	}
	msg, err := mail.Parse(data)
	if err != nil { // listed all the same; reading it says what is wrong
		return item(mail.IndexLine{ID: id, Digest: mail.DigestOf(data), Act: string(mail.Inform), As: mail.AsTo,
			Subject: "(this message can't be read)"}), nil
	}
	l := mail.IndexLine{ID: id, Digest: mail.DigestOf(data), From: msg.From, Act: string(msg.Act), Subject: msg.Subject,
		Conversation: msg.Conversation, As: mail.AsTo}
	if msg.Envelope != nil && slices.Contains(msg.Envelope.CC, m.Author.AID) {
		l.As = mail.AsCC
	}
	return item(l), nil
}

// History returns the newest deliveries, done or not, at most limit of them,
// oldest first.
func (m *Mailbox) History(limit int) ([]Item, error) {
	var out []Item
	want := map[mail.ID]bool{}
	err := m.Author.Box.ScanIndex(func(l mail.IndexLine) bool {
		out = append(out, item(l))
		want[l.ID] = true
		return len(out) < limit
	})
	if err != nil {
		return nil, m.readError(err)
	}
	seen, err := receiptsOf(m.Author.Box, want, ownReceipts, m.now())
	if err != nil {
		return nil, m.readError(err)
	}
	slices.Reverse(out)
	for i := range out {
		out[i].State = stateOf(seen[out[i].ID])
		if s, err := m.Author.Box.Where(out[i].ID); err == nil && s == spool.Handled {
			out[i].State = Done
		}
	}
	return out, nil
}

func corrupt(id mail.ID, what string) error {
	return &mail.Error{Op: "read", Kind: mail.KindCorrupt, ID: id, Err: errors.New(what), Hint: `run "post verify"; the office keeps its own copy`}
}
