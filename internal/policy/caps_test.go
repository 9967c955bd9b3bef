package policy

import (
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

func TestTurns(t *testing.T) {
	t.Parallel()
	got := func(conversation string, turns int) Seen {
		return Seen{Conversation: conversation, FromAID: "aid-x", Turns: turns, At: noon}
	}
	sent := Seen{Conversation: "c", FromAID: "aid-me", Turns: 9, Sent: true, At: noon}
	for _, tt := range []struct {
		name    string
		traffic []Seen
		want    int
	}{
		{"nothing", nil, 0},
		{"first answer", []Seen{got("c", 0)}, 1},
		{"the greatest counts", []Seen{got("c", 3), got("c", 7), got("c", 5)}, 8},
		{"other conversations do not", []Seen{got("d", 7)}, 0},
		{"own mail does not", []Seen{sent, sent, sent}, 0},
		{"a person does not", []Seen{{Conversation: "c", Turns: 7, At: noon}}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if n := Turns(tt.traffic, "c"); n != tt.want {
				t.Errorf("%d turns, want %d", n, tt.want)
			}
		})
	}
}

func TestChain(t *testing.T) {
	t.Parallel()
	young, old := noon.Add(-10*time.Minute), noon.Add(-24*time.Hour)
	got := func(chain int, since time.Time) Seen {
		return Seen{FromAID: "aid-x", At: noon, Chain: chain, Since: since}
	}
	for _, tt := range []struct {
		name    string
		traffic []Seen
		turns   int
		since   time.Time
	}{
		{"nothing received", nil, 0, noon},
		{"the first answer", []Seen{got(0, young)}, 1, young},
		{"the longest chain counts", []Seen{got(3, young), got(7, young), got(1, young)}, 8, young},
		{"a burst counts once", []Seen{got(0, young), got(0, young), got(0, young)}, 1, young},
		{"a chain ends a day after it began", []Seen{got(99, old)}, 0, noon},
		{"an old chain doesn't hide a young one", []Seen{got(99, old), got(2, young)}, 3, young},
		{"people and the office don't count", []Seen{{At: noon, Chain: 5, Since: young}}, 0, noon},
		{"nor what the owner sent", []Seen{{FromAID: "aid-x", Sent: true, Chain: 5, Since: young}}, 0, noon},
		{"a clock set back starts anew", []Seen{got(9, noon.Add(24*time.Hour))}, 0, noon},
	} {
		turns, since := Chain(tt.traffic, noon)
		if turns != tt.turns || !since.Equal(tt.since) {
			t.Errorf("%s: %d since %v, want %d since %v", tt.name, turns, since, tt.turns, tt.since)
		}
	}
}

func TestChainCap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		age  time.Duration
		want int
	}{{0, 240}, {59 * time.Minute, 240}, {time.Hour, 960}, {23 * time.Hour, 960}} {
		if n := chainCap(240, noon.Add(-tt.age), noon); n != tt.want {
			t.Errorf("a chain of %v may have %d turns, want %d", tt.age, n, tt.want)
		}
	}
}

func TestHelpers(t *testing.T) {
	t.Parallel()
	if n := Hops(nil); n != 0 {
		t.Errorf("no parent: %d hops", n)
	}
	if n := Hops(&Parent{Hops: 4}); n != 5 {
		t.Errorf("parent with 4: %d hops", n)
	}
	for _, act := range mail.Acts() {
		want := act == mail.Request || act == mail.Query || act == mail.Propose
		if RequiresReply(&mail.Message{From: "ann", Act: act}) != want {
			t.Errorf("%s: requires reply is not %t", act, want)
		}
		if !RequiresReply(&mail.Message{From: "ann", Act: act, NeedsHuman: true}) {
			t.Errorf("%s that needs a person requires no reply", act)
		}
		if RequiresReply(&mail.Message{From: "postroom", Act: act, NeedsHuman: true}) {
			t.Errorf("%s from postroom requires a reply", act)
		}
	}
	deadline := noon.Add(time.Minute)
	for _, tt := range []struct {
		m    mail.Message
		s    Settings
		want time.Time
	}{
		{mail.Message{Deadline: deadline, CreatedAt: noon}, Settings{}, deadline},
		{mail.Message{CreatedAt: noon}, Settings{}, noon.Add(time.Hour)},
		{mail.Message{CreatedAt: noon}, Settings{Due: time.Minute}, noon.Add(time.Minute)},
		{mail.Message{}, Settings{Due: time.Minute}, noon.Add(time.Hour + time.Minute)},
	} {
		if got := Due(&tt.m, tt.s, noon.Add(time.Hour)); !got.Equal(tt.want) {
			t.Errorf("due %v, want %v", got, tt.want)
		}
	}
}
