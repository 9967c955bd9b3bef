package doctor_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/verify"
	"github.com/postroom/postroom/internal/vfs"
)

// stride leaves out calls, so that the test ends in a few seconds; each start
// is another set of them.
const stride = 11

// TestMendCutShort: whatever call of a repair fails or is the last one before
// the process dies, the next repair ends with everything in order and each
// message in its mailbox once.
func TestMendCutShort(t *testing.T) {
	t.Parallel()
	for start, arm := range map[int]func(*vfs.Fault, int){
		1: func(f *vfs.Fault, n int) { f.FailAt(n, errors.New("no space left on device")) },
		6: func(f *vfs.Fault, n int) { f.CrashAfter(n) },
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for n, calls := start, start+1; n < calls; n += stride {
				calls = cutShort(t, n, arm)
			}
		})
	}
}

// cutShort mends an office with the n-th call armed, then without, and returns
// how many calls there were.
func cutShort(t *testing.T, n int, arm func(*vfs.Fault, int)) int {
	t.Helper()
	w := newWard(t)
	second := w.Mail("researcher", "coder", mail.Inform, "Third", "Know that.")
	must(t, os.Remove(w.inbox("coder", w.ids["waiting"])), os.Truncate(w.Path("agents", "coder", "index.jsonl"), 0))
	w.Edit(w.inbox("coder", second), func(s string) string { return strings.Replace(s, "Know", "Snow", 1) })
	var fault vfs.Fault
	arm(&fault, n)
	sick := w.doctor()
	sick.Sys.Parallel = 1
	sick.Sys.OpenFS = func(dir string) (vfs.FS, error) {
		inner, err := w.Sys.OpenFS(dir)
		if err != nil {
			return nil, err
		}
		return fault.Wrap(inner), nil
	}
	vfs.Crashed(func() { sick.Mend(t.Context(), w.locked) }) // ends well or not
	calls := len(fault.Calls())
	_, left := w.mend(t)
	if bad := wrong(left); len(bad) > 0 {
		t.Errorf("call %d: left %+v", n, bad)
	}
	rep, err := verify.Run(t.Context(), w.Office(), verify.Options{})
	if err != nil || rep.First != nil {
		t.Errorf("call %d: %+v %v", n, rep.First, err)
	}
	items, err := w.Box("coder").List(true)
	if err != nil || len(items) != 2 || items[0].ID != w.ids["waiting"] || items[1].ID != second || items[1].Seq != 3 {
		t.Errorf("call %d: %+v %v", n, items, err)
	}
	return calls
}

// TestRedeliveredIsSaid: the journal has each redelivery, with the reason and
// where the changed file is kept.
func TestRedeliveredIsSaid(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	w.Edit(w.inbox("coder", w.ids["waiting"]), func(s string) string { return strings.Replace(s, "Know", "Snow", 1) })
	w.mend(t)
	var said []journal.Record
	must(t, journal.Each(w.Office().FS, officetest.Start.Add(-time.Hour), time.Time{}, func(r journal.Record) error {
		if r.Event == journal.Redelivered {
			said = append(said, r)
		}
		return nil
	}))
	if len(said) != 1 || said[0].ID != w.ids["waiting"] || said[0].Agent != "coder" || said[0].Seq != 2 || said[0].Detail["why"] != "changed" {
		t.Fatalf("%+v", said)
	}
	kept, err := os.ReadFile(said[0].Detail["kept"])
	if err != nil || !strings.Contains(string(kept), "Snow this") {
		t.Errorf("%s %v", kept, err)
	}
}
