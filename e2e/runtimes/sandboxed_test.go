//go:build e2e && linux

package runtimes

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/postroom/postroom/e2e/stubmodel"
)

// workspaceOnly is Codex's sandbox in which commands write their workspace and
// nothing else: neither /tmp, where the scenarios live, nor $TMPDIR.
func workspaceOnly() []string {
	return []string{"--sandbox", "workspace-write",
		"-c", "sandbox_workspace_write.exclude_slash_tmp=true", "-c", "sandbox_workspace_write.exclude_tmpdir_env_var=true"}
}

// turn has the CLI run the commands in one turn, and returns what they printed.
func (s *seat) turn(commands string) string {
	s.t.Helper()
	before := len(s.model.Turns(s.name))
	if r := s.ask("run: "+commands, workspaceOnly()...); r.exit != 0 {
		s.t.Fatalf("%v", r)
	}
	for _, r := range s.model.Turns(s.name)[before:] {
		if list := r.Results(); len(list) == 1 {
			return list[0].Text
		}
	}
	s.t.Fatalf("no turn had a result")
	return ""
}

// inSandbox is a Codex whose mailbox lies in its workspace, and that runs what
// it is told to.
func inSandbox(t *testing.T, c cli) *seat {
	t.Helper()
	u := newUser(t, func(r stubmodel.Request) stubmodel.Reply {
		if _, commands, ok := strings.Cut(r.Prompt(), "run: "); ok && len(r.Results()) == 0 {
			return stubmodel.Shell(commands)
		}
		return stubmodel.Say("that was it")
	})
	s := u.sit("coder", c)
	s.join("--runtime", "codex", "--mailbox", filepath.Join(s.dir, ".mail"))
	return s
}

func wants(t *testing.T, text string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile(`(?m)` + p).MatchString(text) {
			t.Fatalf("no %s in:\n%s", p, text)
		}
	}
}

// A Codex in workspace-write sends and receives: what it writes stays in its
// mailbox, and whoever is outside delivers it (design §3).
func TestSandboxed(t *testing.T) {
	t.Parallel()
	on(t, "codex", func(t *testing.T, c cli) {
		s := inSandbox(t, c)
		s.mail("coder", "a question", "what is in the box?", "--act", "request")
		got := s.turn(`touch ../../home/leak ../../office/leak; echo "outside: $?"
post inbox; echo "unbound: $?"
post send ann --as coder --act request -s 'from within' -m 'sent from the sandbox'; echo "send: $?"
post send ann --as coder --act request -s 'from within' -m 'sent from the sandbox'; echo "again: $?"
post inbox --as coder; echo "inbox: $?"
post read next --as coder; echo "read: $?"
post reply last --as coder --act done -m 'done in the sandbox'; echo "reply: $?"
post owed --as coder
post done all-read --as coder; echo "done: $?"
post agents; echo "agents: $?"`)
		for _, leak := range []string{s.home, s.office} {
			if _, err := os.Stat(filepath.Join(leak, "leak")); err == nil {
				t.Fatal("the sandbox leaks")
			}
		}
		wants(t, got, `outside: 1`, `a sandbox that hides what it is`, `^unbound: 5`,
			`^stored, not yet delivered: \S+ to ann \(.*sandbox.*\). Do not resend.$`, `^send: 4`, `^again: 4`,
			`a question$`, `^inbox: 0`, `^what is in the box\?$`, `^read: 0`, `^reply: 4`, `answered, on its way`,
			`your answer to ann waits in your outbox; do not send it again`, `^done: 0`, `^coder +codex`, `^agents: 0`)
		routed := s.ok("route", "--office", s.office)
		if strings.Count(routed.out, "delivered ") != 2 {
			t.Fatalf("%v", routed)
		}
		wants(t, s.ok("inbox", "--as", "ann", "--office", s.office).out, `coder +request .*from within`, `coder +done .*Re: a question`)
		s.ok("verify", "--office", s.office)
		s.ok("doctor", "--office", s.office)
	})
}

// A workspace that git clean emptied of its mailbox: the sandboxed session is
// told, and doctor brings back what was not handled.
func TestSandboxedAfterGitClean(t *testing.T) {
	t.Parallel()
	on(t, "codex", func(t *testing.T, c cli) {
		s := inSandbox(t, c)
		s.mail("coder", "still to do", "the body")
		if out, err := exec.Command("git", "-C", s.dir, "clean", "-fdxq").CombinedOutput(); err != nil {
			t.Fatalf("git clean: %v: %s", err, out)
		}
		got := s.turn(`post inbox --as coder; echo "inbox: $?"; post send ann --as coder -m lost; echo "send: $?"`)
		wants(t, got, `^inbox: [1-9]`, `^send: [1-9]`, `doctor`)
		s.post("doctor", "--fix", "--office", s.office)
		wants(t, s.turn(`post read next --as coder; echo "read: $?"; post send ann --as coder -m kept; echo "send: $?"`), `^the body$`, `^read: 0`, `^send: 4`)
		s.ok("route", "--office", s.office)
		s.ok("doctor", "--office", s.office)
	})
}

// With hooks nobody else is needed: they run outside of the sandbox, tell the
// session who it is, and move what it sends.
func TestSandboxedWithHooks(t *testing.T) {
	t.Parallel()
	on(t, "codex", func(t *testing.T, c cli) {
		s := inSandbox(t, c)
		s.onPath()
		s.install()
		s.mail("coder", "a question", "what is in the box?", "--act", "request")
		write(t, `post inbox; echo "inbox: $?"; post read next; post reply last --act done -m 'done in the sandbox'; echo "reply: $?"`, s.dir, "commands")
		term := s.open(append(workspaceOnly(), "--ask-for-approval", "never")...)
		term.prompt("run: sh commands")
		got := s.await("the result", func(r stubmodel.Request) bool { return len(r.Results()) == 1 }).Results()[0].Text
		wants(t, got, `a question$`, `^inbox: 0`, `^what is in the box\?$`, `^stored, not yet delivered: \S+ to ann`, `^reply: 4`)
		until(t, "a hook moves the answer", func() bool {
			inbox := filepath.Join(s.office, "agents", "ann", "inbox", "*.json") // looked at without post: a command of ours would route
			list, err := filepath.Glob(inbox)
			return err == nil && len(list) == 1
		})
		wants(t, s.ok("agents", "--office", s.office).out, `^coder +codex +(active|busy)`)
	})
}
