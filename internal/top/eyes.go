package top

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/standing"
)

const (
	// kept is how many moves are remembered.
	kept = 300
	// reach is how far back the journal is read at first, in bytes: some hundred
	// moves.
	reach = 256 << 10
	// slice is how many agents are looked at in one look at everything. In a large
	// office it takes a few to see them all; who does something is seen at once.
	slice = 64
	// late is how many overdue debts are shown with their subjects.
	late = 200
)

// eyes look at an office again and again, and look anew at what may have
// changed.
type eyes struct {
	room    *Room
	follow  journal.Follower
	begun   bool
	last    uint64                    // record
	agents  map[string]standing.Agent // by aid
	boxes   map[string]string         // aid by the directory of its mailbox
	changed map[string]bool           // aids
	all     bool                      // the next look is at everything
	turn    int                       // of the agents, in looks at everything
	moves   []Move                    // oldest first
	memo    standing.Memo
}

func newEyes(r *Room) *eyes {
	return &eyes{room: r, agents: map[string]standing.Agent{}, boxes: map[string]string{}, changed: map[string]bool{}, all: true}
}

// places are the directories in which what is shown is written.
func (e *eyes) places() []string {
	o := e.room.Office
	dirs := []string{o.FS.Path(journal.Dir), o.FS.Path(office.ApprovalsDir), o.FS.Path(office.ApprovalsDir + "/.done")}
	for dir := range e.boxes {
		dirs = append(dirs, dir)
	}
	return dirs
}

// stale notes what has to be looked at anew.
func (e *eyes) stale(dirs map[string]bool, all bool) {
	e.all = e.all || all
	for dir := range dirs {
		if aid := e.boxes[dir]; aid != "" {
			e.changed[aid] = true
		}
	}
}

// look returns the floor as it is. What can't be seen is said, and hides nothing
// else.
func (e *eyes) look(ctx context.Context) Floor {
	o := e.room.Office
	f := Floor{At: o.Sys.Now()}
	fault := func(err error) {
		if err != nil {
			f.Faults = append(f.Faults, err.Error())
		}
	}
	box, err := e.room.person()
	if err != nil {
		fault(err)
		return f
	}
	fault(e.read())
	f.Last, f.Moves = e.last, merge(e.moves)
	f.Waiting, err = approval.Open(o.FS)
	fault(err)
	debts, err := e.memo.Debts(o)
	fault(err)
	f.Debts = owed(box, debts)
	f.Agents, err = e.lookAround(ctx, box.Registry)
	fault(err)
	e.all = false
	return f
}

// lookAround looks at the agents that may have changed.
func (e *eyes) lookAround(ctx context.Context, reg *registry.Registry) ([]standing.Agent, error) {
	v := e.room.View
	v.Memo = &e.memo
	x, err := standing.NewLooker(e.room.Office, v)
	if err != nil {
		return nil, err
	}
	entries := slices.DeleteFunc(reg.Entries(), func(r registry.Entry) bool { return r.Archived || r.Speaks() })
	slices.SortFunc(entries, func(a, b registry.Entry) int { return strings.Compare(a.Name, b.Name) })
	if e.all {
		for i := range min(slice, len(entries)) {
			e.changed[entries[(e.turn+i)%len(entries)].AID] = true
		}
		e.turn += slice
	}
	clear(e.boxes)
	out := make([]standing.Agent, 0, len(entries))
	now := make(map[string]standing.Agent, len(entries))
	for _, r := range entries {
		v, known := e.agents[r.AID]
		if !known || e.changed[r.AID] || v.Name != r.Name {
			v = x.Look(ctx, r)
		}
		now[r.AID] = v
		e.boxes[filepath.Dir(r.InboxPath)] = r.AID
		out = append(out, v)
	}
	e.agents = now
	clear(e.changed)
	return out, ctx.Err()
}

