package mailbox

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/spool"
)

// rescan is how often the inbox is looked at whatever the file events say:
// scans are the truth, events are hints (design §8).
const rescan = 500 * time.Millisecond

// Match says which message Wait waits for; the empty match fits any unread one.
type Match struct {
	ReplyTo      mail.ID
	Conversation string
	From         string // a name; "" is anybody
}

// Wait returns the first message that fits, at once if it is there already, or
// KindTimeout when ctx ends. pass is called now and then so that mail moves
// without a daemon; its error is not Wait's.
func (m *Mailbox) Wait(ctx context.Context, match Match, pass func(context.Context)) (*Item, error) {
	var found *Item
	err := m.follow(ctx, pass, func() (bool, error) {
		it, err := m.match(match)
		found = it
		return it != nil, err
	})
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return nil, &mail.Error{Op: "wait", Kind: mail.KindTimeout, Err: errors.New("nothing came"), Hint: `wait again, or see "post owed"`}
	}
	return found, err
}

func (m *Mailbox) match(match Match) (*Item, error) {
	if match.ReplyTo != "" {
		return m.replyTo(match.ReplyTo)
	}
	items, err := m.List(true)
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		if (match.Conversation == "" || it.Conversation == match.Conversation) && (match.From == "" || m.sameAgent(it.From, match.From)) {
			return &it, nil
		}
	}
	return nil, nil
}

func (m *Mailbox) sameAgent(a, b string) bool {
	if a == b {
		return true
	}
	x, xok := m.Registry.Agent(a)
	y, yok := m.Registry.Agent(b)
	return xok && yok && x.AID == y.AID
}

// replyTo finds an answer to a message among everything that came after it,
// read or not: whoever waits a second time gets it again.
func (m *Mailbox) replyTo(id mail.ID) (*Item, error) {
	waiting, err := m.waiting()
	if err != nil {
		return nil, err
	}
	var found *Item
	look := func(l mail.IndexLine) {
		o, err := m.Open(l.ID)
		if err == nil && o.InReplyTo == id {
			it := item(l)
			found = &it
		}
	}
	after := m.before(id)
	for _, w := range waiting {
		if found == nil && w > after {
			look(mail.IndexLine{ID: w})
		}
	}
	if found != nil {
		o, err := m.Open(found.ID)
		if err != nil {
			return nil, err
		}
		return &o.Item, nil
	}
	err = m.Author.Box.ScanIndex(func(l mail.IndexLine) bool {
		if l.ID > after && found == nil {
			look(l)
		}
		return found == nil && l.ID.Time().After(after.Time().Add(-receiptSlack))
	})
	return found, err
}

// before is an id that every answer to id sorts after: id itself, unless it
// lies so far in the future that no clock went along with it (design §5).
func (m *Mailbox) before(id mail.ID) mail.ID {
	if !mail.Drifted(id, m.now(), driftLimit) {
		return id
	}
	at := time.Time{}
	if o, err := m.Open(id); err == nil {
		at = o.CreatedAt.Add(-receiptSlack)
	}
	var c mail.Clock
	return c.Next(at, "")
}

// Watch calls show with every unread message that is there and then with each
// new one, in delivery order, until ctx ends or show fails.
func (m *Mailbox) Watch(ctx context.Context, pass func(context.Context), show func(Item) error) error {
	seen := map[mail.ID]bool{}
	err := m.follow(ctx, pass, func() (bool, error) {
		ids, err := m.waiting()
		if err != nil {
			return false, err
		}
		if !slices.ContainsFunc(ids, func(id mail.ID) bool { return !seen[id] }) {
			return false, nil
		}
		items, err := m.List(true)
		if err != nil {
			return false, err
		}
		now := make(map[mail.ID]bool, len(ids))
		for _, id := range ids {
			now[id] = true // what is read already counts as seen
		}
		for _, it := range items {
			if !seen[it.ID] {
				if err := show(it); err != nil {
					return false, err
				}
				now[it.ID] = true
			}
		}
		seen = now
		return false, nil
	})
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// follow calls look at the start, on every file event in the inbox and on a
// short tick, until it says that it is done.
func (m *Mailbox) follow(ctx context.Context, pass func(context.Context), look func() (bool, error)) error {
	events := make(<-chan fsnotify.Event)
	if w, err := fsnotify.NewWatcher(); err == nil { // without events the tick serves
		defer w.Close()
		b := m.Author.Box
		if w.Add(b.FS.Path(b.Path(spool.Inbox))) == nil {
			events = w.Events
		}
	}
	tick := time.NewTicker(rescan)
	defer tick.Stop()
	for {
		done, err := look()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-events:
		case <-tick.C:
			if pass != nil {
				pass(ctx)
			}
		}
	}
}
