package policy

import (
	"reflect"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"pgregory.net/rapid"
)

func TestOverdue(t *testing.T) {
	t.Parallel()
	due, grace := noon, 30*time.Minute
	for _, tt := range []struct {
		name             string
		after            time.Duration
		reminded         time.Duration // after due; -1: not
		escalated        bool
		remind, escalate bool
	}{
		{"before", -time.Second, -1, false, false, false},
		{"due", 0, -1, false, true, false},
		{"reminded once", time.Minute, 0, false, false, false},
		{"in grace", grace - 1, 0, false, false, false},
		{"after grace", grace, 0, false, false, true},
		{"escalated once", 10 * grace, 0, true, false, false},
		{"nothing ran for a day: remind first", 24 * time.Hour, -1, false, true, false},
		{"and give the grace", 24*time.Hour + time.Minute, 24 * time.Hour, false, false, false},
		{"then escalate", 24*time.Hour + grace, 24 * time.Hour, false, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := Debt{Due: due, Grace: grace, Escalated: tt.escalated}
			if tt.reminded >= 0 {
				d.Reminded, d.RemindedAt = true, due.Add(tt.reminded)
			}
			remind, escalate := Overdue(d, due.Add(tt.after))
			if remind != tt.remind || escalate != tt.escalate {
				t.Errorf("remind %t, escalate %t", remind, escalate)
			}
			// A jump of the wall clock changes nothing if the times move along.
			const jump = -77 * time.Hour
			moved := Shift([]Debt{d}, jump)[0]
			if r, e := Overdue(moved, due.Add(tt.after+jump)); r != remind || e != escalate {
				t.Errorf("after a jump: remind %t, escalate %t", r, e)
			}
		})
	}
}

