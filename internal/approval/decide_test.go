package approval

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
)

func TestVerdicts(t *testing.T) {
	t.Parallel()
	free := func(id mail.ID) *Approval { a := question(id); a.Options = nil; return a }
	bare := func(id mail.ID) *Approval { a := release(id); a.Options = nil; return a }
	odd := func(id mail.ID) *Approval { a := release(id); a.Options = []string{"maybe", "yes"}; return a }
	type given = Decision
	for _, tt := range []struct {
		name    string
		make    func(mail.ID) *Approval
		given   given
		choice  string
		verdict Verdict
		kind    mail.Kind
	}{
		{"whole option", question, given{Choice: "YES"}, "Yes", VerdictAnswered, ""},
		{"prefix", question, given{Choice: " no,"}, "No, wait", VerdictRejected, ""},
		{"unique prefix", question, given{Choice: "not"}, "Not today", VerdictAnswered, ""},
		{"ambiguous prefix", question, given{Choice: "n"}, "", "", mail.KindAmbiguous},
		{"no such option", question, given{Choice: "later"}, "", "", mail.KindInvalid},
		{"text only", question, given{Text: "as you like"}, "", VerdictAnswered, ""},
		{"nothing", question, given{Text: " \n"}, "", "", mail.KindInvalid},
		{"flagged no", question, given{Choice: "yes", Verdict: VerdictRejected}, "Yes", VerdictRejected, ""},
		{"flagged no alone", free, given{Verdict: VerdictRejected}, "", VerdictRejected, ""},
		{"choice without options", free, given{Choice: "yes"}, "", "", mail.KindInvalid},
		{"allowed is for releases", question, given{Choice: "yes", Verdict: VerdictAllowed}, "", "", mail.KindInvalid},
		{"nobody writes expired", question, given{Choice: "yes", Verdict: VerdictExpired}, "", "", mail.KindInvalid},
		{"deliver", release, given{Choice: "d"}, Deliver, VerdictAllowed, ""},
		{"stop", release, given{Choice: "STOP", Text: "enough"}, Stop, VerdictRejected, ""},
		{"a release takes no text alone", release, given{Text: "deliver"}, "", "", mail.KindInvalid},
		{"a release has no default", release, given{}, "", "", mail.KindInvalid},
		{"a release cannot be allowed by verdict", release, given{Verdict: VerdictAllowed}, "", "", mail.KindInvalid},
		{"deliver and no", release, given{Choice: "deliver", Verdict: VerdictRejected}, "", "", mail.KindInvalid},
		{"flagged stop", release, given{Verdict: VerdictRejected}, "", VerdictRejected, ""},
		{"default choices", bare, given{Choice: "deliver"}, Deliver, VerdictAllowed, ""},
		{"maybe is no yes", odd, given{Choice: "maybe"}, "maybe", VerdictRejected, ""},
		{"read", notice, given{}, "", VerdictRead, ""},
		{"a notice cannot be rejected", notice, given{Verdict: VerdictRejected}, "", "", mail.KindInvalid},
		{"a notice has no choices", notice, given{Choice: "yes"}, "", "", mail.KindInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := office(t)
			id := create(t, m, tt.make(msgA))
			tt.given.By, tt.given.At = "ann", noon()
			err := Decide(m, id, tt.given)
			wantKind(t, err, tt.kind)
			_, d, err := Get(m, id)
			if err != nil {
				t.Fatal(err)
			}
			if tt.kind != "" {
				if d != nil {
					t.Fatalf("decided %v", d)
				}
				return
			}
			if d.Choice != tt.choice || d.Verdict != tt.verdict || d.By != "ann" || d.Text != tt.given.Text {
				t.Errorf("decided %+v", d)
			}
		})
	}
}

func TestDecideRefuses(t *testing.T) {
	t.Parallel()
	m := office(t)
	id := create(t, m, question(msgA))
	wantKind(t, Decide(m, id, Decision{Choice: "yes", At: noon()}), mail.KindInvalid)
	wantKind(t, Decide(m, id, Decision{Choice: "yes", By: "ann"}), mail.KindInvalid)
	wantKind(t, Decide(m, id[4:], by("ann", "yes")), mail.KindNotFound)
	wantKind(t, Decide(m, "ap-0000000000", by("ann", "yes")), mail.KindNotFound)
	wantKind(t, Finish(m, id), mail.KindNotFound)
	write(t, m, openPath(id), "{")
	wantKind(t, Decide(m, id, by("ann", "yes")), mail.KindCorrupt)
	wantKind(t, Finish(m, "../x"), mail.KindNotFound)
}

func TestFirstDecisionWins(t *testing.T) {
	t.Parallel()
	m := office(t)
	id := create(t, m, release(msgA))
	const people = 8
	errs := make([]error, people)
	var wg sync.WaitGroup
	for n := range people {
		wg.Go(func() {
			choice := Deliver
			if n%2 == 0 {
				choice = Stop
			}
			errs[n] = Decide(m, id, by(fmt.Sprint("p", n), choice))
		})
	}
	wg.Wait()
	_, d, err := Get(m, id)
	if err != nil {
		t.Fatal(err)
	}
	winners := 0
	for n, err := range errs {
		if err == nil {
			winners++
			if d.By != fmt.Sprint("p", n) {
				t.Errorf("p%d was told it decided, but %s did", n, d.By)
			}
			continue
		}
		wantKind(t, err, mail.KindConflict)
		for _, part := range []string{d.By, d.Choice, "2026-05-30 12:01 UTC", string(d.Verdict)} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v does not say %s", err, part)
			}
		}
	}
	if winners != 1 {
		t.Errorf("%d winners", winners)
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a      *Approval
		choice string
	}{{question(msgA), ""}, {release(msgA), Stop}} {
		m := office(t)
		id := create(t, m, tt.a)
		err := Decide(m, id, Decision{Choice: tt.a.Options[0], By: "ann", At: tt.a.Expires})
		wantKind(t, err, mail.KindConflict)
		a, d, err := Get(m, id)
		if err != nil || d == nil || d.Verdict != VerdictExpired || d.Choice != tt.choice || d.By != "postroom" {
			t.Fatalf("%v, %v", d, err)
		}
		if c := (Closed{*a, *d}); c.Delivers() {
			t.Error("an expired approval delivers")
		}
		if r, err := Rejected(m, "k1", noon(), time.Hour); r != nil || err != nil {
			t.Errorf("nobody rejected: %v, %v", r, err)
		}
		wantKind(t, Decide(m, id, by("ann", tt.a.Options[0])), mail.KindConflict)
	}
}

