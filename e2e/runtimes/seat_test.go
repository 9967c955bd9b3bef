//go:build e2e && linux

package runtimes

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// program is how one CLI is set up and started. What it does is in docs/runtimes.
type program interface {
	// configure writes what the CLI needs to work offline and without questions.
	// It knows nothing of Postroom: that is post install's.
	configure(*seat)
	env(*seat) []string
	headless(s *seat, prompt string) []string // arguments
	interactive(*seat) []string               // arguments
	ready(screen string) bool                 // it takes a prompt
}

// seat is one agent's place: a CLI in a repository. The name is also the label
// of its requests to the model.
type seat struct {
	*user
	cli
	name string
	dir  string   // the repository
	path string   // the CLI
	more []string // more of the environment, for a scenario to set
	// guarded leaves the CLI's own permission rules on; otherwise it uses every
	// tool unasked.
	guarded bool
	daemon  bool // Codex: one daemon of the user runs the sessions, as it does by default
}

// sit makes a repository for a CLI and configures the CLI to use its tools unasked.
func (u *user) sit(name string, c cli) *seat { u.t.Helper(); return u.seat(name, c, false) }

// sitGuarded is the same with the CLI's own permission rules.
func (u *user) sitGuarded(name string, c cli) *seat { u.t.Helper(); return u.seat(name, c, true) }

func (u *user) seat(name string, c cli, guarded bool) *seat {
	u.t.Helper()
	path, ok := given.CLIs[c.name]
	if !ok {
		skip(u.t, given.Missing[c.name])
	}
	s := &seat{user: u, cli: c, name: name, dir: filepath.Join(u.root, "work", name), path: path, guarded: guarded}
	must(u.t, os.MkdirAll(s.dir, 0o755))
	if out, err := exec.Command("git", "init", "-q", s.dir).CombinedOutput(); err != nil {
		u.t.Fatalf("git init: %v: %s", err, out)
	}
	u.places[c.name] = append(u.places[c.name], s.dir)
	c.configure(s)
	return s
}

// join registers the seat's repository as the mailbox of an agent with its name.
func (s *seat) join(more ...string) {
	s.t.Helper()
	s.ok(append([]string{"join", s.name, "--workspace", s.dir, "--office", s.office}, more...)...)
}

func (s *seat) environ() []string {
	env := append(append([]string(nil), s.user.env...), s.cli.env(s)...)
	return append(env, s.more...)
}

// ask runs the CLI headless with one prompt, to its end.
func (s *seat) ask(prompt string, more ...string) ran {
	s.t.Helper()
	argv := append([]string{s.path}, s.headless(s, prompt)...)
	r := s.run(s.dir, s.environ(), append(argv, more...)...)
	s.t.Logf("%s headless: exit %d, %v", s.cli.name, r.exit, r.took)
	return r
}

// write puts a file below a directory.
func write(t *testing.T, text string, elem ...string) {
	t.Helper()
	path := filepath.Join(elem...)
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

// trusted lists the repositories of the seats of a CLI: its settings name them,
// and the seats of one user share its settings.
func (u *user) trusted(cli string) []string { return u.places[cli] }
