package debt

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/vfs"
)

const month = 30 * 24 * time.Hour

const small = 5000 // bytes; every state of a larger ledger would take long

// large returns a ledger over the limit with closed debts that are old and one
// that is open.
func large(t *testing.T, limit int) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem(noon)
	var b strings.Builder
	for n := 2; b.Len() <= limit; n++ {
		e := owe(1)
		e.ID, e.Conversation = mail.ID(fmt.Sprint("m-", n)), strings.Repeat("c", 2000)
		for _, op := range []policy.DebtOp{policy.OpOwe, policy.OpSettle} {
			e.Op = op
			l, err := render(e)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(l)
		}
	}
	write(t, m, Ledger, b.String())
	add(t, m, owe(1))
	m.SyncAll()
	return m
}

func TestCompact(t *testing.T) {
	t.Parallel()
	m := large(t, compactSize)
	before := open(t, m)
	for _, tt := range []struct {
		now  time.Time
		want bool
	}{{after(time.Hour), false}, {after(month), true}, {after(month), false}} {
		if done, err := Compact(m, tt.now); done != tt.want || err != nil {
			t.Fatalf("at %v: %v, %v", tt.now, done, err)
		}
		if debts := open(t, m); len(debts) != 1 || !reflect.DeepEqual(debts, before) {
			t.Fatalf("open: %+v", debts)
		}
	}
	if n := len(content(t, m)); n > 1000 {
		t.Errorf("%d bytes are left", n)
	}
	if names, _ := m.ReadNames("."); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
	if done, err := Compact(vfs.NewMem(noon), noon()); done || err != nil {
		t.Errorf("no ledger: %v, %v", done, err)
	}
}

// TestCompactCrash: after a crash anywhere, and after a kill followed by what
// the next process synced and then a crash, nothing that is owed is lost.
func TestCompactCrash(t *testing.T) {
	t.Parallel()
	full := content(t, large(t, small))
	for n := 1; ; n++ {
		m := vfs.NewMem(noon)
		write(t, m, Ledger, full)
		var f vfs.Fault
		f.CrashAfter(n)
		crashed := vfs.Crashed(func() { _, _ = compact(f.Wrap(m), after(month), small) })
		for state := range m.CrashStates(5000) {
			if debts := open(t, state); len(debts) != 1 {
				t.Fatalf("call %d: %+v", n, debts)
			}
			if _, err := compact(state, after(month), small); err != nil {
				t.Fatalf("call %d: %v", n, err)
			}
			if debts := open(t, state); len(debts) != 1 {
				t.Fatalf("call %d, again: %+v", n, debts)
			}
		}
		add(t, m, owe(2))
		for state := range m.CrashStates(5000) {
			if debts := open(t, state); len(debts) != 2 {
				t.Fatalf("killed after call %d: %+v", n, debts)
			}
		}
		if !crashed {
			return
		}
	}
}

func TestCompactFaults(t *testing.T) {
	t.Parallel()
	full := content(t, large(t, small))
	for n := 1; ; n++ {
		m := vfs.NewMem(noon)
		write(t, m, Ledger, full)
		var f vfs.Fault
		f.FailAt(n, errors.New("no space left on device"))
		_, err := compact(f.Wrap(m), after(month), small)
		if kind := mail.KindOf(err); err != nil && kind != mail.KindStore {
			t.Fatalf("call %d: %v", n, err)
		}
		add(t, m, owe(2))
		if _, err := compact(m, after(month), small); err != nil {
			t.Fatalf("call %d, again: %v", n, err)
		}
		for state := range m.CrashStates(5000) {
			if debts := open(t, state); len(debts) != 2 {
				t.Fatalf("call %d: %+v", n, debts)
			}
		}
		if len(f.Calls()) < n {
			return
		}
	}
}

// TestCondense: whatever is left out, what is owed stays the same, also when
// events of the last days are repeated afterwards.
func TestCondense(t *testing.T) {
	t.Parallel()
	ops := []policy.DebtOp{
		policy.OpOwe, policy.OpOwe, policy.OpSettle, policy.OpSettle, policy.OpAgree,
		policy.OpRemind, policy.OpEscalate, policy.OpWaive, policy.OpShift,
	}
	rapid.Check(t, func(t *rapid.T) {
		now := after(month)
		var ledger []byte
		var recent []policy.DebtEvent
		at := noon()
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			at = at.Add(time.Duration(rapid.IntRange(1, 48).Draw(t, "hours")) * time.Hour)
			e := owe(rapid.IntRange(1, 8).Draw(t, "message"))
			e.Op, e.At, e.Due = rapid.SampledFrom(ops).Draw(t, "op"), at, at.Add(time.Hour)
			if e.Op == policy.OpShift {
				e = policy.DebtEvent{Op: e.Op, At: at, By: time.Hour}
			}
			l, err := render(e)
			if err != nil {
				t.Fatal(err)
			}
			ledger = append(ledger, l...)
			if now.Sub(at) <= keepClosed {
				recent = append(recent, e)
			}
		}
		kept, enough := condense(ledger, now)
		if !enough {
			return
		}
		for _, e := range recent {
			l, _ := render(e)
			ledger, kept = append(ledger, l...), append(kept, l...)
		}
		want, got := read(ledger).Open(policy.Settings{}), read(kept).Open(policy.Settings{})
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v\nof\n%s", got, want, ledger)
		}
	})
}
