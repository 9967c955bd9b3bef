package top

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/standing"
)

// sheet is what a page shows, as lines that fit the screen.
type sheet struct {
	theme theme
	width int
	lines []string
}

const (
	labelWidth = 9
	// threadMost is how many messages of a conversation are shown, the newest.
	threadMost = 100
	// bodyMost is how many lines of a message a thread shows, which the message's
	// own page shows in full.
	bodyMost = 24
	// stamp is how a time is shown in full.
	stamp = "2006-01-02 15:04:05 UTC"
)

// laid is a page laid out, and for what: long ones are not wrapped anew for each
// key.
type laid struct {
	width int
	theme theme
	at    time.Time // for which ages were told
	lines []string
}

// sheet is what a page shows, as lines.
func (m Model) sheet(p page) []string {
	if p.laid.lines != nil && p.laid.width == m.width && p.laid.theme == m.theme && p.laid.at.Equal(m.ages(p)) {
		return p.laid.lines
	}
	return m.lay(p)
}

// ages is the time for which a page tells ages, zero if it tells none.
func (m Model) ages(p page) time.Time {
	if p.kind == onQuestion || p.kind == onAgent {
		return m.now()
	}
	return time.Time{}
}

// lay lays out what a page shows.
func (m Model) lay(p page) []string {
	s := &sheet{theme: m.theme, width: m.width}
	switch {
	case p.err != nil:
		s.para(bad, line(p.err.Error()))
	case p.waits:
		s.para(dim, "…")
	case p.kind == onLetter:
		s.letter(p.letter)
	case p.kind == onThread:
		s.thread(p.thread, bodyMost*4)
	case p.kind == onQuestion:
		s.question(p.question, m.now())
	case p.kind == onAgent:
		s.agent(m, p.ref)
	case p.kind == onKeys:
		s.keys()
	}
	return s.lines
}

func (s *sheet) add(l string) { s.lines = append(s.lines, l) }

func (s *sheet) blank() { s.add("") }

// para is text of ours, or neutralised.
func (s *sheet) para(l look, text string) {
	for _, part := range wrap(text, s.width) {
		s.add(s.theme.paint(l, part))
	}
}

func (s *sheet) heading(text string) {
	s.blank()
	s.add(s.theme.strong(plain, text))
}

// field is a name and a value, which is neutralised here.
func (s *sheet) field(name, value string, l look) {
	if value == "" {
		return
	}
	for i, part := range wrap(line(value), s.width-labelWidth-1) {
		label := strings.Repeat(" ", labelWidth)
		if i == 0 {
			label = pad(name, labelWidth)
		}
		s.add(s.theme.paint(dim, label) + " " + s.theme.paint(l, part))
	}
}

// words are somebody's own, behind a bar of ours: nothing in them can look like
// what this program says. most is how many lines are shown, 0: all.
func (s *sheet) words(body string, most int) {
	if strings.TrimSpace(body) == "" {
		s.add(s.bar() + s.theme.paint(dim, "(no text)"))
		return
	}
	parts := wrap(text(body), s.width-2)
	for i, part := range parts {
		if most > 0 && i == most && len(parts) > most+1 {
			s.add(s.theme.paint(dim, fmt.Sprintf("  … %d more lines", len(parts)-most)))
			return
		}
		s.add(s.bar() + part)
	}
}

func (s *sheet) bar() string { return s.theme.paint(accent, "│") + " " }

// letter is a message and its life, as `post trace` tells it.
func (s *sheet) letter(l Letter) {
	if l.Life == nil {
		return
	}
	m := l.Life.Message
	s.field("from", m.From, accent)
	s.field("to", m.To, plain)
	s.field("cc", strings.Join(m.CC, ", "), plain)
	s.field("act", string(m.Act), plain)
	s.field("sent", m.CreatedAt.UTC().Format(stamp), plain)
	s.field("id", string(m.ID), plain)
	s.field("answers", string(m.InReplyTo), plain)
	s.field("thread", m.Conversation, plain)
	s.field("subject", subject(m.Subject), bold)
	s.words(m.Body, 0)
	s.heading("Its life")
	s.life(l.Life.Steps)
	s.blank()
	for _, n := range l.Next {
		s.field("now", n, plain)
	}
}

// life lists the steps; where there is no room beside, how each is known stands
// below it.
func (s *sheet) life(steps []mailbox.Step) {
	agent := 0
	for _, st := range steps {
		agent = max(agent, min(width(line(st.Agent)), 20))
	}
	day := ""
	for _, st := range steps {
		at := st.At.UTC()
		if d := at.Format(time.DateOnly); d != day {
			day = d
			s.add(s.theme.paint(dim, d))
		}
		begin := at.Format("15:04:05.000") + "  " + pad(line(st.Event), 11) + "  " + pad(line(st.Agent), agent) + "  "
		indent := width(begin)
		if s.width-indent < 24 {
			s.add(fit(begin, s.width))
			begin, indent = strings.Repeat(" ", 14), 14
		}
		for i, part := range wrap(line(st.How()), s.width-indent) {
			if i > 0 {
				begin = strings.Repeat(" ", indent)
			}
			s.add(begin + s.theme.paint(dim, part))
		}
	}
}

