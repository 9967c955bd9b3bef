package policy

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"pgregory.net/rapid"
)

// habit is how a simulated agent reacts to a message that it got.
type habit string

const (
	silent    habit = "silent"
	replies   habit = "replies"   // always answers, with in_reply_to
	thanks    habit = "thanks"    // the same, with inform
	dodges    habit = "dodges"    // same conversation, no in_reply_to
	fresh     habit = "fresh"     // a new conversation each time
	passes    habit = "passes"    // to the next agent round the circle
	copies    habit = "copies"    // answers one, copies all
	chatters  habit = "chatters"  // into the channel
	shouts    habit = "shouts"    // to broadcast
	rides     habit = "rides"     // to a person, with agents in cc
	scattered habit = "scattered" // two fresh messages for each
)

var habits = []habit{silent, replies, thanks, dodges, fresh, passes, copies, chatters, shouts, rides, scattered}

// letter is a delivered message in the simulation.
type letter struct {
	m     *mail.Message
	aid   string // sender
	as    map[string]As
	turns int // in the conversation
	chain int // in any, since
	since time.Time
}

// sim is an office in which nothing but Plan decides.
type sim struct {
	t        failer
	book     *book
	settings Settings
	now      time.Time
	habits   map[string]habit
	letters  map[mail.ID]*letter
	traffic  map[string][]Seen
	unread   map[string][]mail.ID
	byTopic  map[string]FuseState
	bySender map[string]FuseState
	seq      int

	delivered int
	releases  int // put before a person
	refused   int // by the rules of addresses and replies
	stopped   int // by a blown fuse
}

func newSim(t failer, s Settings, names ...string) *sim {
	b := newBook(names...).channel("team", append([]string(nil), names...)...)
	return &sim{
		t: t, book: b, settings: s, now: noon,
		habits: map[string]habit{}, letters: map[mail.ID]*letter{}, traffic: map[string][]Seen{},
		unread: map[string][]mail.ID{}, byTopic: map[string]FuseState{}, bySender: map[string]FuseState{},
	}
}

// world gathers what the router would.
func (s *sim) world(from Agent, m *mail.Message) World {
	w := World{Settings: s.settings, Directory: s.book, Sender: from, Fuse: s.byTopic[m.Conversation]}
	if !w.Fuse.Blown {
		w.Fuse = s.bySender[from.AID]
	}
	w.Turns = Turns(s.traffic[from.AID], m.Conversation)
	w.TurnsHour, w.Since = Chain(s.traffic[from.AID], s.now)
	if l, ok := s.letters[m.InReplyTo]; ok {
		as, got := l.as[from.AID]
		w.ParentKnown = true
		w.Parent = &Parent{
			ID: l.m.ID, From: l.m.From, FromAID: l.aid, Act: l.m.Act, Hops: l.m.Hops,
			Conversation: l.m.Conversation, Obliges: l.m.RequiresReply,
			Sent: l.aid == from.AID, Received: got && as != AsCC, CC: got && as == AsCC,
		}
	}
	return w
}

// send plans a message and performs the plan.
func (s *sim) send(from Agent, m *mail.Message) {
	s.seq++
	s.now = s.now.Add(time.Millisecond)
	m.ID, m.From, m.CreatedAt = mail.ID(fmt.Sprintf("m-%06d", s.seq)), from.Name, s.now
	if m.Conversation == "" {
		m.Conversation = "conv-" + string(m.ID)
	}
	w := s.world(from, m)
	stamped, fault := Stamp(m, w)
	if fault != nil {
		s.refused++
		return
	}
	plan := Plan(stamped, w, s.now)
	check(s.t, plan)
	l := &letter{m: stamped, aid: from.AID, as: map[string]As{}, turns: w.Turns, chain: w.TurnsHour, since: w.Since}
	s.letters[m.ID] = l
	for _, a := range plan {
		s.do(l, a)
	}
}

