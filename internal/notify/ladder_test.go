package notify

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

var t0 = time.Date(2026, 5, 30, 14, 0, 0, 0, time.UTC)

func id(n int) mail.ID {
	return mail.ID(fmt.Sprintf("2026-05-30T14-00-00-000Z-%04d-%08x", n%10000, n))
}

func ids(from, to int) []mail.ID {
	var all []mail.ID
	for n := from; n < to; n++ {
		all = append(all, id(n))
	}
	return all
}

// step is one look at the inbox: fire if the rules allow it, with out.
func step(w *wake, unread []mail.ID, now time.Time, out State) verdict {
	v := w.decide(Waiting{IDs: unread}, now, false, false)
	if v.fire {
		w.begin(v.ids, now)
		w.settle(Outcome{out, "evidence"}, v, unread, now)
	}
	return v
}

// Mail that stays unread is announced once, then at the ages of the ladder,
// then every hour for a day, then no more.
func TestReminders(t *testing.T) {
	t.Parallel()
	var w wake
	var got []time.Duration
	for age := time.Duration(0); age < 72*time.Hour; age += 5 * time.Second {
		if step(&w, ids(0, 3), t0.Add(age), Notified).fire {
			got = append(got, age)
		}
	}
	want := []time.Duration{0, time.Minute, 5 * time.Minute, 15 * time.Minute}
	for h := time.Hour; h <= 24*time.Hour; h += time.Hour {
		want = append(want, h)
	}
	if !slices.Equal(got, want) {
		t.Errorf("announced at %v, want %v", got, want)
	}
	if !w.NextTry.IsZero() {
		t.Errorf("next try at %v, want none", w.NextTry)
	}
	if v := step(&w, ids(0, 4), t0.Add(80*time.Hour), Notified); !v.fire || v.again || !slices.Equal(v.ids, ids(3, 4)) {
		t.Errorf("new mail after the last reminder: %+v", v)
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	for _, state := range []State{Failed, Held, Pending} {
		var w wake
		var pauses []time.Duration
		last := t0
		for now := t0; now.Before(t0.Add(3 * time.Hour)); now = now.Add(5 * time.Second) {
			if step(&w, ids(0, 1), now, state).fire {
				pauses, last = append(pauses, now.Sub(last)), now
			}
		}
		want := []time.Duration{0, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, time.Hour}
		if !slices.Equal(pauses, want) {
			t.Errorf("%s: pauses %v, want %v", state, pauses, want)
		}
		if w.PendingSince != t0 {
			t.Errorf("%s: pending since %v", state, w.PendingSince)
		}
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) time.Time { return t0.Add(d) }
	type look struct {
		at       time.Duration
		unread   []mail.ID
		result   State // of the adapter, if it is called
		announce []mail.ID
		again    bool
		answer   State // if it is not called
	}
	for _, test := range []struct {
		name  string
		looks []look
	}{
		{"new mail resets the ladder", []look{
			{0, ids(0, 1), Notified, ids(0, 1), false, ""},
			{30 * time.Second, ids(0, 2), Notified, ids(1, 2), false, ""},
			{time.Minute, ids(0, 2), "", nil, false, Notified},
			{90 * time.Second, ids(0, 2), Notified, ids(0, 2), true, ""},
		}},
		{"what was announced by somebody else is notified", []look{
			{0, ids(0, 2), Notified, ids(0, 2), false, ""},
			{time.Second, ids(1, 2), "", nil, false, Notified},
		}},
		{"an adapter that needs no waking says so again", []look{
			{0, ids(0, 1), NotNeeded, ids(0, 1), false, ""},
			{time.Second, ids(0, 1), "", nil, false, NotNeeded},
		}},
		{"new mail after a failure waits for the first pause only", []look{
			{0, ids(0, 1), Failed, ids(0, 1), false, ""},
			{5 * time.Second, ids(0, 1), Failed, ids(0, 1), false, ""},
			{7 * time.Second, ids(0, 2), "", nil, false, Pending},
			{10 * time.Second, ids(0, 2), Notified, ids(0, 2), false, ""},
		}},
		{"an agent that read what was tried in vain is not kept from new mail", []look{
			{0, ids(0, 1), Failed, ids(0, 1), false, ""},
			{time.Second, ids(1, 2), Notified, ids(1, 2), false, ""},
		}},
		{"an agent that reads nothing is left in peace", []look{
			{0, ids(0, 1), Notified, ids(0, 1), false, ""},
			{2 * time.Second, ids(0, 2), Notified, ids(1, 2), false, ""},
			{4 * time.Second, ids(0, 3), Notified, ids(2, 3), false, ""},
			{6 * time.Second, ids(0, 4), "", nil, false, Pending},
			{63 * time.Second, ids(0, 5), "", nil, false, Pending},
			{64 * time.Second, ids(0, 5), Notified, ids(3, 5), false, ""},
			{66 * time.Second, ids(0, 6), "", nil, false, Pending},
			{67 * time.Second, ids(5, 7), Notified, ids(5, 7), false, ""}, // it has read
		}},
		{"a burst is one wake, and one more for what was not seen with it", []look{
			{0, ids(0, 1), Notified, ids(0, 1), false, ""},
			{100 * time.Millisecond, ids(0, 9), "", nil, false, Pending},
			{time.Second, ids(0, 40), "", nil, false, Pending},
			{quiet, ids(0, 40), Notified, ids(1, 40), false, ""},
		}},
		{"a reminder that fails is tried again", []look{
			{0, ids(0, 1), Notified, ids(0, 1), false, ""},
			{time.Minute, ids(0, 1), Failed, ids(0, 1), true, ""},
			{64 * time.Second, ids(0, 1), "", nil, false, Notified},
			{65 * time.Second, ids(0, 1), Notified, ids(0, 1), true, ""},
			{5 * time.Minute, ids(0, 1), Notified, ids(0, 1), true, ""},
		}},
		{"late reminders skip rungs", []look{
			{0, ids(0, 1), Notified, ids(0, 1), false, ""},
			{299 * time.Second, ids(0, 1), Notified, ids(0, 1), true, ""},
			{300 * time.Second, ids(0, 1), "", nil, false, Notified},
			{15 * time.Minute, ids(0, 1), Notified, ids(0, 1), true, ""},
		}},
		{"the clock set back does not silence", []look{
			{0, ids(0, 1), Failed, ids(0, 1), false, ""},
			{-48 * time.Hour, ids(0, 1), Notified, ids(0, 1), false, ""},
			{-48*time.Hour + time.Minute, ids(0, 1), Notified, ids(0, 1), true, ""},
		}},
		{"mail that sorts before what was announced is new", []look{
			{0, ids(5, 6), Notified, ids(5, 6), false, ""},
			{quiet, []mail.ID{id(1), id(5)}, Notified, ids(1, 2), false, ""},
		}},
	} {
		var w wake
		for i, l := range test.looks {
			v := step(&w, l.unread, at(l.at), l.result)
			if v.fire != (l.announce != nil) || v.again != l.again || v.fire && !slices.Equal(v.ids, l.announce) || v.out.State != l.answer {
				t.Errorf("%s: look %d: %+v, want %+v", test.name, i+1, v, l)
			}
			if !v.fire && v.out.Evidence == "" {
				t.Errorf("%s: look %d: no evidence", test.name, i+1)
			}
		}
	}
}

// An inbox far above the bound: still only what is new is announced as new.
func TestBoundedState(t *testing.T) {
	t.Parallel()
	var w wake
	step(&w, ids(0, 5000), t0, Notified)
	if n := len(w.Announced.IDs); n != MaxIDs || !w.Announced.Cut {
		t.Fatalf("%d ids kept, cut %t", n, w.Announced.Cut)
	}
	now := t0.Add(quiet)
	if v := step(&w, ids(0, 5000), now, Notified); v.fire {
		t.Errorf("announced again: %d", len(v.ids))
	}
	if v := step(&w, ids(0, 5001), now, Notified); !slices.Equal(v.ids, ids(5000, 5001)) {
		t.Errorf("one new message announced as %d", len(v.ids))
	}
	// The newest are read first, all that were kept: announced once more, once.
	now = now.Add(time.Second)
	if v := step(&w, ids(0, 4000), now, Notified); !v.fire || len(v.ids) != 4000 {
		t.Errorf("fire %t with %d", v.fire, len(v.ids))
	}
	if v := step(&w, ids(0, 4000), now.Add(time.Second), Notified); v.fire {
		t.Error("announced twice")
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		p     Pointer
		again bool
		want  string
	}{
		{Pointer{Count: 1, Unread: 1}, false, "1 new message: run `post inbox`"},
		{Pointer{Count: 3, Unread: 3, Oblige: 1}, false, "3 new messages (1 expects an answer): run `post inbox`"},
		{Pointer{Count: 1, Unread: 4, Oblige: 2}, false, "1 new message (4 unread in all, 2 expect an answer): run `post inbox`"},
		{Pointer{Count: 2, Unread: 2}, true, "2 messages still unread: run `post inbox`"},
	} {
		test.p.Command = "post inbox"
		if got := text(test.p, test.again); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in   string
		max  int
		want string
	}{
		{"plain", 20, "plain"},
		{" a\r\n\tb\x00\x1b[31mc ", 40, "a b [31mc"},
		{"a\u2028b\u202ec\u200bd\xffe", 40, "a b c d?e"},
		{"0123456789", 9, "01234…"},
		{"ééééé", 9, "éé…"},
		{"", 9, ""},
	} {
		if got := line(test.in, test.max); got != test.want || len(got) > test.max {
			t.Errorf("line(%q, %d) = %q, want %q", test.in, test.max, got, test.want)
		}
	}
}