// read takes in what is new in the journal.
func (e *eyes) read() error {
	fsys := e.room.Office.FS
	if !e.begun {
		if err := e.follow.Back(fsys, reach); err != nil {
			return err
		}
		e.begun = true
	}
	err := e.follow.Next(fsys, func(r journal.Record) error {
		e.last = r.N
		e.take(r)
		return nil
	})
	e.moves = e.moves[max(0, len(e.moves)-kept):]
	for i := range e.moves {
		e.name(&e.moves[i])
	}
	return err
}

// take notes a record, and whom it concerns.
func (e *eyes) take(r journal.Record) {
	if r.AID != "" {
		e.changed[r.AID] = true
	}
	for aid, v := range e.agents { // whose debts or clock it may have changed
		if v.Name == r.From {
			e.changed[aid] = true
		}
	}
	m := Move{At: r.At, N: r.N, Event: mailbox.EventFor(r.Event, r.Agent), ID: r.ID, From: r.From, Act: r.Act, Approval: r.Detail["approval"]}
	switch r.Event {
	case journal.Delivered, journal.Redelivered, journal.Bounced, journal.Read, journal.Done, journal.Arrived, journal.Refused:
		m.To = []string{r.Agent}
		if r.Event == journal.Bounced {
			m.Why = r.Detail["reason"]
		}
	case journal.Escalated:
		m.To = []string{office.Human}
	case journal.Decided:
		m.From, m.To = office.Human, []string{r.Agent}
	default:
		return
	}
	if len(e.moves) >= 2*kept { // in a flood only the last are wanted
		e.moves = slices.Clone(e.moves[kept:])
	}
	e.moves = append(e.moves, m)
}

// name adds what the journal does not say of a message.
func (e *eyes) name(m *Move) {
	if m.Subject != "" || m.ID == "" {
		return
	}
	letter, _, err := e.room.Office.ReadMessage(m.ID)
	if err != nil {
		m.Subject = m.Why
		return
	}
	m.Subject, m.Act = letter.Subject, string(letter.Act)
	if m.From == "" {
		m.From = letter.From
	}
	if m.Subject == "" {
		m.Subject = "(no subject)"
	}
}

// nearby is how many lines apart what happened to one message may be to stand on
// one.
const nearby = 12

// merge puts what happened to one message at several agents side by side, newest
// first. That somebody read what it has done goes without saying.
func merge(moves []Move) []Move {
	moves = slices.Clone(moves)
	slices.SortStableFunc(moves, func(a, b Move) int { return a.At.Compare(b.At) })
	out := make([]Move, 0, len(moves))
	for _, m := range slices.Backward(moves) {
		if !joined(out[max(0, len(out)-nearby):], m) {
			out = append(out, m)
		}
	}
	return out
}

// joined reports whether a line says already, or says now, what happened.
func joined(lines []Move, m Move) bool {
	if m.ID == "" {
		return false
	}
	same := -1
	for i, l := range lines {
		switch {
		case l.ID != m.ID:
		case l.Event == journal.Done && m.Event == journal.Read && slices.Contains(l.To, m.To[0]):
			return true
		case l.Event == m.Event && l.Approval == m.Approval:
			same = i
		}
	}
	if same >= 0 {
		lines[same].To, lines[same].N = append(slices.Clone(m.To), lines[same].To...), m.N
	}
	return same >= 0
}

// owed lists who owes whom, the earliest due first; overdue ones with their
// subjects.
func owed(box *mailbox.Mailbox, debts []policy.Debt) []mailbox.Owed {
	var out []mailbox.Owed
	for i, d := range debts {
		o := box.OwedNow(d)
		if o.Late > 0 && i < late {
			if m, _, err := box.Office.ReadMessage(d.ID); err == nil {
				o.Subject = m.Subject
			}
		}
		out = append(out, o)
	}
	return out
}

// Once is the floor as it is now.
func (r *Room) Once(ctx context.Context) Floor { return newEyes(r).look(ctx) }
