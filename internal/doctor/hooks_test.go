package doctor_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/doctor"
	"github.com/postroom/postroom/internal/registry"
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

// An office that cannot be opened is what hooks fail at first.
func TestHookFaultsOfBrokenOffice(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	if err := os.WriteFile(filepath.Join(w.Dir, registry.File), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := w.doctor()
	d.Host.HookFaults = func(time.Time) (string, []string) { return "/state/hooks.log", []string{"one"} }
	var checks []string
	for _, f := range d.Examine(t.Context()) {
		checks = append(checks, f.Check)
	}
	if want := []string{"registry", "hooks"}; !slices.Equal(checks, want) {
		t.Errorf("%v", checks)
	}
}

// What is wrong with an installation is told once, however many agents it
// concerns; a runtime that was never set up is a note.
func TestInstalled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		is    bool
		wrong []doctor.Fault
		want  int
		as    doctor.Severity
	}{
		{true, nil, 0, ""},
		{true, []doctor.Fault{{"/s.json", "a hook is missing", "post install claude"}}, 1, doctor.Warning},
		{false, nil, 2, doctor.Note},
	} {
		w := newWard(t)
		for _, name := range []string{"one", "two"} {
			w.Join(name, "")
			reg := w.Registry()
			e, _ := reg.Entry(name)
			err := reg.Update(e.AID, func(e *registry.Entry) { e.Runtime, e.Workspace = "claude", "/w/"+name })
			if err = errors.Join(err, reg.Save(w.Office().FS)); err != nil {
				t.Fatal(err)
			}
		}
		d := w.doctor()
		d.Host.Installed = func(runtime, dir string) (bool, []doctor.Fault) {
			if runtime != "claude" || !strings.HasPrefix(dir, "/w/") {
				t.Errorf("%s %s", runtime, dir)
			}
			return c.is, c.wrong
		}
		n := 0
		for _, f := range d.Examine(t.Context()) {
			if f.Check == "install" {
				if n++; f.Severity != c.as || f.Fix != "post install claude" {
					t.Errorf("%+v", f)
				}
			}
		}
		if n != c.want {
			t.Errorf("%d findings, want %d", n, c.want)
		}
	}
}
