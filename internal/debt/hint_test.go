package debt

import (
	"errors"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/vfs"
)

func hint() Hint {
	return Hint{Next: after(time.Hour), Wall: noon(), BootID: "b-1", Mono: 5 * time.Second}
}

func TestHint(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem(noon)
	if _, ok := LoadHint(m, "b-1"); ok {
		t.Error("a hint from nowhere")
	}
	for _, h := range []Hint{hint(), {Wall: noon(), BootID: "b-1"}} {
		if err := SaveHint(m, h); err != nil {
			t.Fatal(err)
		}
		if got, ok := LoadHint(m, "b-1"); !ok || got != h {
			t.Errorf("%+v, %v", got, ok)
		}
	}
	for _, boot := range []string{"b-2", ""} {
		if _, ok := LoadHint(m, boot); ok {
			t.Errorf("boot %q trusts it", boot)
		}
	}
	for _, content := range []string{"", "{}", "\x00\x00", `{"boot_id":"b-1"}`, `{"wall":"yesterday"}`, "[]"} {
		write(t, m, hintName, content)
		if h, ok := LoadHint(m, "b-1"); ok {
			t.Errorf("%q: %+v", content, h)
		}
	}
	for range 2 {
		if err := DropHint(m); err != nil {
			t.Fatal(err)
		}
	}
	if names, _ := m.ReadNames("."); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
}

// TestHintIsWholeOrOld: a process killed at any call, or a failing call, leaves
// the old hint or the new one.
func TestHintIsWholeOrOld(t *testing.T) {
	t.Parallel()
	lowered := hint().Lower(noon())
	for n := 1; ; n++ {
		m := vfs.NewMem(noon)
		if err := SaveHint(m, hint()); err != nil {
			t.Fatal(err)
		}
		var kill, fail vfs.Fault
		kill.CrashAfter(n)
		crashed := vfs.Crashed(func() { _ = SaveHint(kill.Wrap(m), lowered) })
		if h, ok := LoadHint(m, "b-1"); !ok || h != hint() && h != lowered {
			t.Fatalf("killed after call %d: %+v, %v", n, h, ok)
		}
		fail.FailAt(n, errors.New("no space left on device"))
		err := SaveHint(fail.Wrap(m), lowered)
		if h, ok := LoadHint(m, "b-1"); !ok || err == nil && h != lowered {
			t.Fatalf("failed at call %d: %+v, %v", n, h, ok)
		}
		if err := SaveHint(m, lowered); err != nil {
			t.Fatal(err)
		}
		if !crashed {
			return
		}
	}
}

func TestLowerAndDue(t *testing.T) {
	t.Parallel()
	h := hint()
	if h.Lower(after(2*time.Hour)).Next != h.Next || h.Lower(noon()).Next != noon() || (Hint{}).Lower(noon()).Next != noon() {
		t.Error("Lower")
	}
	if h.Due(after(time.Hour-1)) || !h.Due(after(time.Hour)) || (Hint{}).Due(noon()) {
		t.Error("Due")
	}
}

func TestJump(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		wall time.Duration // since the hint
		boot string
		mono time.Duration // since the hint
		want time.Duration
	}{
		{"no jump", time.Hour, "b-1", time.Hour, 0},
		{"slept a week", 7 * 24 * time.Hour, "b-1", 7 * 24 * time.Hour, 0},
		{"drift", time.Hour + JumpLimit, "b-1", time.Hour, 0},
		{"set forward", 3 * time.Hour, "b-1", time.Hour, 2 * time.Hour},
		{"set back", -time.Hour, "b-1", time.Hour, -2 * time.Hour},
		{"other boot", 3 * time.Hour, "b-2", time.Hour, 0},
		{"no boot clock", 3 * time.Hour, "", time.Hour, 0},
		{"another time namespace", 3 * time.Hour, "b-1", -time.Second, 0},
	} {
		if got := Jump(hint(), after(tt.wall), tt.boot, 5*time.Second+tt.mono); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if got := Jump(Hint{}, noon(), "", 0); got != 0 {
		t.Errorf("no hint: %v", got)
	}
}

func TestOneJumpShiftsOnce(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem(noon)
	add(t, m, owe(1))
	if err := SaveHint(m, hint()); err != nil {
		t.Fatal(err)
	}
	// The pass is repeated a little later, before it saved the next hint.
	for _, late := range []time.Duration{0, 17 * time.Millisecond} {
		h, ok := LoadHint(m, "b-1")
		jump := Jump(h, after(3*time.Hour+2*late), "b-1", h.Mono+time.Hour+late)
		if !ok || jump == 0 {
			t.Fatalf("%v, %v", jump, ok)
		}
		add(t, m, ShiftEvent(h, jump))
	}
	if debts := open(t, m); len(debts) != 1 || !debts[0].Due.Equal(after(3*time.Hour)) {
		t.Errorf("%+v", debts)
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	var s policy.Settings
	m := vfs.NewMem(noon)
	next := func() time.Time { return Next(open(t, m)) }
	if !next().IsZero() {
		t.Error("nothing is owed")
	}
	add(t, m, owe(1), owe(2))
	steps := []policy.DebtEvent{
		event(policy.OpRemind, 1, after(65*time.Minute)),
		event(policy.OpEscalate, 1, after(95*time.Minute)),
		event(policy.OpRemind, 2, after(2*time.Hour)),
		event(policy.OpSettle, 2, after(2*time.Hour)),
	}
	for i, e := range steps {
		// Next is the first moment at which the rules want something.
		at := next()
		for _, tt := range []struct {
			now  time.Time
			want bool
		}{{at.Add(-time.Millisecond), false}, {at, true}} {
			wants := false
			for _, d := range load(t, m).Open(s) {
				remind, escalate := policy.Overdue(d, tt.now)
				wants = wants || remind || escalate
			}
			if wants != tt.want {
				t.Errorf("step %d: at %v the rules want something: %v", i, tt.now, wants)
			}
		}
		add(t, m, e)
	}
	if !next().IsZero() {
		t.Errorf("next %v", next())
	}
}

func TestBootClock(t *testing.T) {
	t.Parallel()
	boot, d, ok := BootClock()
	again, later, _ := BootClock()
	if ok && (boot == "" || boot != again || d <= 0 || later < d) || !ok && boot != "" {
		t.Errorf("%q %v, then %q %v; %v", boot, d, again, later, ok)
	}
}
