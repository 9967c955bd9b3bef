package top

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/mail"
)

// Desk is what a screen asks of an office.
type Desk interface {
	Letter(id mail.ID) (Letter, error)
	Thread(conversation string) ([]*mail.Message, error)
	Question(id string) (Question, error)
	Decide(ctx context.Context, id string, d approval.Decision) (dispatch.Decided, error)
}

// Model is the screen and what it shows.
type Model struct {
	ctx    context.Context
	desk   Desk
	floors <-chan Floor // closed when there will be no more
	place  string       // names the office
	theme  theme

	width, height int
	floor         *Floor // nil: none has come yet
	focus         pane
	zoom          bool // the pane in focus has the whole screen
	lists         lists
	at            [panes]cursor
	filter        field
	filtering     bool   // what is typed goes into filter
	pages         []page // what is open, the last on top
	ask           *ask   // a decision under way; it belongs to the page on top
	note          note   // what happened last
	lost          error  // why nothing new comes
}

// note is a line at the foot, until the next key.
type note struct {
	look look
	text string
}

// Options are what a screen is made of.
type Options struct {
	Desk   Desk
	Floors <-chan Floor
	Place  string // of the office, as a person knows it
	Colour bool
	Light  bool // the terminal's background, until it says itself
}

// New returns a screen that has not shown anything yet. What it asks of the
// desk ends with ctx.
func New(ctx context.Context, o Options) Model {
	return Model{ctx: ctx, desk: o.Desk, floors: o.Floors, place: o.Place, theme: theme{colour: o.Colour, light: o.Light}}
}

type (
	floorMsg Floor
	lostMsg  struct{}
	foundMsg struct{ page page }
	// decidedMsg is what came of a decision.
	decidedMsg struct {
		id   string
		done dispatch.Decided
		err  error
	}
)

// Init asks the terminal for its background, and waits for a floor.
func (m Model) Init() tea.Cmd {
	if !m.theme.colour {
		return m.next()
	}
	return tea.Batch(tea.RequestBackgroundColor, m.next())
}

// next waits for a floor.
func (m Model) next() tea.Cmd {
	return func() tea.Msg {
		f, ok := <-m.floors
		if !ok {
			return lostMsg{}
		}
		return floorMsg(f)
	}
}

// Update takes in what happened.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.BackgroundColorMsg:
		m.theme.light = !msg.IsDark()
	case tea.KeyPressMsg:
		m, cmd = m.key(msg)
	case tea.PasteMsg:
		m = m.paste(msg.Content)
	case floorMsg:
		f := Floor(msg)
		m.floor = &f
		m, cmd = m.refresh()
		cmd = tea.Batch(m.next(), cmd)
	case lostMsg:
		m.lost = errors.New("nothing new comes any more; start post top again")
	case foundMsg:
		m = m.found(msg.page)
	case decidedMsg:
		m, cmd = m.decided(msg)
	}
	return m.settled(), cmd
}

// now is the time of the floor: ages and what they are ages of belong together.
func (m Model) now() time.Time {
	if m.floor == nil {
		return time.Time{}
	}
	return m.floor.At
}

// settled puts every cursor where its row is now, and in view.
func (m Model) settled() Model {
	m = m.listed()
	for _, b := range m.layout() {
		m.at[b.pane] = m.at[b.pane].on(m.rows(b.pane), b.height-1)
	}
	if n := len(m.pages); n > 0 {
		p := m.pages[n-1]
		p.laid = laid{m.width, m.theme, m.ages(p), m.sheet(p)}
		p.top = max(0, min(p.top, len(p.laid.lines)-m.room()))
		m.pages = append(m.pages[:n-1:n-1], p)
	}
	return m
}

// cursor is where a pane is looked at.
type cursor struct {
	key   string // of the row
	index int
	top   int // the first row in view
}

// on puts the cursor on its row, wherever that is now. At the first row it
// stays there: what comes in above is seen.
func (c cursor) on(rows []row, height int) cursor {
	if c.index > 0 {
		for i, r := range rows {
			if r.key == c.key {
				c.index = i
				break
			}
		}
	}
	return c.to(c.index, rows, height)
}

// to puts the cursor on a row, and that in view.
func (c cursor) to(index int, rows []row, height int) cursor {
	c.index, c.key = max(0, min(index, len(rows)-1)), ""
	if len(rows) > 0 {
		c.key = rows[c.index].key
	}
	height = max(height, 1)
	c.top = max(0, min(c.top, c.index, len(rows)-height))
	c.top = max(c.top, c.index-height+1)
	return c
}