func (s *sim) do(l *letter, a Action) {
	switch a := a.(type) {
	case Deliver:
		s.delivered++
		l.as[a.To.AID] = a.As
		s.unread[a.To.AID] = append(s.unread[a.To.AID], l.m.ID)
		s.traffic[a.To.AID] = append(s.traffic[a.To.AID], Seen{
			Conversation: l.m.Conversation, FromAID: l.aid, Turns: l.turns, At: s.now, Chain: l.chain, Since: l.since,
		})
		if l.turns > s.settings.FuseTurns || l.chain > s.settings.FusePerHour || l.m.Hops > s.settings.HopCap {
			s.t.Fatalf("delivered with %d turns, a chain of %d and %d hops", l.turns, l.chain, l.m.Hops)
		}
	case Ask:
		if a.Kind != Release {
			return
		}
		s.releases++
		blown := FuseState{Blown: true, OfSender: a.OfSender, Approval: "ap-" + string(l.m.ID), Message: l.m.ID}
		switch {
		case a.OfSender:
			s.bySender[l.aid] = blown
		case a.Fuse:
			s.byTopic[l.m.Conversation] = blown
		}
	case Bounce:
		s.stopped++
	}
}

// react lets an agent answer one message after its habit.
func (s *sim) react(me Agent, id mail.ID) {
	l := s.letters[id]
	author := l.m.From
	var others []string
	for _, a := range s.book.agents {
		if a.AID != me.AID {
			others = append(others, a.Name)
		}
	}
	m := &mail.Message{To: author, Act: mail.Request, Conversation: l.m.Conversation}
	switch s.habits[me.Name] {
	case silent:
		return
	case replies:
		m.InReplyTo = id
	case thanks:
		m.InReplyTo, m.Act = id, mail.Inform
	case dodges:
		m.Act = mail.Inform
	case fresh:
		m.Conversation = ""
	case passes:
		m.To = s.next(me.Name)
	case copies:
		m.InReplyTo, m.CC = id, others
	case chatters:
		m.To = "team"
	case shouts:
		m.To = "broadcast"
	case rides:
		m.To, m.CC = "human", others
	case scattered:
		m.Conversation = ""
		s.send(me, &mail.Message{To: s.next(me.Name), Act: mail.Inform})
	}
	s.send(me, m)
}

func (s *sim) next(name string) string {
	for i, a := range s.book.agents {
		if a.Name == name {
			return s.book.agents[(i+1)%len(s.book.agents)].Name
		}
	}
	return name
}

// run lets the agents read and react until nothing is unread. pick chooses who
// is next and how much of the inbox is read at once.
func (s *sim) run(limit int, pick func(n int) int) {
	for s.delivered <= limit {
		var busy []Agent
		for _, a := range s.book.agents {
			if len(s.unread[a.AID]) > 0 {
				busy = append(busy, a)
			}
		}
		if len(busy) == 0 {
			return
		}
		me := busy[pick(len(busy))]
		box := s.unread[me.AID]
		n := 1 + pick(len(box))
		s.unread[me.AID] = append([]mail.ID(nil), box[n:]...)
		for _, id := range box[:n] {
			s.react(me, id)
		}
	}
	s.t.Fatalf("no rest after %d deliveries; habits %v", s.delivered, s.habits)
}

// Whatever the habits of two to four agents, and in whatever order and portions
// they read, the office comes to rest within the caps, and where it was stopped,
// somebody was asked. All of it happens within the hour in which chains count.
func TestComesToRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		names := []string{"ann", "bob", "eve", "zoe"}[:rapid.IntRange(2, 4).Draw(rt, "agents")]
		settings := Settings{
			HopCap:      rapid.IntRange(1, 5).Draw(rt, "hops"),
			FuseTurns:   rapid.IntRange(1, 4).Draw(rt, "turns"),
			FusePerHour: rapid.IntRange(1, 5).Draw(rt, "hour"),
		}
		s := newSim(rt, settings, names...)
		for _, n := range names {
			s.habits[n] = rapid.SampledFrom(habits).Draw(rt, n)
		}
		seeds := rapid.IntRange(1, 3).Draw(rt, "seeds")
		for range seeds {
			from := rapid.SampledFrom(s.book.agents).Draw(rt, "from")
			to := rapid.SampledFrom([]string{s.next(from.Name), "team", "broadcast"}).Draw(rt, "to")
			s.send(from, &mail.Message{To: to, Act: mail.Query, Conversation: "conv-0"})
		}
		// Each step of a chain makes at most this many deliveries of one, if all
		// agents read and answer their whole inboxes at once.
		fanOut, limit := max(2, len(names)-1), seeds*len(names)
		for range settings.FusePerHour + 1 {
			limit *= fanOut
		}
		salt := rapid.IntRange(0, 1<<20).Draw(rt, "order")
		s.run(limit, func(k int) int {
			salt = (salt*1103515245 + 12345) & 0x7fffffff
			return salt >> 8 % k
		})
		if s.stopped > 0 && s.releases == 0 {
			rt.Fatalf("%d messages stopped, nobody asked; habits %v", s.stopped, s.habits)
		}
	})
}

