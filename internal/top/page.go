package top

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/postroom/postroom/internal/mail"
)

// kind is what a page shows.
type kind int

const (
	onLetter kind = iota
	onThread
	onQuestion
	onAgent
	onKeys
)

// page is one thing opened.
type page struct {
	kind  kind
	ref   string // an id, a conversation, an aid
	top   int    // the first line in view
	waits bool   // nothing was found yet
	err   error

	letter   Letter
	thread   []*mail.Message
	question Question

	seen uint64    // the floor's last record when it was looked for
	at   time.Time // and the floor's time
	gone bool      // the approval did not wait any more then

	laid laid
}

// find looks for what a page shows.
func (m Model) find(p page) tea.Cmd {
	desk := m.desk
	return func() tea.Msg {
		switch p.kind {
		case onLetter:
			p.letter, p.err = desk.Letter(mail.ID(p.ref))
		case onThread:
			p.thread, p.err = desk.Thread(p.ref)
		case onQuestion:
			p.question, p.err = desk.Question(p.ref)
		default:
			return nil
		}
		return foundMsg{p}
	}
}

// found fills the page that it was looked for.
func (m Model) found(p page) Model {
	pages := append([]page(nil), m.pages...)
	for i, old := range pages {
		if old.kind != p.kind || old.ref != p.ref {
			continue
		}
		p.laid = laid{}
		p.top, p.waits, p.seen, p.at, p.gone = old.top, false, old.seen, old.at, old.gone
		if p.err != nil && !old.waits && old.err == nil {
			m.note = note{bad, line(p.err.Error())} // what was there stays
			continue
		}
		pages[i] = p
	}
	m.pages = pages
	return m
}

// restful is how long a page stays as it was found, however busy the office.
const restful = time.Second

// refresh looks again for what the page on top shows, if something happened
// since.
func (m Model) refresh() (Model, tea.Cmd) {
	n := len(m.pages) - 1
	if n < 0 {
		return m, nil
	}
	p := m.pages[n]
	gone := p.kind == onQuestion && p.question.Decision == nil && !m.waits(p.ref)
	switch {
	case p.kind == onAgent, p.kind == onKeys:
		return m, nil
	case gone && !p.gone: // decided elsewhere: at once
	case p.seen == m.floor.Last || m.floor.At.Sub(p.at) < restful:
		return m, nil
	}
	p.gone, p.seen, p.at = gone, m.floor.Last, m.floor.At
	m.pages = append(m.pages[:n:n], p)
	return m, m.find(p)
}

// waits reports whether an approval waits for a person.
func (m Model) waits(id string) bool {
	for i := range m.floor.Waiting {
		if m.floor.Waiting[i].ID == id {
			return true
		}
	}
	return false
}
