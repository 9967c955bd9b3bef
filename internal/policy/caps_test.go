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

func TestTurnsHour(t *testing.T) {
	t.Parallel()
	// r: received, s: sent, h: from a person, R and S: the same 61 minutes ago
	for _, tt := range []struct {
		traffic string
		want    int
	}{
		{"", 0},
		{"r", 1},
		{"sss", 0},
		{"rrrr", 1},
		{"rs", 1},
		{"rsr", 2},
		{"rsrsr", 3},
		{"rrss", 2},
		{"rrrss", 3},
		{"rssss", 1},
		{"srsrsr", 3},
		{"hshsh", 0},
		{"R", 0},
		{"RSrs", 1},
		{"Rs", 0},
	} {
		var traffic []Seen
		for _, c := range tt.traffic {
			s := Seen{Conversation: string(c), FromAID: "aid-x", At: noon}
			switch c {
			case 's':
				s.Sent = true
			case 'h':
				s.FromAID = ""
			case 'R', 'S':
				s.Sent, s.At = c == 'S', noon.Add(-61*time.Minute)
			}
			traffic = append(traffic, s)
		}
		if n := TurnsHour(traffic, noon); n != tt.want {
			t.Errorf("%q: %d turns, want %d", tt.traffic, n, tt.want)
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
