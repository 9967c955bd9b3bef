package top

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/standing"
)

// pane is one list on the floor.
type pane int

const (
	waiting pane = iota
	agents
	moving
	overdue
	panes
)

func (p pane) title() string {
	return [...]string{"Waiting for you", "Agents", "Moving", "Overdue"}[p]
}

// columns of a pane, in the order of its cells.
func (p pane) columns() []column {
	switch p {
	case waiting: // from, age, kind, subject, expires, id
		return []column{{most: 20}, {right: true}, {drop: 2}, {flex: true, least: 30}, {drop: 3}, {spare: true}}
	case agents: // name, presence, unread, owes, runtime, woken by, note
		return []column{{most: 24}, {}, {}, {drop: 2}, {drop: 4}, {drop: 3, most: 24}, {drop: 5, flex: true, least: 24}}
	case moving: // time, event, route, act, subject, id
		return []column{{}, {drop: 1}, {most: 44, flex: true, least: 18}, {drop: 3}, {drop: 2, flex: true, least: 12}, {drop: 4}}
	}
	return []column{{most: 44}, {drop: 2}, {}, {drop: 1, flex: true, least: 16}, {spare: true}} // who, what, how late, subject, id
}

// nothing is what an empty pane says.
func (m Model) nothing(p pane) string {
	switch {
	case m.floor == nil:
		return "…"
	case m.filter.String() != "":
		return "nothing fits the filter"
	case p == agents:
		return "none yet: post join NAME, in the directory where one works"
	case p == overdue:
		if n := len(m.floor.Debts); n > 0 {
			return "nothing; " + plural(n, "answer is", "answers are") + " owed"
		}
	}
	return "nothing"
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// lists are the rows of the panes, and of what.
type lists struct {
	floor  *Floor
	filter string
	short  bool
	rows   [panes][]row
}

// listed makes the rows anew if they are of something else.
func (m Model) listed() Model {
	l := lists{floor: m.floor, filter: m.filter.String(), short: m.width < narrow}
	if m.lists.floor == l.floor && m.lists.filter == l.filter && m.lists.short == l.short {
		return m
	}
	for p := range panes {
		l.rows[p] = m.list(p, l.short)
	}
	m.lists = l
	return m
}

func (m Model) rows(p pane) []row { return m.lists.rows[p] }

// list is the lines of a pane that fit the filter.
func (m Model) list(p pane, short bool) []row {
	if m.floor == nil {
		return nil
	}
	words := strings.Fields(strings.ToLower(m.filter.String()))
	var out []row
	add := func(r row) {
		if r.matches(words) {
			out = append(out, r)
		}
	}
	switch p {
	case waiting:
		for i := range m.floor.Waiting {
			add(waitingRow(&m.floor.Waiting[i], m.now()))
		}
	case agents:
		for _, a := range m.floor.Agents {
			add(agentRow(a, m.now(), short))
		}
	case moving:
		for _, v := range m.floor.Moves {
			add(moveRow(v, m.now(), short))
		}
	case overdue:
		for _, o := range m.floor.Overdue() {
			add(debtRow(o))
		}
	}
	return out
}

func waitingRow(a *approval.Approval, now time.Time) row {
	if a.Broken != nil {
		return row{a.ID, []cell{{a.ID, bad}, {"", plain}, {"broken", bad}, {line(a.Broken.Error()), plain}, {"", plain}, {"", plain}}}
	}
	kind := cell{string(a.Kind), dim}
	if a.Kind == policy.Release {
		kind.look = warn
	}
	ends := cell{"", dim}
	if !a.Expires.IsZero() {
		left := a.Expires.Sub(now)
		ends.text = mail.Age(left) + " left"
		switch {
		case a.ExpiredAt(now):
			ends = cell{"expired", bad}
		case left < time.Hour:
			ends.look = warn
		}
	}
	return row{a.ID, []cell{{asker(a), accent}, {mail.Age(now.Sub(a.Created)), dim}, kind, {subject(a.Subject), bold}, ends, {a.ID, dim}}}
}

// asker is who asked: postroom itself, where nobody did.
func asker(a *approval.Approval) string {
	if a.Asker == "" {
		return "postroom"
	}
	return line(a.Asker)
}

func subject(s string) string {
	if s == "" {
		return "(no subject)"
	}
	return line(s)
}

func agentRow(v standing.Agent, now time.Time, short bool) row {
	unread, oldest := v.Mail(now)
	mailCell := cell{"", plain}
	switch {
	case v.Problem != "":
		mailCell = cell{"unreadable", bad}
	case v.Leaving > 0:
		mailCell.text = unread
		if !short {
			mailCell.text += ", " + oldest
		}
	case v.Unread > 0:
		mailCell.text = unread + " unread"
		if !short {
			mailCell.text += ", " + oldest
		}
		if v.Behind != "" {
			mailCell.look = warn
		}
	}
	owes := cell{"", plain}
	if v.Owes > 0 {
		owes.text = "owes " + strconv.Itoa(v.Owes)
	}
	if v.Overdue > 0 {
		owes = cell{owes.text + ", " + strconv.Itoa(v.Overdue) + " late", bad}
	}
	woken := cell{line(v.WokenBy(true)), dim}
	if v.Wake != nil && v.Wake.State == standing.WakeFailing {
		woken.look = bad
	}
	if woken.text == "-" || woken.text == notify.KindNone {
		woken.text = ""
	}
	return row{v.AID, []cell{{line(v.Name), bold}, {v.Word(now), presenceLook(v)}, mailCell, owes, {line(v.Runtime), dim}, woken, {line(v.Note()), dim}}}
}

func presenceLook(v standing.Agent) look {
	switch v.Presence {
	case standing.Busy, standing.Active:
		if v.Behind != "" {
			return warn
		}
		return good
	case standing.AtDialog:
		return warn
	case standing.Down:
		if v.Unread > 0 || v.Owes > 0 {
			return bad
		}
	case standing.Idle:
		if v.Behind != "" {
			return warn
		}
		return plain
	}
	return dim
}

// narrow is the width below which there is no room for seconds, in columns.
const narrow = 64

func moveRow(v Move, now time.Time, short bool) row {
	event := cell{v.Event, dim}
	switch v.Event {
	case journal.Bounced, journal.Refused:
		event.look = bad
	case journal.Escalated:
		event = cell{"asked", accent}
	case journal.Decided:
		event.look = accent
	case journal.Delivered:
		event.look = plain
	}
	id, at := "", clock(v.At, now)
	if v.ID != "" {
		id = v.ID.Short()
	}
	if short { // the time, or the day
		at = at[:len("15:04")]
	}
	return row{moveKey(v), []cell{{at, dim}, event, {line(v.Route()), plain}, {line(v.Act), dim}, {line(v.Subject), plain}, {id, dim}}}
}

// Route says from whom and to whom.
func (v Move) Route() string {
	from := v.From
	if from == "" {
		from = "?"
	}
	if len(v.To) == 0 || v.To[0] == "" {
		return from
	}
	to := v.To[0]
	if n := len(v.To) - 1; n > 0 {
		to += " +" + strconv.Itoa(n)
	}
	return from + " → " + to
}

// clock shows a time of today as such, an older one with its day. Time is UTC
// everywhere (design §5).
func clock(at, now time.Time) string {
	at, now = at.UTC(), now.UTC()
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format(time.TimeOnly)
	}
	return at.Format("01-02 15:04")
}