func TestExpire(t *testing.T) {
	t.Parallel()
	m := office(t)
	create(t, m, question(msgA))
	kept := question(msgB)
	kept.Expires = noon().Add(48 * time.Hour)
	create(t, m, kept)
	forever := create(t, m, notice(msgA))
	write(t, m, openPath(IDFor(policy.Notice, "x", "")), "{")
	for _, want := range []int{1, 0} {
		if n, err := Expire(m, noon().Add(time.Hour)); n != want || err != nil {
			t.Fatalf("%d, %v; want %d", n, err, want)
		}
	}
	open, _ := Open(m)
	if len(open) != 3 || open[0].ID != kept.ID && open[1].ID != kept.ID {
		t.Errorf("open: %v", open)
	}
	if _, d, err := Get(m, forever); d != nil || err != nil {
		t.Errorf("the notice: %v, %v", d, err)
	}
}

func TestUndone(t *testing.T) {
	t.Parallel()
	m := office(t)
	second := create(t, m, release(msgA))
	first := create(t, m, question(msgA))
	create(t, m, question(msgB))
	late := by("ann", "deliver")
	late.At = late.At.Add(time.Second)
	if err := Decide(m, second, late); err != nil {
		t.Fatal(err)
	}
	if err := Decide(m, first, by("ann", "yes")); err != nil {
		t.Fatal(err)
	}
	broken := create(t, m, notice(msgA))
	write(t, m, donePath(broken), "")
	undone, err := Undone(m)
	if err != nil || len(undone) != 3 {
		t.Fatalf("%v, %v", undone, err)
	}
	if undone[0].Approval.ID != first || undone[1].Approval.ID != second || !undone[1].Delivers() || undone[0].Delivers() {
		t.Errorf("undone: %+v", undone)
	}
	if undone[2].Approval.ID != broken || undone[2].Approval.Broken == nil || undone[2].Delivers() {
		t.Errorf("broken: %+v", undone[2])
	}
	wantKind(t, Finish(m, broken), mail.KindCorrupt)
	wantKind(t, Decide(m, broken, by("ann", "")), mail.KindCorrupt)
	for range 2 {
		if err := Finish(m, first); err != nil {
			t.Fatal(err)
		}
	}
	if undone, _ = Undone(m); len(undone) != 2 || undone[0].Approval.ID != second {
		t.Errorf("after Finish: %+v", undone)
	}
	if open, _ := Open(m); len(open) != 1 {
		t.Errorf("open: %+v", open)
	}
}

func TestRejectionSticks(t *testing.T) {
	t.Parallel()
	m := office(t)
	day := 24 * time.Hour
	if r, err := Rejected(m, "k1", noon(), day); r != nil || err != nil {
		t.Fatalf("%v, %v", r, err)
	}
	id := create(t, m, question(msgA))
	no := by("ann", "no, wait")
	if err := Decide(m, id, no); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {day - 1, true}, {day, false}, {-time.Hour, true}, {-day, false}} {
		r, err := Rejected(m, "k1", no.At.Add(tt.after), day)
		if err != nil || (r != nil) != tt.want {
			t.Errorf("after %v: %v, %v", tt.after, r, err)
		}
		if r != nil && (r.Approval != id || r.Text != "No, wait" || !r.At.Equal(no.At)) {
			t.Errorf("%+v", r)
		}
	}
	again := create(t, m, question(msgB))
	newer := Decision{By: "bob", At: no.At.Add(time.Minute), Verdict: VerdictRejected, Text: "never"}
	if err := Decide(m, again, newer); err != nil {
		t.Fatal(err)
	}
	if err := Finish(m, id); err != nil { // the older one does not come back
		t.Fatal(err)
	}
	if r, err := Rejected(m, "k1", noon(), day); err != nil || r == nil || r.Approval != again || r.Text != "never" {
		t.Errorf("%+v, %v", r, err)
	}
	write(t, m, rejectedPath("k1"), "{}")
	_, err := Rejected(m, "k1", noon(), day)
	wantKind(t, err, mail.KindCorrupt)
	if r, err := Rejected(m, "../../x", noon(), day); r != nil || err != nil {
		t.Errorf("%v, %v", r, err)
	}
	if err := Finish(m, again); err != nil { // mends the record
		t.Fatal(err)
	}
	if r, err := Rejected(m, "k1", noon(), day); err != nil || r == nil || r.Approval != again {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestRejecting(t *testing.T) {
	t.Parallel()
	for option, want := range map[string]bool{
		"no": true, "NO": true, " Reject ": true, "deny: too risky": true, "Stop - enough": true, "refuse.": true,
		"yes": false, "no problem": false, "not today": false, "none": false, "": false, "yes, no doubt": false, "no-op": false,
	} {
		if Rejecting(option) != want {
			t.Errorf("%q: %v", option, !want)
		}
	}
}
