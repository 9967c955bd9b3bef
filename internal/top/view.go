package top

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/postroom/postroom/internal/mail"
)

// View draws the screen.
func (m Model) View() tea.View {
	v := tea.NewView(strings.Join(m.screen(), "\n"))
	v.AltScreen = true
	v.Cursor = m.cursor()
	return v
}

// screen is the screen, line by line, none wider than it.
func (m Model) screen() []string {
	if m.width <= 0 || m.height <= 0 {
		return nil
	}
	var out []string
	if n := len(m.pages); n > 0 {
		out = m.pageScreen(m.pages[n-1])
	} else {
		out = m.floorScreen()
	}
	for len(out) < m.height {
		out = append(out, "")
	}
	out = out[:m.height]
	for i, l := range out {
		out[i] = fit(l, m.width)
	}
	return out
}

func (m Model) floorScreen() []string {
	out := make([]string, m.height)
	out[0] = m.headline()
	for _, b := range m.layout() {
		for i, l := range m.paneLines(b) {
			y := b.y + i
			if b.x > 0 {
				out[y] = pad(out[y], b.x)
			}
			out[y] += l
		}
	}
	feet := m.foot()
	copy(out[max(0, m.height-len(feet)):], feet)
	return out
}

// headline names the office and counts what matters.
func (m Model) headline() string {
	var right []string
	for _, c := range m.tally() {
		right = append(right, m.theme.paint(c.look, c.text))
	}
	tail := strings.Join(right, m.theme.paint(dim, " · "))
	left := m.theme.strong(plain, "postroom")
	if m.floor != nil && m.width >= narrow {
		tail += m.theme.paint(dim, "  "+m.now().UTC().Format("15:04 UTC"))
	}
	if room := m.width - width(left) - width(tail) - 4; room >= 8 {
		left += "  " + m.theme.paint(dim, fitEnd(line(m.place), room))
	}
	return spread(left, tail, m.width)
}

// fitEnd cuts text to its last columns: a path tells most there.
func fitEnd(s string, room int) string {
	r := []rune(s)
	for n := 1; width(s) > room && n < len(r); n++ {
		s = "…" + string(r[n:])
	}
	return s
}

// spread puts text at both ends of a line; where there is no room for both, what
// stands right stays.
func spread(left, right string, room int) string {
	space := room - width(right) - 1
	if space < width(left) {
		left = ""
	}
	if space < 0 {
		return fit(right, room)
	}
	return pad(left, space) + " " + right
}

// footMost is how many lines the foot has at most.
const footMost = 3

// foot is what stands below everything: what happened last, else the keys.
func (m Model) foot() []string {
	l, s := m.note.look, m.note.text
	switch {
	case m.filtering:
		return []string{"/" + line(m.filter.String())}
	case s != "":
	case m.lost != nil:
		l, s = bad, m.lost.Error()
	case m.floor != nil && len(m.floor.Faults) > 0:
		l, s = bad, line(m.floor.Faults[0])
	default:
		return []string{m.hints()}
	}
	parts := wrapIn(m.theme, l, s, m.width)
	return parts[:max(1, min(len(parts), footMost, m.height-4))]
}

// hints are the keys that mean something here.
func (m Model) hints() string {
	if m.ask != nil {
		if m.ask.editing {
			return m.theme.paint(dim, "Enter done · Alt-Enter new line · Esc back")
		}
		return m.theme.paint(dim, "the first decision stands")
	}
	keys := []string{"Enter open", "Tab pane", "? keys", "q quit", "/ filter", "z zoom"}
	if len(m.pages) > 0 {
		keys = []string{"Esc back"}
		if p := m.pages[len(m.pages)-1]; p.conversation() != "" && p.kind != onThread {
			keys = append(keys, "t thread")
		}
		if p := m.pages[len(m.pages)-1]; p.kind == onQuestion {
			keys = append(keys, "o message")
		}
		keys = append(keys, "? keys", "q quit", "j k scroll")
	}
	left := keys[0]
	for _, k := range keys[1:] {
		if longer := left + " · " + k; width(longer) <= m.width {
			left = longer
		}
	}
	if f := m.filter.String(); f != "" {
		return spread(m.theme.paint(dim, left), m.theme.paint(warn, "filter: "+line(f)), m.width)
	}
	return m.theme.paint(dim, left)
}