// moveKey names what happened to a message, with all whom it happened to.
func moveKey(v Move) string { return string(v.ID) + " " + v.Event + " " + strconv.FormatUint(v.N, 10) }

func (m Model) moveOf(key string) (Move, bool) {
	for _, v := range m.floor.Moves {
		if moveKey(v) == key {
			return v, true
		}
	}
	return Move{}, false
}

func debtRow(o mailbox.Owed) row {
	who := line(o.DebtorName) + " owes " + line(o.CreditorName)
	return row{string(o.ID) + " " + o.Debtor, []cell{{who, plain}, {o.What(), dim}, {o.Lateness(), bad}, {subject(o.Subject), plain}, {o.ID.Short(), dim}}}
}

// debtKey takes the key of a debt's row apart.
func debtKey(key string) (mail.ID, string) {
	id, debtor, _ := strings.Cut(key, " ")
	return mail.ID(id), debtor
}

// tally is what the head of the screen counts.
func (m Model) tally() []cell {
	if m.floor == nil {
		return nil
	}
	n, late := len(m.floor.Waiting), len(m.floor.Overdue())
	out := []cell{{"nothing waits for you", dim}}
	if n > 0 {
		out[0] = cell{fmt.Sprintf("%d for you", n), warn}
	}
	if late > 0 {
		out = append(out, cell{fmt.Sprintf("%d overdue", late), bad})
	}
	return append(out, cell{plural(len(m.floor.Agents), "agent", "agents"), dim})
}
