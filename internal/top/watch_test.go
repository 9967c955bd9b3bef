package top

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/standing"
)

func roomOf(d *officetest.RealDesk) *Room {
	o := d.Office()
	return &Room{Office: o, Dispatcher: dispatch.New(o, notify.NewTable(notify.None{}), "post"),
		Patience: dispatch.Patience{Op: "top", For: 20 * time.Second}, View: standing.View{RosterDir: d.Path("roster")}}
}

// watched are the floors of an office, as they come.
func watched(t *testing.T, r *Room) func(what string, ok func(Floor) bool) Floor {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	floors, ended := make(chan Floor, 1), make(chan error, 1)
	go func() {
		ended <- r.Watch(ctx, func(f Floor) error {
			select {
			case <-floors:
			default:
			}
			floors <- f
			return nil
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	var last Floor
	return func(what string, ok func(Floor) bool) Floor {
		t.Helper()
		if ok(last) {
			return last
		}
		for over := time.After(30 * time.Second); ; {
			select {
			case last = <-floors:
				if ok(last) {
					return last
				}
			case <-over:
				t.Fatal("it did not come: ", what)
			}
		}
	}
}

// What happens is on the floor at once: a delivery, an answer that is owed, a
// session's state, a question and its decision.
func TestWatchIsLive(t *testing.T) {
	t.Parallel()
	d := officetest.NewRealDesk(t, "ann", "bob")
	d.Mail("ann", "bob", mail.Inform, "Before", "It was there before.")
	next := watched(t, roomOf(d))
	f := next("the floor", func(f Floor) bool { return len(f.Agents) == 2 && len(f.Moves) == 1 })
	if f.Moves[0].Subject != "Before" || f.Moves[0].Route() != "ann → bob" || f.Agents[1].Unread != 1 || len(f.Faults) > 0 {
		t.Errorf("%+v", f)
	}

	took := make([]time.Duration, 7)
	for i := range took {
		begin := time.Now()
		id := d.Mail("ann", "bob", mail.Request, "Now", "Do it, at "+begin.String())
		next("a message", func(f Floor) bool {
			return len(f.Moves) > 0 && f.Moves[0].ID == id && f.Moves[0].Event == journal.Delivered
		})
		took[i] = time.Since(begin)
	}
	slices.Sort(took)
	if t.Logf("sent, delivered and seen within %v", took); took[2] > 300*time.Millisecond { // the rest is what else the machine does
		t.Errorf("it takes %v until a message is seen", took)
	}
	next("what is unread and owed", func(f Floor) bool { return f.Agents[1].Unread == 8 && f.Agents[1].Owes == 7 })

	box := d.Box("bob").Author.Box
	now := time.Now()
	if err := presence.WriteIn(box.FS, box.Dir, presence.Session{Runtime: "claude", ID: "s", State: presence.Dialog, Since: now, At: now}); err != nil {
		t.Fatal(err)
	}
	next("a dialog", func(f Floor) bool { return f.Agents[1].Presence == standing.AtDialog })

	d.Mail("bob", "human", mail.Query, "May I?", "…")
	f = next("a question", func(f Floor) bool { return len(f.Waiting) == 1 })
	done, err := roomOf(d).Decide(context.Background(), f.Waiting[0].ID, approval.Decision{Text: "Yes."})
	if err != nil || !done.Told {
		t.Errorf("%+v %v", done, err)
	}
	next("its decision", func(f Floor) bool {
		return len(f.Waiting) == 0 && slices.ContainsFunc(f.Moves, func(v Move) bool { return v.Event == journal.Decided && v.Approval == done.Approval.ID })
	})
	if !slices.ContainsFunc(f.Moves, func(v Move) bool { return v.From == "human" && v.Event == journal.Delivered }) {
		next("the answer", func(f Floor) bool {
			return slices.ContainsFunc(f.Moves, func(v Move) bool { return v.From == "human" && v.Event == journal.Delivered })
		})
	}
}

// A fault of ours ends the watch as an error, so that the terminal is given back.
func TestWatchCatchesFaults(t *testing.T) {
	t.Parallel()
	r := roomOf(officetest.NewRealDesk(t, "ann"))
	err := r.Watch(context.Background(), func(Floor) error { panic("upside down") })
	if err == nil || !strings.Contains(err.Error(), "upside down") {
		t.Error(err)
	}
	r.Dispatcher = nil // the pass falls
	err = r.Watch(context.Background(), func(Floor) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "nil pointer") {
		t.Error(err)
	}
}

// What a page asks of a real office.
func TestRoom(t *testing.T) {
	t.Parallel()
	d := officetest.NewRealDesk(t, "ann", "bob")
	id := d.Mail("ann", "bob", mail.Request, "Do", "It.")
	r := roomOf(d)
	l, err := r.Letter(id)
	if err != nil || l.Life.Message.Body != "It." || len(l.Life.Steps) < 2 || !strings.Contains(l.Next[0], "bob owes ann an answer") {
		t.Errorf("%+v %v", l, err)
	}
	list, err := r.Thread(l.Life.Message.Conversation)
	if err != nil || len(list) != 1 {
		t.Errorf("%v %v", list, err)
	}
	d.Mail("bob", "human", mail.Query, "May I?", "…")
	f := r.Once(context.Background())
	q, err := r.Question(f.Waiting[0].ID)
	if err != nil || q.Approval.Subject != "May I?" || q.Decision != nil || len(q.Thread) != 1 {
		t.Errorf("%+v %v", q, err)
	}
	if _, err := r.Letter("2026-01-01T00-00-00-000Z-0000-00000000"); mail.KindOf(err) != mail.KindNotFound {
		t.Error(err)
	}
}

// One line for what happened to one message at several agents, and none for what
// goes without saying.
func TestMerge(t *testing.T) {
	t.Parallel()
	at := func(sec int, event string, id mail.ID, to string) Move {
		return Move{At: noon().Add(time.Duration(sec) * time.Second), N: uint64(sec), Event: event, ID: id, From: "ann", To: []string{to}}
	}
	got := merge([]Move{
		at(1, journal.Delivered, "m", "bob"), at(1, journal.Delivered, "m", "carol"), at(3, journal.Read, "m", "bob"), at(2, journal.Delivered, "n", "bob"),
		at(4, journal.Done, "m", "bob"), at(5, journal.Read, "m", "carol"),
	})
	var lines []string
	for _, v := range got {
		lines = append(lines, v.Event+" "+string(v.ID)+" "+v.Route())
	}
	want := []string{"read m ann → carol", "done m ann → bob", "delivered n ann → bob", "delivered m ann → bob +1"}
	if !slices.Equal(lines, want) {
		t.Errorf("%q", lines)
	}
}