// thread is a conversation, oldest message first.
func (s *sheet) thread(list []*mail.Message, most int) {
	if n := len(list) - threadMost; n > 0 {
		s.para(dim, fmt.Sprintf("%d earlier messages are not shown: post thread %s", n, line(list[0].Conversation)))
		list = list[n:]
	}
	for i, m := range list {
		if i > 0 {
			s.blank()
		}
		when := m.CreatedAt.UTC().Format("2006-01-02 15:04")
		s.para(plain, s.theme.strong(accent, line(m.From))+" → "+line(m.To)+"  "+line(string(m.Act))+s.theme.paint(dim, "  "+when+"  "+m.ID.Short()))
		if m.Subject != "" {
			for _, part := range wrap(line(m.Subject), s.width-2) {
				s.add(s.bar() + s.theme.strong(plain, part))
			}
		}
		s.words(m.Body, most)
	}
}

// question is an approval with what led to it.
func (s *sheet) question(q Question, now time.Time) {
	a := q.Approval
	if a == nil {
		return
	}
	s.field("from", asker(a), accent)
	s.field("asked", mail.Age(now.Sub(a.Created))+" ago, "+a.Created.UTC().Format(stamp), plain)
	if !a.Expires.IsZero() && q.Decision == nil {
		left, l := "in "+mail.Age(a.Expires.Sub(now)), plain
		if a.ExpiredAt(now) {
			left, l = "expired", bad
		}
		s.field("expires", left+", "+a.Expires.UTC().Format(stamp), l)
	}
	s.field("subject", subject(a.Subject), bold)
	s.words(a.Body, 0)
	s.blank()
	s.field("why", a.Why, plain)
	if a.AddressedTo != "human" {
		s.field("to", a.AddressedTo, plain)
	}
	s.field("message", string(a.Message), dim)
	s.field("digest", string(a.Digest), dim)
	if len(a.Chain) > 0 {
		s.heading("What led to it")
		var rows []row
		for _, st := range a.Chain {
			rows = append(rows, row{"", []cell{{clock(st.At, now), dim}, {line(st.From) + " → " + line(st.To), plain}, {line(string(st.Act)), dim}, {subject(st.Subject), plain}, {st.ID.Short(), dim}}})
		}
		s.table([]column{{}, {most: 44}, {drop: 2}, {drop: 1, flex: true, least: 16}, {spare: true}}, rows)
	}
	if others := except(q.Thread, a.Message); len(others) > 0 {
		s.heading("The thread")
		s.thread(others, bodyMost)
	}
}

// except is a thread without the message that is shown above it.
func except(list []*mail.Message, id mail.ID) []*mail.Message {
	var out []*mail.Message
	for _, m := range list {
		if m.ID != id {
			out = append(out, m)
		}
	}
	return out
}

// agent is all that is known of an agent, and what it sent and got lately.
func (s *sheet) agent(m Model, aid string) {
	v, ok := m.agent(aid)
	if !ok {
		s.para(dim, "this agent is not in service any more: post agents --all")
		return
	}
	for _, f := range v.Fields(m.now()) {
		s.field(f[0], f[1], plain)
	}
	var rows []row
	for _, mv := range m.floor.Moves {
		if mv.From == v.Name || slices.Contains(mv.To, v.Name) {
			rows = append(rows, moveRow(mv, m.now(), m.width < narrow))
		}
	}
	if len(rows) == 0 {
		return
	}
	s.heading("Lately")
	s.table(moving.columns(), rows)
}

func (s *sheet) table(cols []column, rows []row) {
	w := measure(cols, rows, s.width)
	for _, r := range rows {
		s.add(r.draw(s.theme, cols, w))
	}
}

func (m Model) agent(aid string) (standing.Agent, bool) {
	for _, a := range m.floor.Agents {
		if a.AID == aid {
			return a, true
		}
	}
	return standing.Agent{}, false
}

// keys explains the keys.
func (s *sheet) keys() {
	for _, k := range [][2]string{
		{"", "Everywhere"},
		{"j k ↑ ↓", "down and up; g and G: first and last; Space and PgUp: a screen"},
		{"Enter", "open: a message with its life, an approval with its thread, an agent"},
		{"Esc", "back; on the floor: no filter, all panes"},
		{"?", "these keys"},
		{"q", "quit"},
		{"", "On the floor"},
		{"Tab", "the next pane; Shift-Tab: the one before"},
		{"/", "show only what has these words, in every pane"},
		{"z", "the pane alone on the screen, and back"},
		{"", "At an approval"},
		{"1 – 9", "an option, for which you are asked once more"},
		{"m", "an answer in your own words; Alt-Enter breaks a line"},
		{"x", "say no"},
		{"y", "yes, decide as asked; anything else does not"},
		{"", "At an approval or a message"},
		{"t", "its thread"},
		{"o", "the message itself, with its life"},
	} {
		if k[0] == "" {
			if len(s.lines) > 0 {
				s.blank()
			}
			s.add(s.theme.strong(plain, k[1]))
			continue
		}
		for i, part := range wrap(k[1], s.width-labelWidth-1) {
			label := strings.Repeat(" ", labelWidth)
			if i == 0 {
				label = pad(k[0], labelWidth)
			}
			s.add(s.theme.paint(accent, label) + " " + part)
		}
	}
	s.blank()
	s.para(dim, "Times are UTC. Nothing counts as read by being shown here.")
}
