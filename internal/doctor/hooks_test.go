package doctor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/doctor"
)

func TestHookFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lines []string
		want  string // "" is no finding
	}{
		{nil, ""},
		{[]string{"2026-05-30T14:00:00Z claude Stop: one"}, "hooks failed 1 time in the last 24 hours, at last: 2026-05-30T14:00:00Z claude Stop: one"},
		{[]string{"a", "b \x1b[31m"}, "hooks failed 2 times"},
	} {
		w := newWard(t)
		d := w.doctor()
		var since time.Time
		d.Host.HookFaults = func(t time.Time) (string, []string) { since = t; return "/state/hooks.log", c.lines }
		var got *doctor.Finding
		for _, f := range d.Examine(t.Context()) {
			if f.Check == "hooks" {
				got = &f
			}
		}
		switch {
		case (got != nil) != (c.want != ""):
			t.Errorf("%v: %+v", c.lines, got)
		case got == nil:
		case !strings.HasPrefix(got.What, c.want), strings.Contains(got.What, "\x1b"), got.Severity != doctor.Warning, got.Fix == "", got.Why == "", got.Where != "/state/hooks.log":
			t.Errorf("%+v", got)
		}
		if age := d.Sys.Now().Sub(since); age != 24*time.Hour {
			t.Errorf("%v", age)
		}
	}
}
