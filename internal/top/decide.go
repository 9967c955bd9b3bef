package top

import (
	"errors"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
)

// ask is a decision under way: what a person chose or wrote, before it is made.
type ask struct {
	approval *approval.Approval // as it was shown
	choice   string             // one of its options, or ""
	reject   bool
	text     field
	editing  bool // the text is being typed
	busy     bool // it is being decided
}

// asking begins a decision by a key, if the page is an approval that waits and
// the key means one.
func (p page) asking(key string) (*ask, bool) {
	if p.kind != onQuestion || p.waits || p.question.Approval == nil || p.question.Decision != nil {
		return nil, false
	}
	a := p.question.Approval
	x := &ask{approval: a, text: field{lines: true}}
	choices := a.Choices()
	switch n, err := strconv.Atoi(key); {
	case err == nil && n >= 1 && n <= len(choices) && n <= 9:
		x.choice = choices[n-1]
	case key == "x" && a.Kind != policy.Notice:
		x.reject = true
	case key == "m" && a.Kind == policy.Question:
		x.editing = true
	case key == "c" && a.Kind == policy.Notice:
	default:
		return nil, false
	}
	return x, true
}

// askKey is a key while a decision is under way. Only y makes it: an Enter that
// was typed too often, or came with what was pasted, decides nothing.
func (m Model) askKey(k tea.KeyPressMsg) (Model, tea.Cmd) {
	x := *m.ask
	switch key := k.String(); {
	case x.busy:
		return m, nil
	case x.editing && key == "enter":
		if x.editing = false; x.empty() {
			m.ask = nil
			return m, nil
		}
	case x.editing && key == "esc":
		if x.editing = false; x.choice == "" && !x.reject {
			m.ask = nil
			return m, nil
		}
		x.text = field{lines: true}
	case x.editing:
		x.text, _ = x.text.key(k)
	case key == "m" && x.approval.Kind != policy.Notice:
		x.editing = true
	case key == "y":
		x.busy = true
		m.ask = &x
		return m, m.decide(x)
	default: // nothing is decided by mistake
		m.ask, m.note = nil, note{dim, "nothing was decided"}
		return m, nil
	}
	m.ask = &x
	return m, nil
}

// empty reports whether nothing was chosen or written.
func (x ask) empty() bool {
	return x.choice == "" && !x.reject && strings.TrimSpace(x.text.String()) == ""
}

func (m Model) decide(x ask) tea.Cmd {
	d := approval.Decision{Choice: x.choice, Text: strings.TrimSpace(x.text.String())}
	if x.reject {
		d.Verdict = approval.VerdictRejected
	}
	ctx, desk, id := m.ctx, m.desk, x.approval.ID
	return func() tea.Msg {
		done, err := desk.Decide(ctx, id, d)
		return decidedMsg{id, done, err}
	}
}

// decided shows what came of a decision: on the page, also if somebody else was
// first, and below it.
func (m Model) decided(msg decidedMsg) (Model, tea.Cmd) {
	if m.ask != nil && m.ask.approval.ID == msg.id {
		m.ask = nil
	}
	pages := append([]page(nil), m.pages...)
	for i, p := range pages {
		if p.kind == onQuestion && p.ref == msg.id && msg.done.Decision != nil {
			pages[i].question.Approval, pages[i].question.Decision = msg.done.Approval, msg.done.Decision
			pages[i].laid = laid{}
		}
	}
	m.pages = pages
	m.note = outcome(msg)
	return m, nil
}

func outcome(msg decidedMsg) note {
	var e *mail.Error
	switch done := msg.done; {
	case mail.KindOf(msg.err) == mail.KindConflict && errors.As(msg.err, &e) && e.Err != nil:
		return note{warn, "not decided by you: " + line(e.Err.Error()) + "; " + line(e.Hint)}
	case msg.err != nil:
		return note{bad, line(msg.err.Error())}
	case done.Told:
		return note{good, "decided; " + asker(done.Approval) + " has the answer"}
	case done.Owing() && done.Pass != nil:
		return note{warn, "decided; " + asker(done.Approval) + " is told " + done.Tells() + ": " + line(done.Pass.Error())}
	case done.Owing():
		return note{good, "decided; " + asker(done.Approval) + " is told " + done.Tells()}
	}
	return note{good, "decided"}
}

