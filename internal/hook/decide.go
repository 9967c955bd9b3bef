package hook

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/spool"
)

func (c *call) words() words {
	w := words{program: c.Program(), tools: c.Runtime.Limits().Tools}
	if c.Runtime.Limits().Daemon {
		if path := c.Hook.Path(); path != "" && !slices.Contains(standard(), filepath.Dir(path)) {
			w.program = path
		}
	}
	return w
}

// standard are the directories that every shell looks into.
func standard() []string { return []string{"/bin", "/usr/bin", "/usr/local/bin"} }

// decide says what the session is told now, and which receipts are due once it
// was.
func (c *call) decide(s *seat) (Answer, []mail.Receipt, error) {
	if c.AgentID != "" {
		return Answer{}, nil, nil // a subagent does another's work, not the mail
	}
	switch c.Kind {
	case SessionStart, TurnStart, MidTurn, Stop, FileChanged:
	default:
		return Answer{}, nil, nil
	}
	items, err := s.List(true)
	if err != nil {
		return Answer{}, nil, err
	}
	if len(items) > 0 || c.Kind == SessionStart {
		if err := s.Office.CheckWritable(); err != nil {
			return Answer{}, nil, err // in a copy nothing could be marked, and none of it is this agent's
		}
	}
	switch {
	case c.Kind == SessionStart:
		return c.atStart(s, items)
	case c.Kind == TurnStart && (s.claimed || c.Runtime.Limits().NoStartContext):
		if m := loadMemory(s.Author.Box, s.key); !m.Greeted {
			return c.atStart(s, items)
		}
	}
	if len(items) == 0 {
		return Answer{}, nil, nil
	}
	m := loadMemory(s.Author.Box, s.key)
	m.keep(items)
	switch c.Kind {
	case TurnStart:
		return c.atTurn(s, &m, items)
	case MidTurn:
		return c.announce(s, &m, m.fresh(items), c.words().fresh)
	case Stop:
		return c.atStop(s, &m, items)
	}
	return c.atChange(s, items)
}

// atStart greets, and names all that waits, whoever was told of it before.
func (c *call) atStart(s *seat, items []mailbox.Item) (Answer, []mail.Receipt, error) {
	w := c.words()
	a := Answer{Context: w.greeting(s.Entry.Name, c.Source), Env: map[string]string{identity.SessionEnv: s.key}}
	if c.Kind == SessionStart && !c.oneShot() {
		a.Watch = inboxOf(s)
	}
	if c.Kind == SessionStart && c.Runtime.Limits().NoStartContext {
		a.Context = ""
		return a, nil, nil
	}
	m := loadMemory(s.Author.Box, s.key)
	m.keep(items)
	m.Greeted = true
	shown, more := first(items)
	if len(items) > 0 {
		a.Context += "\n" + w.unread(shown, more)
		m.told(shown, c.Sys.Now())
	}
	if owed := c.owed(s, items); len(owed) > 0 {
		a.Context += "\n" + w.debts(owed)
	}
	if len(items) > 0 || c.Runtime.Limits().NoStartContext || c.Kind == TurnStart {
		if err := m.save(s.Author.Box); err != nil {
			c.fault(c.Name, err) // the start of a session comes once: it is told all the same
		}
	}
	return a, c.surfaced(shown), nil
}

// inboxOf is the directory that a session watches.
func inboxOf(s *seat) []string {
	b := s.Author.Box
	return []string{b.FS.Path(b.Path(spool.Inbox))}
}

// wakesItself reports whether the agent is to be woken by its own session, which
// watches its inbox.
func (c *call) wakesItself(s *seat) bool {
	n := s.Entry.Notify
	return len(n) > 0 && n[0] == c.Runtime.Name()
}

// owed lists what the agent read and has not answered, the earliest due first.
func (c *call) owed(s *seat, unread []mailbox.Item) []mailbox.Owed {
	all, err := s.Owed(s.Entry.Name)
	if err != nil {
		c.fault(c.Name, err)
		return nil
	}
	mine := slices.DeleteFunc(all, func(o mailbox.Owed) bool {
		return o.Debtor != s.Entry.AID || slices.ContainsFunc(unread, func(it mailbox.Item) bool { return it.ID == o.ID })
	})
	return mine[:min(owedMax, len(mine))]
}

// owedMax bounds the debts that are named.
const owedMax = 5