func TestChase(t *testing.T) {
	t.Parallel()
	dir := newBook("ann", "bob")
	base := Debt{ID: "m-1", Debtor: "aid-bob", Creditor: "aid-ann", Kind: OwesAnswer, Due: noon}
	reminded := func(d Debt) Debt {
		d.Reminded, d.RemindedAt = true, noon
		return d
	}
	human, done, ghost := base, base, base
	human.Creditor, done.Kind, ghost.Debtor = "", OwesDone, "aid-ghost"
	for _, tt := range []struct {
		name string
		d    Debt
		at   time.Duration
		want []string
	}{
		{"not due", base, -1, nil},
		{"remind", base, 0, []string{
			`tell bob <remind:answer:aid-bob>: "You owe ann an answer to m-1, due since 2026-05-30 12:00 UTC. Answer with post reply m-1 --act done, refuse or inform."`}},
		{"wait", reminded(base), time.Minute, nil},
		{"escalate", reminded(base), time.Hour, []string{
			`tell ann <overdue:answer:aid-bob>: "bob owes you an answer to m-1, due since 2026-05-30 12:00 UTC, and was reminded. A person has been told."`,
			`ask notice: bob owes ann an answer to m-1, due since 2026-05-30 12:00 UTC, and was reminded`}},
		{"to a person", reminded(human), time.Hour, []string{
			`ask notice: bob owes a person an answer to m-1, due since 2026-05-30 12:00 UTC, and was reminded`}},
		{"done", done, 0, []string{
			`tell bob <remind:done:aid-bob>: "You owe ann the work agreed on in m-1, due since 2026-05-30 12:00 UTC. Answer with post reply m-1 --act done, refuse or inform."`}},
		{"nobody to remind", ghost, 0, []string{
			`ask notice: "aid-ghost", who is not registered, owes ann an answer to m-1, due since 2026-05-30 12:00 UTC`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, a := range Chase(tt.d, dir, noon.Add(tt.at)) {
				got = append(got, show(a))
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestFoldDebts(t *testing.T) {
	t.Parallel()
	at := func(min int) time.Time { return noon.Add(time.Duration(min) * time.Minute) }
	ev := func(op DebtOp, min int) DebtEvent {
		return DebtEvent{Op: op, ID: "m-1", Debtor: "aid-bob", At: at(min)}
	}
	owe := ev(OpOwe, 0)
	owe.Creditor, owe.Due, owe.Conversation = "aid-ann", at(60), "conv-1"
	firm := owe
	firm.Firm = true
	agree := ev(OpAgree, 30)
	agree.Due = at(90)
	agreeAgain := ev(OpAgree, 80)
	agreeAgain.Due = at(140)
	asked := func(min int) DebtEvent {
		e := ev(OpRemind, min)
		e.Asker = "aid-ann"
		return e
	}
	remindDone := ev(OpRemind, 95)
	remindDone.Kind = OwesDone
	shift := DebtEvent{Op: OpShift, At: at(10), By: time.Hour}
	open := Debt{ID: "m-1", Debtor: "aid-bob", Creditor: "aid-ann", Conversation: "conv-1", Kind: OwesAnswer, Due: at(60), Grace: 30 * time.Minute}
	with := func(change func(*Debt)) []Debt {
		d := open
		change(&d)
		return []Debt{d}
	}
	for _, tt := range []struct {
		name   string
		events []DebtEvent
		want   []Debt
	}{
		{"nothing", nil, nil},
		{"owed", []DebtEvent{owe}, []Debt{open}},
		{"settled", []DebtEvent{owe, ev(OpSettle, 5)}, nil},
		{"settled before it was owed", []DebtEvent{ev(OpSettle, 5), owe}, nil},
		{"owed again after a crash", []DebtEvent{owe, ev(OpSettle, 5), owe}, nil},
		{"waived", []DebtEvent{owe, ev(OpWaive, 5)}, nil},
		{"only reminded", []DebtEvent{ev(OpRemind, 5)}, nil},
		{"reminded", []DebtEvent{owe, ev(OpRemind, 61), ev(OpRemind, 62)}, with(func(d *Debt) { d.remindedOnce(at(61)); d.Reminded, d.RemindedAt = true, at(61) })},
		{"reminded at somebody's wish before it was due", []DebtEvent{owe, asked(20)}, with(func(d *Debt) { d.remindedOnce(at(20)) })},
		{"and once due by the office, too", []DebtEvent{owe, asked(20), ev(OpRemind, 61)}, with(func(d *Debt) {
			d.remindedOnce(at(20))
			d.remindedOnce(at(61))
			d.Reminded, d.RemindedAt = true, at(61)
		})},
		{"at somebody's wish when it was due", []DebtEvent{owe, asked(80), asked(70)}, with(func(d *Debt) {
			d.remindedOnce(at(70))
			d.remindedOnce(at(80))
			d.Reminded, d.RemindedAt = true, at(70)
		})},
		{"escalated", []DebtEvent{owe, ev(OpRemind, 61), ev(OpEscalate, 99)}, with(func(d *Debt) { d.remindedOnce(at(61)); d.Reminded, d.RemindedAt, d.Escalated = true, at(61), true })},
		{"agreed", []DebtEvent{owe, agree}, with(func(d *Debt) { d.Kind, d.Due = OwesDone, at(90) })},
		{"the author's deadline holds", []DebtEvent{firm, agree}, with(func(d *Debt) { d.Kind = OwesDone })},
		{"agreeing again does not put off", []DebtEvent{owe, agree, agreeAgain}, with(func(d *Debt) { d.Kind, d.Due = OwesDone, at(90) })},
		{"a new stage is reminded anew", []DebtEvent{owe, ev(OpRemind, 61), ev(OpEscalate, 99), agree}, with(func(d *Debt) { d.remindedOnce(at(61)); d.Kind, d.Due = OwesDone, at(90) })},
		{"and once", []DebtEvent{owe, agree, remindDone}, with(func(d *Debt) {
			d.remindedOnce(at(95))
			d.Kind, d.Due, d.Reminded, d.RemindedAt = OwesDone, at(90), true, at(95)
		})},
		{"agreed and done", []DebtEvent{owe, agree, ev(OpSettle, 70)}, nil},
		{"a jump moves what was owed before it", []DebtEvent{owe, shift}, with(func(d *Debt) { d.Due = at(120) })},
		{"once", []DebtEvent{owe, shift, owe, shift}, with(func(d *Debt) { d.Due = at(120) })},
		{"and nothing after", []DebtEvent{shift, owe}, []Debt{open}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := FoldDebts(Settings{}, tt.events); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("\nwant %+v\ngot  %+v", tt.want, got)
			}
		})
	}
}

// TestLedger follows a request that is agreed to and done, from plan to plan.
func TestLedger(t *testing.T) {
	t.Parallel()
	dir := newBook("ann", "bob", "eve")
	request := &mail.Message{ID: "m-1", From: "ann", To: "broadcast", Act: mail.Request, Conversation: "conv-1", CreatedAt: noon}
	plan := Plan(request, World{Directory: dir, Sender: agent("ann")}, noon)
	events := Ledger(request, plan, noon)
	if open := FoldDebts(Settings{}, events); len(open) != 2 || open[0].Debtor != "aid-bob" || open[0].Creditor != "aid-ann" {
		t.Fatalf("after a broadcast: %+v", open)
	}
	for _, step := range []struct {
		act  mail.Act
		open int
		kind DebtKind
	}{{mail.Query, 3, OwesAnswer}, {mail.Agree, 3, OwesDone}, {mail.Done, 2, ""}} {
		m := &mail.Message{
			ID: mail.ID("r-" + string(step.act)), InReplyTo: "m-1", From: "bob", To: "ann", Act: step.act,
			Conversation: "conv-1", CreatedAt: noon,
		}
		w := World{Directory: dir, Sender: agent("bob"), ParentKnown: true, Parent: &Parent{
			ID: "m-1", From: "ann", FromAID: "aid-ann", Act: mail.Request, Obliges: true, Received: true,
		}}
		plan := Plan(m, w, noon)
		events = append(events, Ledger(m, plan, noon)...)
		open := FoldDebts(Settings{}, events)
		if len(open) != step.open {
			t.Fatalf("after %s: %+v", step.act, open)
		}
		for _, d := range open {
			if d.ID == "m-1" && d.Debtor == "aid-bob" && d.Kind != step.kind {
				t.Errorf("after %s bob owes %s", step.act, d.Kind)
			}
		}
	}
}

func drawEvents(rt *rapid.T, ops ...DebtOp) []DebtEvent {
	one := rapid.Custom(func(rt *rapid.T) DebtEvent {
		e := DebtEvent{
			Op:     rapid.SampledFrom(ops).Draw(rt, "op"),
			ID:     mail.ID(rapid.SampledFrom([]string{"m-1", "m-2"}).Draw(rt, "id")),
			Debtor: rapid.SampledFrom([]string{"aid-ann", "aid-bob"}).Draw(rt, "debtor"),
			Kind:   rapid.SampledFrom([]DebtKind{OwesAnswer, OwesDone}).Draw(rt, "kind"),
			At:     noon.Add(time.Duration(rapid.IntRange(0, 99).Draw(rt, "at")) * time.Minute),
			Asker:  rapid.SampledFrom([]string{"", "human", "aid-ann"}).Draw(rt, "asker"),
			By:     time.Duration(rapid.IntRange(-9, 9).Draw(rt, "by")) * time.Hour,
		}
		e.Due = e.At.Add(time.Duration(rapid.IntRange(0, 3).Draw(rt, "due")) * time.Hour)
		return e
	})
	return rapid.SliceOfN(one, 0, 25).Draw(rt, "events")
}

// Repeats of events, wherever they stand after the first, change nothing.
func TestFoldDebtsRepeats(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		events := drawEvents(rt, OpOwe, OpOwe, OpSettle, OpAgree, OpRemind, OpEscalate, OpWaive, OpShift)
		var repeated []DebtEvent
		for i, e := range events {
			repeated = append(repeated, e)
			for range rapid.IntRange(0, 3).Draw(rt, "repeats") {
				repeated = append(repeated, events[rapid.IntRange(0, i).Draw(rt, "which")])
			}
		}
		if a, b := FoldDebts(Settings{}, events), FoldDebts(Settings{}, repeated); !reflect.DeepEqual(a, b) {
			rt.Fatalf("\nonce     %+v\nrepeated %+v", a, b)
		}
	})
}

// Without shifts the order of the events plays no part either.
func TestFoldDebtsOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		events := drawEvents(rt, OpOwe, OpOwe, OpSettle, OpAgree, OpRemind, OpEscalate, OpWaive)
		shuffled := rapid.Permutation(events).Draw(rt, "shuffled")
		if a, b := FoldDebts(Settings{}, events), FoldDebts(Settings{}, shuffled); !reflect.DeepEqual(a, b) {
			rt.Fatalf("\nin order %+v\nshuffled %+v", a, b)
		}
	})
}

// A jump after all events is the same as moving the open debts.
func TestFoldDebtsShift(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		events := drawEvents(rt, OpOwe, OpOwe, OpAgree, OpRemind, OpEscalate)
		by := time.Duration(rapid.IntRange(-99, 99).Draw(rt, "by")) * time.Minute
		jumped := append(events, DebtEvent{Op: OpShift, At: noon.Add(500 * time.Hour), By: by})
		a, b := Shift(FoldDebts(Settings{}, events), by), FoldDebts(Settings{}, jumped)
		if len(a) != len(b) || len(a) > 0 && !reflect.DeepEqual(a, b) {
			rt.Fatalf("\nmoved %+v\nfolded %+v", a, b)
		}
	})
}
