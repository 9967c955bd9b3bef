package web

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/standing"
)

var noon = time.Date(2026, 5, 30, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) *time.Time {
	t := noon.Add(-d)
	return &t
}

func TestDesksOf(t *testing.T) {
	t.Parallel()
	list := []standing.Agent{
		{Name: "ann", Presence: standing.Busy, LastSeen: ago(time.Minute), Unread: 2, Oldest: ago(time.Hour), Owes: 3, Overdue: 1},
		{Name: "bob", Presence: standing.AtDialog, Evidence: "a permission question has been open since 2m ago"},
		{Name: "cid", Presence: standing.Down, Evidence: "its session ended 3h ago"},
		{Name: "dan", Presence: standing.Down, Evidence: "its session ended 3h ago", Unread: 1, Oldest: ago(time.Minute)},
		{Name: "eve", Presence: standing.Idle, Wake: &standing.Wake{State: standing.WakeFailing, Evidence: "no such pane"}},
		{Name: "fay", Presence: standing.NotSeen, Problem: "read mailbox fay: gone"},
	}
	desks, hidden, sum := desksOf(list)
	if want := (floorSum{Agents: 6, Busy: 1, Dialogs: 1, Unread: 3, Overdue: 1}); sum != want || hidden != 0 {
		t.Errorf("%+v, %d hidden", sum, hidden)
	}
	for i, want := range []struct{ tone, word, note string }{
		{"accent", "busy", ""},
		{"warn", "at a dialog", "a permission question has been open since 2m ago"},
		{"dim", "down", ""},
		{"bad", "down", "its session ended 3h ago"},
		{"good", "idle", "waking it fails: no such pane"},
		{"bad", "not seen yet", "read mailbox fay: gone"},
	} {
		d := desks[i]
		if d.Presence.Tone != want.tone || d.Presence.Word != want.word || d.Note != want.note {
			t.Errorf("%s: %+v, note %q", d.Name, d.Presence, d.Note)
		}
	}
	if d := desks[0]; !d.Oldest.Equal(*ago(time.Hour)) || d.Owes != 3 || d.Overdue != 1 || !d.Presence.Seen.Equal(*ago(time.Minute)) {
		t.Errorf("%+v", d)
	}
}

// Of more agents than desks those have one with whom something is, and the list
// that was given stays as it was.
func TestDesksOfMany(t *testing.T) {
	t.Parallel()
	var list []standing.Agent
	for i := range deskMost + 40 {
		list = append(list, standing.Agent{Name: fmt.Sprintf("a%03d", i), LastSeen: ago(time.Duration(i) * time.Hour)})
	}
	list[99].Behind, list[98].Unread = "an answer is overdue", 1
	before := slices.Clone(list)
	desks, hidden, sum := desksOf(list)
	if len(desks) != deskMost || hidden != 40 || sum.Agents != deskMost+40 {
		t.Fatalf("%d desks, %d hidden, %+v", len(desks), hidden, sum)
	}
	names := ""
	for _, d := range desks {
		names += d.Name + " "
	}
	for _, want := range []string{"a000", "a057", "a098", "a099"} {
		if !strings.Contains(names, want) {
			t.Errorf("%s has no desk: %s", want, names)
		}
	}
	if strings.Contains(names, "a058") || !slices.IsSortedFunc(desks, func(a, b floorDesk) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error(names)
	}
	for i := range list {
		if list[i].Name != before[i].Name {
			t.Fatal("the list was sorted in place")
		}
	}
}

func TestPairsOf(t *testing.T) {
	t.Parallel()
	at := func(ago time.Duration, from, to string) Delivery {
		return Delivery{At: noon.Add(-ago), From: from, To: to}
	}
	v := pairsOf([]Delivery{
		at(2*time.Hour, "ann", "bob"), at(50*time.Minute, "bob", "ann"), at(40*time.Minute, "ann", "bob"), at(30*time.Minute, "ann", "bob"),
		at(20*time.Minute, "postroom", "ann"), at(10*time.Minute, "human", "cid"), at(5*time.Minute, "ann", "ann"),
	}, noon)
	want := []pair{{"ann", "bob", 2, 1, noon.Add(-30 * time.Minute)}, {"cid", "human", 0, 1, noon.Add(-10 * time.Minute)}}
	if !slices.Equal(v.List, want) || v.Most != 3 || v.More != 0 || v.Cut || !v.Since.Equal(noon.Add(-pairsFor)) {
		t.Errorf("%+v", v)
	}
	var many []Delivery
	for i := range keptLately {
		many = append(many, at(time.Duration(keptLately-i)*time.Millisecond, fmt.Sprintf("a%02d", i%20), "bob"))
	}
	if v := pairsOf(many, noon); len(v.List) != pairsMost || v.More != 10 || !v.Cut || !v.Since.Equal(many[0].At) {
		t.Errorf("of too many: %d pairs, %d more, cut %v since %v", len(v.List), v.More, v.Cut, v.Since)
	}
	if v := pairsOf(nil, noon); v.List != nil || v.Most != 0 {
		t.Errorf("of none: %+v", v)
	}
}

func TestDeliveryOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r    journal.Record
		want string
	}{
		{journal.Record{Event: journal.Delivered, From: "ann", Agent: "bob"}, "ann→bob"},
		{journal.Record{Event: journal.Escalated, From: "ann", Agent: "ann"}, "ann→human"},
		{journal.Record{Event: journal.Read, Agent: "bob"}, ""},
		{journal.Record{Event: journal.Delivered, Agent: "bob"}, ""},
	} {
		d, ok := deliveryOf(c.r)
		if got := d.From + "→" + d.To; ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%+v: %v %s", c.r, ok, got)
		}
	}
}

// Many ask at once: what each gets is not older than its question, and there are
// far fewer looks than questions.
func TestRollCall(t *testing.T) {
	t.Parallel()
	var c roll
	var mu sync.Mutex
	looks := 0
	look := func() ([]standing.Agent, error) {
		mu.Lock()
		defer mu.Unlock()
		looks++
		time.Sleep(2 * time.Millisecond)
		return []standing.Agent{{Name: fmt.Sprint(looks)}}, nil
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			mu.Lock()
			before := looks
			mu.Unlock()
			list, err := c.call(context.Background(), look)
			if err != nil || len(list) != 1 {
				t.Error(list, err)
				return
			}
			var n int
			fmt.Sscan(list[0].Name, &n)
			if n <= before {
				t.Errorf("it gets look %d, and had asked after look %d", n, before)
			}
		})
	}
	all.Wait()
	if looks > 25 {
		t.Errorf("%d looks", looks)
	}
	bad := errors.New("bad")
	if _, err := c.call(context.Background(), func() ([]standing.Agent, error) { return nil, bad }); !errors.Is(err, bad) {
		t.Error(err)
	}
	c.took = time.Hour
	c.began = time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.call(ctx, look); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The floor shows who is there and what was delivered, in whole and in parts.
func TestFloor(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann", "bob")
	t.Cleanup(p.site.Close)
	id := p.Mail("ann", "bob", mail.Request, "Look at <this>", "…")
	p.Mail("bob", "human", mail.Query, "May I", "?")
	box := p.Box("ann").Author.Box
	if err := presence.WriteIn(box.FS, box.Dir, presence.Session{Runtime: "claude", ID: "s", State: presence.Busy, Since: p.Clock.Now(), At: p.Clock.Now()}); err != nil {
		t.Fatal(err)
	}
	has := func(what, page string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("%s lacks %q:\n%s", what, want, page)
			}
		}
	}
	page := p.ok("/")
	has("the floor", page, `data-desk="ann"`, `data-desk="bob"`, `data-desk="human"`, "busy", "<b>1</b> unread", "owes 1 answer", "<b>1</b> waits for you",
		"Look at &lt;this&gt;", `href="/message/`+string(id)+`"`, "q=from:ann+to:bob")
	if again := p.ok("/"); !strings.Contains(again, `data-after="`) {
		t.Error("a page does not say what it knows of")
	}
	desks := p.ok("/?part=desks")
	has("the desks", desks, `data-desk="ann"`)
	lately := p.ok("/?part=lately")
	has("the traffic", lately, "Look at &lt;this&gt;")
	for what, part := range map[string]string{"desks": desks, "traffic": lately} {
		if strings.Contains(part, "<html") || strings.Contains(part, "<h1") {
			t.Errorf("the %s come with the whole page", what)
		}
	}
	if strings.Contains(lately, "data-desk") {
		t.Error("the traffic comes with the desks")
	}
}