// atTurn names what is new. A prompt that is a wake of ours has named some of
// it already.
func (c *call) atTurn(s *seat, m *memory, items []mailbox.Item) (Answer, []mail.Receipt, error) {
	ids := idsIn(c.Prompt)
	var woke []mail.Receipt
	for _, it := range items {
		if it.State == mailbox.Unread && slices.Contains(ids, it.ID) {
			woke = append(woke, mail.Receipt{Event: mail.EventSurfaced, ID: it.ID, Evidence: c.evidence() + ", its prompt"})
		}
	}
	if len(woke) > 0 { // the runtime put it before the model: nothing of ours is still to be written
		if err := s.Receipt(woke...); err != nil {
			return Answer{}, nil, err
		}
	}
	left := slices.DeleteFunc(m.fresh(items), func(it mailbox.Item) bool { return slices.Contains(ids, it.ID) })
	say := c.words().fresh
	if old := obliging(items); len(left) == 0 && len(woke) == 0 && len(old) > 0 && m.due(c.Sys.Now()) {
		left, say = old, c.words().still
	}
	if !m.WokeAt.IsZero() || len(woke) > 0 {
		m.WokeAt = time.Time{} // answered: the next mail may wake again
		if err := m.save(s.Author.Box); err != nil {
			return Answer{}, nil, err
		}
	}
	return c.announce(s, m, left, say)
}

// announce names items once; with none it is silent.
func (c *call) announce(s *seat, m *memory, items []mailbox.Item, say func([]mailbox.Item, int) string) (Answer, []mail.Receipt, error) {
	if len(items) == 0 {
		return Answer{}, nil, nil
	}
	shown, more := first(items)
	m.told(shown, c.Sys.Now())
	if err := m.save(s.Author.Box); err != nil {
		return Answer{}, nil, err // what cannot be remembered would be said for ever
	}
	return Answer{Context: say(shown, more)}, c.surfaced(shown), nil
}

// atStop keeps the session going while new mail, or mail that obliges, waits.
func (c *call) atStop(s *seat, m *memory, items []mailbox.Item) (Answer, []mail.Receipt, error) {
	lim := c.Runtime.Limits()
	if lim.ObeyStopActive && c.StopActive {
		return Answer{}, nil, nil
	}
	var because []mailbox.Item
	if old := obliging(items); len(old) > 0 && m.mayBlock(old, lim.Blocks, c.Sys.Now()) {
		because = old
	}
	for _, it := range m.fresh(items) {
		if !it.Obliges {
			because = append(because, it) // once, for then it was surfaced
		}
	}
	if len(because) == 0 {
		return Answer{}, nil, nil
	}
	shown, more := first(because)
	m.told(shown, c.Sys.Now())
	if err := m.save(s.Author.Box); err != nil {
		return Answer{}, nil, err
	}
	return Answer{Block: true, Reason: c.words().stop(shown, more)}, c.surfaced(shown), nil
}

// atChange wakes an idle session whose inbox changed: once, however many files
// came, because one turn sees them all. It does so only for an agent that is to
// be woken this way, and whose adapter has no better one.
func (c *call) atChange(s *seat, items []mailbox.Item) (Answer, []mail.Receipt, error) {
	if !c.wakesItself(s) {
		return Answer{}, nil, nil
	}
	box := s.Author.Box
	unlock, err := box.Lock(lockWithin)
	if mail.KindOf(err) == mail.KindBusy {
		return Answer{}, nil, nil
	}
	if err != nil {
		return Answer{}, nil, err
	}
	defer unlock()
	now := c.Sys.Now()
	p, known, _ := presence.ReadIn(box.FS, box.Dir)
	if known && (!pushable(p, now) || c.Runtime.Name() == notify.KindClaude && notify.ClaudeListens(c.Getenv, &p)) || c.oneShot() {
		return Answer{}, nil, nil
	}
	m := loadMemory(box, s.key)
	fresh := m.fresh(items)
	if len(fresh) == 0 || now.Sub(m.WokeAt).Abs() < wakePause {
		return Answer{}, nil, nil
	}
	m.keep(items)
	m.WokeAt = now
	if err := m.save(box); err != nil {
		return Answer{}, nil, err
	}
	return Answer{Wake: c.words().wake(fresh)}, nil, nil // surfaced when the prompt of it comes back
}

// pushable reports whether the session waits for a prompt, or seems to run a
// turn that there was no sign of for long: a wake that came to nothing, or a
// person's Esc, of which not every runtime tells.
func pushable(p presence.Session, now time.Time) bool {
	age := now.Sub(p.At).Abs()
	return p.State == presence.Idle || p.State == presence.Busy && (age > turnMax || p.SawMail() && age >= wakePause)
}

// first cuts a list to what one text names.
func first(items []mailbox.Item) (shown []mailbox.Item, more int) {
	n := min(len(items), shownMax)
	return items[:n], len(items) - n
}

func (c *call) evidence() string { return "hook " + c.Runtime.Name() + " " + word(c.Name) }

// surfaced are the receipts for what is about to be named.
func (c *call) surfaced(items []mailbox.Item) []mail.Receipt {
	var rs []mail.Receipt
	for _, it := range items {
		if it.State == mailbox.Unread {
			rs = append(rs, mail.Receipt{Event: mail.EventSurfaced, ID: it.ID, Evidence: c.evidence()})
		}
	}
	return rs
}
