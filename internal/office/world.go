package office

import (
	"errors"
	"io/fs"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
)

// historyLines bounds how far back in an inbox the fuse looks.
const historyLines = 200

// Author is who writes: an agent with a mailbox, a person, or the office.
type Author struct {
	policy.Agent // zero AID for human and postroom
	Box          spool.Box
}

// The authors that are no agents.
const (
	Human    = "human"
	Postroom = "postroom"
)

// Author returns an agent as an author.
func (o *Office) Author(e registry.Entry) (Author, error) {
	box, err := o.Box(e)
	if err != nil {
		return Author{}, err
	}
	return Author{policy.Agent{Name: e.Name, AID: e.AID, Archived: e.Archived, Station: e.Station}, box}, nil
}

// SystemAuthor returns human or postroom.
func (o *Office) SystemAuthor(name string) Author {
	return Author{policy.Agent{Name: name}, o.SystemBox(name)}
}

// Tag is what an author's ids carry: the aid, or the reserved name.
func (a Author) Tag() string {
	if a.AID == "" {
		return a.Name
	}
	return a.AID
}

// Recent is what a pass under way has done and not yet recorded.
type Recent interface {
	// Message finds a message that has no office copy yet; nil if there is none.
	Message(mail.ID) *mail.Message
	// Received lists what an agent received lately: what the pass has delivered,
	// and what read gives, which it may remember from an earlier call.
	Received(aid string, read func() ([]policy.Seen, error)) ([]policy.Seen, error)
	// Fuses reports whether there is any fuse on record.
	Fuses() bool
}

// World gathers the facts that the rules need about m (design §7). recent may
// be nil.
func (o *Office) World(reg *registry.Registry, a Author, m *mail.Message, recent Recent) (policy.World, error) {
	w := policy.World{Settings: o.Settings(), Directory: reg, Sender: a.Agent}
	if m.InReplyTo != "" {
		p, err := o.parent(reg, a, m.InReplyTo, recent)
		if err != nil {
			return w, err
		}
		w.Parent, w.ParentKnown = p, p != nil
	}
	now := o.Sys.Now()
	if a.AID != "" {
		seen, err := received(reg, a, recent)
		if err != nil {
			return w, err
		}
		w.Turns = policy.Turns(seen, policy.Conversation(m, w.Parent))
		if a.Far() && m.Envelope != nil { // its office has seen turns that this one has not
			w.Turns = max(w.Turns, m.Envelope.Turns)
		}
		w.TurnsHour, w.Since = policy.Chain(seen, now)
		if recent == nil || recent.Fuses() {
			if err := o.fuses(a, m, &w); err != nil {
				return w, err
			}
		}
	}
	if m.NeedsHuman || m.To == Human {
		r, err := approval.Rejected(o.FS, mail.ContentKey(m), now, o.settings.AskAgain)
		if err != nil {
			return w, err
		}
		if r != nil && r.Approval != approval.IDFor(policy.Question, m.ID, "") {
			w.Rejected = r
		}
	}
	return w, nil
}

func (o *Office) parent(reg *registry.Registry, a Author, id mail.ID, recent Recent) (*policy.Parent, error) {
	m, err := o.find(a, id, recent)
	if err != nil || m == nil {
		return nil, err
	}
	p := &policy.Parent{
		ID: m.ID, From: m.From, Act: m.Act, Hops: m.Hops, Conversation: m.Conversation,
		Obliges: policy.RequiresReply(m), FromHuman: m.From == Human,
	}
	if from, ok := reg.Agent(m.From); ok {
		p.FromAID = from.AID
	}
	p.Sent = p.FromAID == a.AID && (a.AID != "" || m.From == a.Name)
	if m.Envelope != nil {
		p.Received = contains(m.Envelope.Recipients, a.AID)
		p.CC = contains(m.Envelope.CC, a.AID)
	}
	if a.Name == Human && (m.To == Human || m.NeedsHuman) {
		p.Received = true
	}
	return p, nil
}

// find looks for a message where it may be: in this pass, in the office's
// copies, or (a pass died before it copied it) in the author's own mailbox.
func (o *Office) find(a Author, id mail.ID, recent Recent) (*mail.Message, error) {
	if !id.Valid() {
		return nil, nil
	}
	if recent != nil {
		if m := recent.Message(id); m != nil {
			return m, nil
		}
	}
	m, _, err := o.ReadMessage(id)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	for _, dir := range []string{spool.Inbox, spool.Done, spool.Outbox, spool.Sent} {
		data, _, err := spool.ReadMail(a.Box.FS, a.Box.Path(dir, spool.FileName(id)))
		if err != nil {
			continue
		}
		if m, err := mail.Parse(data); err == nil && m.ID == id {
			return m, nil
		}
	}
	return nil, nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s && s != "" {
			return true
		}
	}
	return false
}

func received(reg *registry.Registry, a Author, recent Recent) ([]policy.Seen, error) {
	read := func() ([]policy.Seen, error) { return history(reg, a) }
	if recent == nil {
		return read()
	}
	return recent.Received(a.AID, read)
}

// history reads what the author received lately: in it stands how often the
// word has passed in each conversation, and in any. The index is written by the
// lease holder, so a message can't claim its own count.
func history(reg *registry.Registry, a Author) (seen []policy.Seen, err error) {
	aids := map[string]string{} // the registry is searched from its start each time, and few write most
	err = a.Box.ScanTraffic(func(l mail.Traffic) bool {
		aid, known := aids[l.From]
		if !known {
			from, _ := reg.Agent(l.From)
			aid = from.AID
			aids[l.From] = aid
		}
		seen = append(seen, policy.Seen{Conversation: l.Conversation, FromAID: aid, Turns: l.Turns, Chain: l.Chain, Since: l.Since})
		return len(seen) < historyLines
	})
	return seen, err
}

// SomeFuse reports whether any fuse is on record; nearly always there is none.
// In doubt each fuse itself has to be asked.
func (o *Office) SomeFuse() bool {
	names, err := o.FS.ReadNames("fuses")
	return err != nil || len(names) > 0
}

func (o *Office) fuses(a Author, m *mail.Message, w *policy.World) error {
	conversation := policy.Conversation(m, w.Parent)
	keys := []approval.FuseKey{approval.AgentFuse(a.AID)}
	if conversation != "" {
		keys = append(keys, approval.ConversationFuse(conversation))
	}
	for _, k := range keys {
		f, err := approval.LoadFuse(o.FS, k)
		if err != nil {
			return err
		}
		s := f.State()
		w.Fuse.Allowed += s.Allowed
		w.Fuse.AllowedHour += s.AllowedHour
		if s.Blown && (!w.Fuse.Blown || s.Message == m.ID) {
			w.Fuse.Blown, w.Fuse.Approval, w.Fuse.Message, w.Fuse.OfSender = true, s.Approval, s.Message, k == keys[0]
		}
	}
	return nil
}
