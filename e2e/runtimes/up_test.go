//go:build e2e && linux

package runtimes

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/postroom/postroom/e2e/stubmodel"
)

// A CLI that post up starts in tmux knows who it is, is seen to run, and is
// gone after post stop.
func TestUp(t *testing.T) {
	t.Parallel()
	on(t, "claude codex", func(t *testing.T, c cli) {
		u := newUser(t, stubmodel.Steps())
		s := u.sit("coder", c)
		s.onPath()
		s.install()
		s.join("--runtime", c.name)
		argv := append([]string{s.path}, s.interactive(s)...)
		set := []string{"agent", "set", "coder", "--office", s.office}
		for _, a := range argv {
			set = append(set, "--launch="+a)
		}
		s.ok(set...)
		env := append(s.environ(), "TMUX_TMPDIR="+u.root+"/run")
		post := func(args ...string) ran {
			t.Helper()
			r := u.run(u.root+"/work", env, append([]string{given.Programs + "/post"}, append(args, "--office", s.office)...)...)
			if r.exit != 0 {
				t.Fatalf("%v", r)
			}
			return r
		}
		t.Cleanup(func() { u.run("/", env, given.Programs+"/post", "stop", "coder", "--office", s.office) })
		wants(t, post("up").out, `^coder started \(tmux, process \d+\)$`, `^look at them: tmux attach -t postroom-o-`)
		type view struct {
			Presence, Evidence string
			Session            *struct {
				PID     int
				Process string
			}
			Started *struct {
				State string
				PID   int
			}
		}
		look := func() (v view) {
			t.Helper()
			must(t, json.Unmarshal([]byte(post("agents", "--json").out), &v))
			return v
		}
		until(t, "its prompt", func() bool { return s.ready(post("logs", "coder").out) })
		if v := look(); c.name == "codex" && (v.Presence != "not seen yet" || v.Evidence != "type once in it" || v.Started.State != "running") {
			t.Fatalf("%+v", v)
		}
		if c.name == "claude" {
			until(t, "a word of its hooks", func() bool { return look().Session != nil })
			if v := look(); v.Session.PID != v.Started.PID || v.Session.Process != "runs" || v.Presence != "active" {
				t.Fatalf("%+v %+v %+v", v, v.Session, v.Started)
			}
		}
		wants(t, post("up").out, `^coder runs already`)
		wants(t, post("stop", "coder").out, `^coder stopped`)
		if v := look(); v.Started.State != "stopped" || v.Session != nil && v.Presence != "down" || strings.Contains(v.Evidence, "runs") {
			t.Fatalf("%+v", v)
		}
	})
}
