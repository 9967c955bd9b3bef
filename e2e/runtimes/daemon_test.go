//go:build e2e && linux

package runtimes

import (
	"strings"
	"testing"

	"github.com/postroom/postroom/e2e/stubmodel"
)

// As Codex starts by default, one daemon runs the sessions of all terminals: a
// command in the second has the environment of the first. What tells sessions
// apart is their id.
func TestDaemon(t *testing.T) {
	t.Parallel()
	on(t, "codex", func(t *testing.T, c cli) {
		u := newUser(t, stubmodel.Rules(stubmodel.Rule{When: "show the environment", Then: stubmodel.Shell("env")}))
		seats := map[string]*seat{"ada": u.sit("ada", c), "bob": u.sit("bob", c)}
		id := map[string]string{}
		for _, name := range []string{"ada", "bob"} {
			s := seats[name]
			s.daemon = true
			term := s.open()
			if name == "ada" {
				until(t, "the daemon", func() bool { return s.run(s.dir, s.environ(), s.path, "app-server", "daemon", "version").exit == 0 })
			}
			term.prompt("show the environment, " + name)
			r := u.await("the environment", func(r stubmodel.Request) bool { return r.Has(", "+name) && len(r.Results()) == 1 })
			env := r.Results()[0].Text
			t.Logf("%s: TMUX=%s PWD=%s", name, variable(env, "TMUX"), variable(env, "PWD"))
			if got := variable(env, "TMUX"); !strings.Contains(got, "/ada,") {
				t.Errorf("%s has TMUX %q", name, got)
			}
			if got := variable(env, "PWD"); got != s.dir {
				t.Errorf("%s is in %s", name, got)
			}
			id[name] = variable(env, "CODEX_THREAD_ID")
		}
		if id["ada"] == "" || id["ada"] == id["bob"] {
			t.Errorf("sessions: %v", id)
		}
	})
}

// variable is the value of one in what env printed.
func variable(env, name string) string {
	_, rest, _ := strings.Cut("\n"+env, "\n"+name+"=")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}