// The loops that other tools ran into, with the caps of a fresh office.
func TestLoops(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		habits   map[string]habit
		to       string
		want     int // delivered before it stops
		releases int
	}{
		{"thanking each other for ever", map[string]habit{"ann": thanks, "bob": thanks}, "bob", 2, 0},
		{"asking each other for ever", map[string]habit{"ann": replies, "bob": replies}, "bob", 13, 1},
		{"without in_reply_to", map[string]habit{"ann": dodges, "bob": dodges}, "bob", 25, 1},
		{"a circle of three", map[string]habit{"ann": passes, "bob": passes, "eve": passes}, "bob", 25, 1},
		{"a conversation each", map[string]habit{"ann": fresh, "bob": fresh}, "bob", 241, 1},
		{"copies", map[string]habit{"ann": copies, "bob": copies, "eve": copies}, "bob", 25, 1},
		{"channel", map[string]habit{"ann": chatters, "bob": chatters, "eve": chatters}, "team", 50, 1},
		{"broadcast", map[string]habit{"ann": shouts, "bob": shouts, "eve": shouts}, "broadcast", 50, 1},
		{"over a person's head", map[string]habit{"ann": rides, "bob": rides}, "bob", 25, 1},
		{"scattered", map[string]habit{"ann": scattered, "bob": scattered, "eve": scattered}, "bob", 721, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			names := []string{"ann", "bob"}
			if tt.habits["eve"] != "" {
				names = append(names, "eve")
			}
			s := newSim(t, Settings{}.withDefaults(), names...)
			s.habits = tt.habits
			s.send(agent("ann"), &mail.Message{To: tt.to, Act: mail.Query, Conversation: "conv-0"})
			s.run(tt.want, func(int) int { return 0 })
			if s.delivered != tt.want || s.releases != tt.releases {
				t.Errorf("%d delivered, a person asked %d times", s.delivered, s.releases)
			}
		})
	}
}

// A burst one way never trips, nor does answering all of it.
func TestBursts(t *testing.T) {
	t.Parallel()
	for _, h := range []habit{silent, replies, dodges} {
		s := newSim(t, Settings{}.withDefaults(), "ann", "bob")
		s.habits = map[string]habit{"ann": silent, "bob": h}
		for range 100 {
			s.send(agent("ann"), &mail.Message{To: "bob", Act: mail.Request, Conversation: "conv-0"})
		}
		s.run(200, func(int) int { return 0 })
		for range 100 { // and once more, though ann got a hundred answers
			s.send(agent("ann"), &mail.Message{To: "bob", Act: mail.Inform, Conversation: "conv-0"})
		}
		if s.releases+s.refused+s.stopped > 0 {
			t.Errorf("%s: %d releases, %d refused, %d stopped", h, s.releases, s.refused, s.stopped)
		}
	}
}

