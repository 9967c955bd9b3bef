package top

import (
	tea "charm.land/bubbletea/v2"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
)

// key does what a key means where it is typed.
func (m Model) key(k tea.KeyPressMsg) (Model, tea.Cmd) {
	m.note = note{}
	switch s := k.String(); {
	case s == "ctrl+c":
		return m, tea.Quit
	case s == "ctrl+z":
		return m, tea.Suspend
	case m.ask != nil:
		return m.askKey(k)
	case m.filtering:
		return m.filterKey(k), nil
	case s == "q":
		return m, tea.Quit
	case len(m.pages) > 0:
		return m.pageKey(k)
	}
	return m.floorKey(k)
}

func (m Model) paste(s string) Model {
	switch {
	case m.ask != nil && m.ask.editing:
		a := *m.ask
		a.text = a.text.insert(s)
		m.ask = &a
	case m.ask == nil && m.filtering:
		m.filter = m.filter.insert(s)
	}
	return m
}

func (m Model) filterKey(k tea.KeyPressMsg) Model {
	switch k.String() {
	case "esc":
		m.filter, m.filtering = field{}, false
	case "enter", "tab", "down", "up":
		m.filtering = false
	default:
		m.filter, _ = m.filter.key(k)
	}
	return m
}

func (m Model) floorKey(k tea.KeyPressMsg) (Model, tea.Cmd) {
	switch k.String() {
	case "tab", "right", "l":
		m.focus = (m.focus + 1) % panes
	case "shift+tab", "left", "h":
		m.focus = (m.focus + panes - 1) % panes
	case "/":
		m.filtering = true
	case "esc":
		m.filter, m.zoom = field{}, false
	case "z":
		m.zoom = !m.zoom
	case "?":
		return m.open(page{kind: onKeys})
	case "enter":
		return m.openRow()
	default:
		m.at[m.focus] = m.move(k.String())
	}
	return m, nil
}

// move moves the cursor of the pane in focus.
func (m Model) move(key string) cursor {
	c, rows, height := m.at[m.focus], m.rows(m.focus), 1
	for _, b := range m.layout() {
		if b.pane == m.focus {
			height = max(1, b.height-1)
		}
	}
	to, ok := moved(key, c.index, height, len(rows))
	if !ok {
		return c
	}
	return c.to(to, rows, height)
}

// moved is where a key leads in a list of n, of which height are in view.
func moved(key string, from, height, n int) (to int, ok bool) {
	switch key {
	case "j", "down":
		return from + 1, true
	case "k", "up":
		return from - 1, true
	case "g", "home":
		return 0, true
	case "G", "end":
		return n - 1, true
	case "pgdown", "space", "ctrl+f":
		return from + height, true
	case "pgup", "ctrl+b":
		return from - height, true
	case "ctrl+d":
		return from + max(1, height/2), true
	case "ctrl+u":
		return from - max(1, height/2), true
	}
	return from, false
}

// openRow opens what the cursor is on.
func (m Model) openRow() (Model, tea.Cmd) {
	rows, at := m.rows(m.focus), m.at[m.focus]
	if at.index >= len(rows) {
		return m, nil
	}
	key := rows[at.index].key
	switch m.focus {
	case waiting:
		return m.open(page{kind: onQuestion, ref: key})
	case agents:
		return m.open(page{kind: onAgent, ref: key})
	case moving:
		mv, ok := m.moveOf(key)
		if !ok {
			return m, nil
		}
		if mv.Approval != "" && (mv.Event == journal.Escalated || mv.Event == journal.Decided) {
			return m.open(page{kind: onQuestion, ref: mv.Approval})
		}
		return m.open(page{kind: onLetter, ref: string(mv.ID)})
	case overdue:
		id, _ := debtKey(key)
		return m.open(page{kind: onLetter, ref: string(id)})
	}
	return m, nil
}

func (m Model) pageKey(k tea.KeyPressMsg) (Model, tea.Cmd) {
	p := m.pages[len(m.pages)-1]
	switch s := k.String(); s {
	case "esc", "backspace", "left", "h":
		m.pages = m.pages[:len(m.pages)-1]
		return m, nil
	case "?":
		if p.kind != onKeys {
			return m.open(page{kind: onKeys})
		}
	case "t":
		if c := p.conversation(); c != "" && p.kind != onThread {
			return m.open(page{kind: onThread, ref: c})
		}
	case "o":
		if id := p.message(); id != "" && p.kind != onLetter {
			return m.open(page{kind: onLetter, ref: string(id)})
		}
	default:
		if a, ok := p.asking(s); ok {
			m.ask = a
			return m, nil
		}
		lines := m.sheet(p)
		if to, ok := moved(s, p.top, m.room(), len(lines)); ok {
			p.top = to
			m.pages = append(m.pages[:len(m.pages)-1:len(m.pages)-1], p)
		}
	}
	return m, nil
}

// open puts a page on top and asks for what it shows.
func (m Model) open(p page) (Model, tea.Cmd) {
	p.waits = p.kind == onLetter || p.kind == onThread || p.kind == onQuestion
	if m.floor != nil {
		p.seen, p.at = m.floor.Last, m.floor.At
	}
	m.pages = append(m.pages[:len(m.pages):len(m.pages)], p)
	return m, m.find(p)
}

// message is the message that a page is about.
func (p page) message() mail.ID {
	switch {
	case p.kind == onQuestion && p.question.Approval != nil:
		return p.question.Approval.Message
	case p.kind == onLetter:
		return mail.ID(p.ref)
	}
	return ""
}

// conversation is the conversation that a page is about.
func (p page) conversation() string {
	switch {
	case p.kind == onQuestion && p.question.Approval != nil:
		return p.question.Approval.Conversation
	case p.kind == onLetter && p.letter.Life != nil:
		return p.letter.Life.Message.Conversation
	case p.kind == onThread:
		return p.ref
	}
	return ""
}
