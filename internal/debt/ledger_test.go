package debt

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/vfs"
)

func TestAppendAndLoad(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem(noon)
	if b := load(t, m); len(b.Events)+b.Damaged != 0 {
		t.Fatalf("new office: %+v", b)
	}
	person := owe(2)
	person.Creditor, person.Firm = "", true
	agree := event(policy.OpAgree, 2, after(time.Minute))
	agree.Due = after(9 * time.Hour)
	remind := event(policy.OpRemind, 2, after(2*time.Hour))
	remind.Kind = policy.OwesDone
	shift := policy.DebtEvent{Op: policy.OpShift, At: noon(), By: -time.Hour}
	want := []policy.DebtEvent{owe(1), person, agree, remind, shift, event(policy.OpSettle, 1, after(time.Hour))}
	add(t, m, want[:2]...)
	add(t, m, want[2:]...)
	add(t, m)
	b := load(t, m)
	if !reflect.DeepEqual(b.Events, want) || b.Damaged != 0 {
		t.Fatalf("got  %+v\nwant %+v", b, want)
	}
	if !strings.Contains(content(t, m), `"creditor":"human"`) {
		t.Errorf("a person is not named:\n%s", content(t, m))
	}
	if debts := b.Open(policy.Settings{}); len(debts) != 1 || debts[0].Creditor != "" || debts[0].Kind != policy.OwesDone {
		t.Errorf("open: %+v", debts)
	}
}

func TestAppendRefuses(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem(noon)
	for name, spoil := range map[string]func(*policy.DebtEvent){
		"no time":       func(e *policy.DebtEvent) { e.At = time.Time{} },
		"no due time":   func(e *policy.DebtEvent) { e.Due = time.Time{} },
		"no message":    func(e *policy.DebtEvent) { e.ID = "" },
		"no debtor":     func(e *policy.DebtEvent) { e.Debtor = "" },
		"unknown event": func(e *policy.DebtEvent) { e.Op = "forgive" },
	} {
		bad := owe(2)
		spoil(&bad)
		_, err := Append(m, owe(1), bad)
		if mail.KindOf(err) != mail.KindInvalid || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b := load(t, m); len(b.Events) != 0 {
		t.Errorf("written: %+v", b)
	}
}

func TestTornTail(t *testing.T) {
	t.Parallel()
	l, err := render(owe(1))
	if err != nil {
		t.Fatal(err)
	}
	whole := string(l)
	for _, tt := range []struct {
		name, ledger string
		cut          int
		events, bad  int
	}{
		{"empty", "", 0, 0, 0},
		{"whole", whole, 0, 1, 0},
		{"only a torn line", whole[:20], 20, 0, 0},
		{"torn after a line", whole + whole[:7], 7, 1, 0},
		{"a long torn line", whole + strings.Repeat("x", 3*tailChunk), 3 * tailChunk, 1, 0},
		{"zeros at the end", whole + "\x00\x00", 2, 1, 0},
		{"zeros before a line", "\x00\x00\x00" + whole, 0, 1, 0},
		{"half a line, zeros, a line", whole[:9] + "\x00\x00" + whole, 0, 1, 0},
		{"garbage between", whole + "{oops\n" + whole, 0, 2, 1},
		{"nothing between", whole + "\n{}\n[]\n", 0, 1, 3},
		{"a newer tool's event", `{"at":"2026-05-30T12:00:00Z","event":"forgive"}` + "\n" + whole, 0, 1, 0},
	} {
		m := vfs.NewMem(noon)
		write(t, m, Ledger, tt.ledger)
		if b := load(t, m); len(b.Events) != tt.events || b.Damaged != tt.bad {
			t.Errorf("%s: %+v", tt.name, b)
		}
		if cut := add(t, m, owe(2)); cut != int64(tt.cut) {
			t.Errorf("%s: cut %d", tt.name, cut)
		}
		if b := load(t, m); len(b.Events) != tt.events+1 || b.Damaged != tt.bad || !strings.HasSuffix(content(t, m), "\n") {
			t.Errorf("%s: then %+v", tt.name, b)
		}
	}
}

func TestAppendFaults(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		m := vfs.NewMem(noon)
		add(t, m, owe(1))
		var f vfs.Fault
		f.FailAt(n, errors.New("no space left on device"))
		p, err := Append(f.Wrap(m), owe(2), owe(3))
		if err == nil {
			err = p.Sync()
			_ = p.Close()
		}
		if err == nil && len(f.Calls()) < n {
			return
		}
		if err == nil || mail.KindOf(err) != mail.KindStore {
			t.Errorf("call %v: %v", f.Calls()[n-1], err)
		}
		add(t, m, owe(2), owe(3))
		if debts := open(t, m); len(debts) != 3 || load(t, m).Damaged != 0 {
			t.Errorf("call %d: %+v", n, debts)
		}
	}
}

// TestAppendCrash: what was synced is there whatever crashes later, and the
// rest is there or not, never something else.
func TestAppendCrash(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		m := vfs.NewMem(noon)
		var f vfs.Fault
		f.CrashAfter(n)
		synced := 0
		crashed := vfs.Crashed(func() {
			fsys := f.Wrap(m)
			for k := 1; k <= 3; k++ {
				p, err := Append(fsys, owe(k))
				if err != nil {
					return
				}
				if k == 2 {
					_ = p.Close() // not synced: the third is written over a crash's leavings
					continue
				}
				if p.Sync() == nil {
					synced = k
				}
			}
		})
		for state := range m.CrashStates(5000) {
			for _, least := range []int{synced, 3} {
				b := load(t, state)
				debts := b.Open(policy.Settings{})
				if len(debts) < least || b.Damaged > 1 {
					t.Fatalf("call %d: %d synced, %+v\n%v", n, least, b, state)
				}
				for _, d := range debts {
					if d.Debtor != "a-1" || d.Creditor != "a-2" {
						t.Fatalf("call %d: %+v", n, d)
					}
				}
				add(t, state, owe(1), owe(2), owe(3))
			}
		}
		if !crashed {
			return
		}
	}
}

func FuzzRead(f *testing.F) {
	l, _ := render(owe(1))
	f.Add(l)
	f.Add([]byte("\x00{}\n\n{\"event\":\"shift\"}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		book := read(b)
		for _, e := range book.Events {
			l, err := render(e)
			if err != nil {
				continue // a time that the format cannot hold
			}
			again, known, ok := parse(l)
			if !known || !ok || !again.At.Equal(e.At) || again.ID != e.ID && e.Op != policy.OpShift {
				t.Fatalf("%+v became %+v by %s", e, again, l)
			}
		}
		_ = book.Open(policy.Settings{})
	})
}