// bench is what stands below an approval: how to decide it, or how it was.
func (m Model) bench(p page) []string {
	if p.kind != onQuestion || p.waits || p.question.Approval == nil {
		return nil
	}
	t, a := m.theme, p.question.Approval
	if d := p.question.Decision; d != nil {
		l := good
		if d.Verdict == approval.VerdictRejected || d.Verdict == approval.VerdictExpired {
			l = warn
		}
		return m.banner(wrapIn(t, l, d.Says(), m.width))
	}
	if x := m.ask; x != nil {
		return m.banner(x.lines(t, m.width))
	}
	var parts []string
	for i, c := range a.Choices() {
		if i == 9 {
			parts = append(parts, t.paint(dim, "more: post answer "+a.ID+" --choose"))
			break
		}
		parts = append(parts, t.strong(accent, strconv.Itoa(i+1))+" "+line(c))
	}
	switch a.Kind {
	case policy.Notice:
		parts = append(parts, t.strong(accent, "c")+" close it")
	case policy.Question:
		parts = append(parts, t.strong(accent, "m")+" answer in words", t.strong(accent, "x")+" say no")
	default:
		parts = append(parts, t.strong(accent, "x")+" say no")
	}
	return m.banner(flow(parts, m.width))
}

// lines show a decision under way.
func (x ask) lines(t theme, room int) []string {
	who := asker(x.approval)
	var out []string
	if x.editing {
		out = append(out, t.strong(plain, "Your answer to "+who))
		return append(out, x.typed(room)...)
	}
	what := "Close this notice?"
	switch {
	case x.reject:
		what = "Say no to " + who + "?"
	case x.choice != "":
		what = "Answer " + who + ": " + line(x.choice) + "?"
	case x.approval.Kind != policy.Notice:
		what = "Give " + who + " this answer?"
	}
	out = append(out, wrapIn(t, bold, what, room)...)
	if s := strings.TrimSpace(x.text.String()); s != "" {
		parts := wrap(text(s), room-2)
		if n := len(parts); n > textLines {
			parts = append(parts[:textLines-1], "… "+strconv.Itoa(n-textLines+1)+" more lines")
		}
		for _, p := range parts {
			out = append(out, "  "+p)
		}
	}
	out = append(out, wrapIn(t, dim, "for the message with the digest "+line(string(x.approval.Digest)), room)...)
	if x.busy {
		return append(out, t.paint(dim, "deciding…"))
	}
	keys := []string{t.strong(accent, "y") + " yes, decide", t.strong(accent, "Esc") + " back"}
	if x.approval.Kind != policy.Notice {
		keys = append(keys, t.strong(accent, "m")+" words")
	}
	return append(out, flow(keys, room)...)
}

// textLines is how much of what is typed is in view.
const textLines = 5

// typed is the end of what is typed, up to the line that the cursor is on.
func (x ask) typed(room int) []string {
	parts, at := x.wrapped(room)
	from := max(0, min(at-textLines+1, len(parts)-textLines))
	return parts[from:min(len(parts), from+textLines)]
}

// wrapped breaks what is typed, letter by letter, so that the cursor's place is
// known: the line it is on is returned.
func (x ask) wrapped(room int) (parts []string, at int) {
	parts, at, _ = breakAt(x.text.runes, x.text.at, max(room-2, 1))
	for i := range parts {
		parts[i] = "  " + parts[i]
	}
	return parts, at
}

// breakAt breaks text at a width and says where the cursor is.
func breakAt(runes []rune, cursor, room int) (parts []string, row, column int) {
	var b strings.Builder
	used := 0
	next := func() {
		parts = append(parts, b.String())
		b.Reset()
		used = 0
	}
	for i, r := range runes {
		s := text(string(r))
		w := width(s)
		if r == '\n' {
			s, w = "", 0
		}
		if used+w > room {
			next()
		}
		if i == cursor {
			row, column = len(parts), used
		}
		if r == '\n' {
			next()
			continue
		}
		b.WriteString(s)
		used += w
	}
	if cursor >= len(runes) {
		if used >= room {
			next()
		}
		row, column = len(parts), used
	}
	next()
	return parts, row, column
}