// paneLines are the lines of a pane, each as wide as it.
func (m Model) paneLines(b box) []string {
	rows, at := m.rows(b.pane), m.at[b.pane]
	out := []string{m.rule(b, len(rows))}
	cols := b.pane.columns()
	w := measure(cols, rows, b.width-2)
	for i := range b.height - 1 {
		n := at.top + i
		if n >= len(rows) {
			out = append(out, strings.Repeat(" ", b.width))
			continue
		}
		l := rows[n].draw(m.theme, cols, w)
		if b.pane == m.focus && n == at.index {
			l = m.theme.chosen(pad("> "+l, b.width))
		} else {
			l = pad("  "+l, b.width)
		}
		out = append(out, l)
	}
	return out
}

// rule is the line above a pane: what it is and how much there is.
func (m Model) rule(b box, n int) string {
	t, in := m.theme, b.pane == m.focus
	line, l := "─", dim
	if in {
		line, l = "━", accent
	}
	left := t.paint(l, line) + " "
	if in {
		left += t.strong(accent, b.pane.title())
	} else {
		left += t.strong(plain, b.pane.title())
	}
	switch {
	case n == 0:
		left += " " + t.paint(dim, m.nothing(b.pane))
	default:
		left += " " + t.paint(dim, strconv.Itoa(n))
	}
	right := ""
	if rows := b.height - 1; n > rows && rows > 0 {
		top := m.at[b.pane].top
		right = " " + strconv.Itoa(top+1) + "–" + strconv.Itoa(min(n, top+rows)) + " "
	}
	left = fit(left, b.width-width(right)-1) + " "
	fill := b.width - width(left) - width(right)
	return left + t.paint(l, strings.Repeat(line, max(0, fill-1))) + t.paint(dim, right) + t.paint(l, strings.Repeat(line, min(1, max(0, fill))))
}

// room is how many lines of a page are in view.
func (m Model) room() int {
	if len(m.pages) == 0 {
		return 1
	}
	return max(1, m.height-head-len(m.foot())-1-len(m.bench(m.pages[len(m.pages)-1])))
}

func (m Model) pageScreen(p page) []string {
	lines, room := m.sheet(p), m.room()
	end := min(len(lines), p.top+room)
	where := ""
	if len(lines) > room {
		where = strconv.Itoa(100*end/len(lines)) + " % "
	}
	out := []string{m.headline(), m.titleRule(p, where)}
	out = append(out, lines[min(p.top, len(lines)):end]...)
	for len(out) < head+1+room {
		out = append(out, "")
	}
	out = append(out, m.bench(p)...)
	return append(out, m.foot()...)
}

func (m Model) titleRule(p page, where string) string {
	t := m.theme
	title := [...]string{"Message", "Thread", "For a person", "Agent", "Keys"}[p.kind]
	switch {
	case p.kind == onQuestion && p.question.Approval != nil:
		title = strings.ToUpper(string(p.question.Approval.Kind)[:1]) + string(p.question.Approval.Kind)[1:] + " " + p.ref
	case p.kind == onThread:
		title += " " + line(p.ref)
	case p.kind == onAgent:
		if v, ok := m.agent(p.ref); ok {
			title += " " + line(v.Name)
		}
	case p.kind == onLetter:
		title += " " + mail.ID(p.ref).Short()
	}
	left := t.paint(accent, "━") + " " + t.strong(accent, title) + " "
	if where != "" {
		where = " " + where
	}
	return left + t.paint(accent, strings.Repeat("━", max(0, m.width-width(left)-width(where)))) + t.paint(dim, where)
}

// banner is what stands at the foot of a page, under a rule.
func (m Model) banner(lines []string) []string {
	out := append([]string{m.theme.paint(accent, strings.Repeat("━", m.width))}, lines...)
	return out[:max(1, min(len(out), m.height-head-len(m.foot())-2))]
}

// flow puts parts side by side, as many as fit on each line.
func flow(parts []string, room int) []string {
	var out []string
	for _, p := range parts {
		n := len(out) - 1
		if n >= 0 && width(out[n])+3+width(p) <= room {
			out[n] += "   " + p
			continue
		}
		out = append(out, p)
	}
	return out
}

func wrapIn(t theme, l look, s string, room int) []string {
	parts := wrap(s, room)
	for i := range parts {
		parts[i] = t.paint(l, parts[i])
	}
	return parts
}

// cursor is where the next letter goes, nil if nothing is typed.
func (m Model) cursor() *tea.Cursor {
	switch {
	case m.ask != nil && m.ask.editing:
		room := max(m.width-2, 1)
		parts, row, column := breakAt(m.ask.text.runes, m.ask.text.at, room)
		from := max(0, min(row-textLines+1, len(parts)-textLines))
		shown := min(len(parts), textLines)
		y := m.height - len(m.foot()) - shown + (row - from)
		return tea.NewCursor(2+column, y)
	case m.filtering:
		return tea.NewCursor(1+width(line(string(m.filter.runes[:m.filter.at]))), m.height-1)
	}
	return nil
}