// Any message in any world: a plan that is loud, the same each time, and whose
// input is untouched.
func TestPlanAny(t *testing.T) {
	t.Parallel()
	dir := newBook("ann", "bob", "new<was", "-old", "agent.bob").channel("team", "ann", "bob", "old").channel("none")
	addresses := []string{"ann", "bob", "was", "new", "old", "agent.ann", "team", "none", "human", "all", "god",
		"postroom", "lost", "ann@lab", "", "An\n## [x→y]"}
	boxes := []string{"aid-ann", "aid-bob", "aid-was", "aid-old", "aid-none", ""}
	rapid.Check(t, func(rt *rapid.T) {
		str := func(label string, list ...string) string { return rapid.SampledFrom(list).Draw(rt, label) }
		list := func(label string, of []string) []string {
			return rapid.SliceOfN(rapid.SampledFrom(of), 0, 3).Draw(rt, label)
		}
		yes := func(label string) bool { return rapid.Bool().Draw(rt, label) }
		acts := []string{"request", "query", "propose", "inform", "agree", "refuse", "done", "", "shout"}
		m := &mail.Message{
			ID: "m-1", From: str("from", "ann", "human", "postroom", "lost"), To: str("to", addresses...), CC: list("cc", addresses),
			Act: mail.Act(str("act", acts...)), InReplyTo: mail.ID(str("reply", "", "p-1")), NeedsHuman: yes("human"), CreatedAt: noon,
		}
		if yes("stamped") {
			m.Envelope = &mail.Envelope{Recipients: list("recipients", boxes), CC: list("copies", boxes)}
		}
		w := World{
			Directory: dir, ParentKnown: yes("known"), Released: yes("released"), Begun: yes("begun"),
			Turns: rapid.IntRange(0, 30).Draw(rt, "turns"), TurnsHour: rapid.IntRange(0, 250).Draw(rt, "hour"),
			Settings: Settings{Orchestrator: str("god", "", "ann", "lost"), CopyAll: str("copyall", "", "bob", "lost")},
			Fuse:     FuseState{Blown: yes("blown"), OfSender: yes("ofsender"), Message: mail.ID(str("by", "", "m-1", "m-0"))},
		}
		w.Sender, _ = dir.Agent(m.From)
		if yes("parent") {
			w.Parent = &Parent{
				ID: "p-1", From: str("author", "ann", "bob", "human", "postroom"), Act: mail.Act(str("pact", acts...)),
				Hops: rapid.IntRange(0, 14).Draw(rt, "hops"), Sent: yes("sent"), Received: yes("received"), CC: yes("copy"),
			}
			a, _ := dir.Agent(w.Parent.From)
			w.Parent.FromAID, w.Parent.FromHuman = a.AID, w.Parent.From == "human"
			w.Parent.Obliges = w.Parent.Act.Obliges()
		}
		if yes("refused") {
			w.Rejected = &Rejection{Approval: "ap-1", At: noon}
		}
		before := *m
		before.CC = append([]string(nil), m.CC...)
		plan := Plan(m, w, noon)
		check(rt, plan)
		checkRules(rt, m, w, plan)
		if again := Plan(m, w, noon.Add(24*time.Hour)); !reflect.DeepEqual(plan, again) {
			rt.Fatalf("\nfirst  %v\nsecond %v", plan, again)
		}
		if len(m.CC) == 0 {
			before.CC = m.CC
		}
		if !reflect.DeepEqual(before, *m) {
			rt.Fatalf("the message was changed")
		}
		s, fault := Stamp(m, w)
		if fault == nil && m.Envelope == nil {
			if resolved := Plan(s, w, noon); !reflect.DeepEqual(plan, resolved) {
				rt.Fatalf("\nunstamped %v\nstamped   %v", plan, resolved)
			}
		}
	})
}

// checkRules holds a plan to rules that need no knowledge of how it was made.
func checkRules(t failer, m *mail.Message, w World, plan []Action) {
	for _, a := range plan {
		switch a := a.(type) {
		case Deliver:
			if w.Sender.AID != "" && a.To.AID == w.Sender.AID {
				t.Fatalf("delivered to its author")
			}
			if a.As != AsCC && (m.To == "human" || m.NeedsHuman && m.From == "ann") {
				t.Fatalf("delivered to an agent what was meant for a person")
			}
		case Owe:
			if m.From == "postroom" || !m.Act.Obliges() {
				t.Fatalf("%s from %s obliges", m.Act, m.From)
			}
		case Bounce:
			if m.From == "postroom" {
				t.Fatalf("a bounce bounced")
			}
		case Ask:
			if a.Kind == Release && (m.From != "ann" || w.Released || w.Begun) {
				t.Fatalf("held what may pass")
			}
		}
	}
}
