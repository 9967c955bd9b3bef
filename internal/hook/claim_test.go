package hook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/registry"
)

// TestClaim is the table of design §11: who a session is.
func TestClaim(t *testing.T) {
	t.Parallel()
	const start, prompt, stop = "SessionStart", "UserPromptSubmit", "Stop"
	for _, c := range []struct {
		name string
		run  func(t *testing.T, w *world)
	}{
		{"the free name of the place", func(t *testing.T, w *world) {
			r := w.claude(10, start, "s1", "/ws", "source=startup")
			if w.who("claude:s1") != "coder" || !strings.Contains(r.text(), "you are coder") || !strings.Contains(r.out, `"/office/agents/coder/inbox"`) {
				t.Errorf("%s: %+v", w.who("claude:s1"), r)
			}
		}},
		{"below the place", func(t *testing.T, w *world) {
			w.claude(10, start, "s1", "/ws/sub/dir", "source=startup")
			is(t, w, "claude:s1", "coder")
		}},
		{"a guest hears one line, then nothing", func(t *testing.T, w *world) {
			w.claude(10, start, "s1", "/ws", "source=startup")
			r := w.claude(11, start, "s2", "/ws", "source=startup")
			if !strings.Contains(r.text(), "speaks as coder") || !strings.Contains(r.text(), "join NAME") || strings.Contains(r.text(), "\n") {
				t.Errorf("%q", r.text())
			}
			w.mail("tester", "coder", "request")
			for _, ev := range []string{prompt, "PostToolBatch", stop, "SessionEnd", "FileChanged"} {
				if r := w.claude(11, ev, "s2", "/ws"); !r.silent() {
					t.Errorf("%s: %+v", ev, r)
				}
			}
			if r := w.claude(11, start, "s2", "/ws", "source=compact"); !r.silent() {
				t.Errorf("compact: %+v", r)
			}
			is(t, w, "claude:s2", "guest")
			is(t, w, "claude:s1", "coder")
		}},
		{"a guest does not slip into the name that becomes free", func(t *testing.T, w *world) {
			w.claude(10, start, "s1", "/ws", "source=startup")
			w.claude(11, start, "s2", "/ws", "source=startup")
			w.procs.kill(10)
			if r := w.claude(11, prompt, "s2", "/ws"); !r.silent() {
				t.Errorf("%+v", r)
			}
			w.procs.start(12, "claude", "/ws")
			w.claude(12, start, "s3", "/ws", "source=startup")
			is(t, w, "claude:s3", "coder")
		}},
		{"a crash frees the name", func(t *testing.T, w *world) {
			w.claude(10, start, "s1", "/ws", "source=startup")
			w.procs.kill(10)
			w.claude(11, start, "s2", "/ws", "source=startup")
			is(t, w, "claude:s2", "coder")
		}},
		{"resumed after a crash, it keeps others off as before", func(t *testing.T, w *world) {
			for _, ev := range []string{start, prompt} {
				w.claude(10, start, "s1", "/ws", "source=startup")
				w.procs.kill(10)
				w.claude(11, ev, "s1", "/ws", "source=resume")
				w.claude(12, start, "s2", "/ws", "source=startup")
				is(t, w, "claude:s1", "coder")
				is(t, w, "claude:s2", "guest")
				w.procs.start(10, "claude", "/ws")
			}
		}},
		{"resumed beside itself, the first process stays the one", func(t *testing.T, w *world) {
			w.claude(10, start, "s1", "/ws", "source=startup")
			w.claude(11, start, "s1", "/ws", "source=resume")
			w.procs.kill(11)
			w.claude(12, start, "s2", "/ws", "source=startup")
			is(t, w, "claude:s2", "guest")
		}},
		{"a crash whose pid was used again", func(t *testing.T, w *world) {
			w.claude(10, start, "s1", "/ws", "source=startup")
			p := w.procs.procs[10]
			p.Start = "later"
			w.procs.procs[10] = p
			w.claude(11, start, "s2", "/ws", "source=startup")
			is(t, w, "claude:s2", "coder")
		}},
		{"the end frees the name while the process lingers", func(t *testing.T, w *world) {
			w.claude(10, start, "s1", "/ws", "source=startup")
			w.claude(10, "SessionEnd", "s1", "/ws", "reason=prompt_input_exit")
			w.claude(11, start, "s2", "/ws", "source=startup")
			is(t, w, "claude:s2", "coder")
		}},
		{"resume in a new process", func(t *testing.T, w *world) {
			w.claude(10, start, "s1", "/ws", "source=startup")
			w.procs.kill(10)
			w.claude(11, start, "s1", "/ws", "source=resume")
			is(t, w, "claude:s1", "coder")
			if r := w.claude(12, start, "s2", "/ws", "source=startup"); !strings.Contains(r.text(), "speaks as coder") {
				t.Errorf("the resumed session holds it: %q", r.text())
			}
		}},
		{"resume elsewhere keeps the identity", func(t *testing.T, w *world) {
			w.claude(10, start, "s1", "/ws", "source=startup")
			w.claude(10, prompt, "s1", "/elsewhere")
			is(t, w, "claude:s1", "coder")
		}},
		{"resume while another has the name", func(t *testing.T, w *world) {
			w.claude(10, start, "s1", "/ws", "source=startup")
			w.procs.kill(10)
			w.claude(11, start, "s2", "/ws", "source=startup")
			r := w.claude(12, start, "s1", "/ws", "source=resume")
			if !strings.Contains(r.text(), "no longer coder") {
				t.Errorf("%q", r.text())
			}
			is(t, w, "claude:s1", "guest")
			is(t, w, "claude:s2", "coder")
		}},
		{"clear: another id in the same process", func(t *testing.T, w *world) {
			w.claude(10, start, "s1", "/ws", "source=startup")
			w.claude(10, "SessionEnd", "s1", "/ws", "reason=clear")
			if got := w.presence("coder"); got.State == presence.Ended {
				t.Error("its process goes on")
			}
			if r := w.claude(11, start, "s9", "/ws", "source=startup"); !strings.Contains(r.text(), "speaks as coder") {
				t.Errorf("between the two nobody else gets it: %q", r.text())
			}
			w.claude(10, start, "s2", "/ws", "source=clear")
			is(t, w, "claude:s2", "coder")
		}},
		{"fork in the same process", func(t *testing.T, w *world) {
			w.claude(10, start, "s1", "/ws", "source=startup")
			w.claude(10, "SessionEnd", "s1", "/ws", "reason=resume")
			w.claude(10, start, "s2", "/ws", "source=fork")
			is(t, w, "claude:s2", "coder")
		}},
		{"fork beside the old one that lives", func(t *testing.T, w *world) {
			w.claude(10, start, "s1", "/ws", "source=startup")
			w.claude(11, start, "s2", "/ws", "source=fork")
			is(t, w, "claude:s2", "guest")
		}},
		{"fork of an old one that is gone", func(t *testing.T, w *world) {
			w.claude(10, start, "s1", "/ws", "source=startup")
			w.procs.kill(10)
			w.claude(11, start, "s2", "/ws", "source=fork")
			is(t, w, "claude:s2", "coder")
		}},
		{"compact says again who it is", func(t *testing.T, w *world) {
			w.claude(10, start, "s1", "/ws", "source=startup")
			if r := w.claude(10, start, "s1", "/ws", "source=compact"); !strings.Contains(r.text(), "still the agent coder") {
				t.Errorf("%q", r.text())
			}
		}},
		{"one-shot runs are nobody", func(t *testing.T, w *world) {
			w.env["CLAUDE_CODE_ENTRYPOINT"] = "sdk-cli"
			for _, ev := range []string{start, prompt, "PostToolBatch", stop, "SessionEnd"} {
				if r := w.claude(10, ev, "s1", "/ws", "source=startup"); !r.silent() {
					t.Errorf("%s: %+v", ev, r)
				}
			}
			is(t, w, "claude:s1", "")
		}},
		{"codex exec is nobody", func(t *testing.T, w *world) {
			w.procs.start(20, "codex exec hi", "/cx")
			if r := w.codex(20, start, "t1", "/cx", "source=startup"); !r.silent() {
				t.Errorf("%+v", r)
			}
			is(t, w, "codex:t1", "")
		}},
		{"a one-shot run of a bound session is that session", func(t *testing.T, w *world) {
			w.claude(10, start, "s1", "/ws", "source=startup")
			w.env["CLAUDE_CODE_ENTRYPOINT"] = "sdk-cli"
			w.claude(11, start, "s1", "/ws", "source=resume")
			is(t, w, "claude:s1", "coder")
			if p := w.presence("coder"); p.PID != 10 || p.OneShot {
				t.Errorf("the live session's presence stays: %+v", p)
			}
		}},
		{"unregistered directories are silent", func(t *testing.T, w *world) {
			for _, ev := range []string{start, prompt, "PostToolBatch", stop, "Notification", "SessionEnd"} {
				if r := w.claude(10, ev, "s1", "/other", "source=startup"); !r.silent() {
					t.Errorf("%s: %+v", ev, r)
				}
			}
			is(t, w, "claude:s1", "")
		}},
		{"an archived agent", func(t *testing.T, w *world) {
			w.claude(10, start, "s1", "/ws", "source=startup")
			w.edit("coder", func(e *registry.Entry) { e.Archived = true })
			if r := w.claude(10, prompt, "s1", "/ws"); !r.silent() {
				t.Errorf("%+v", r)
			}
			if r := w.claude(10, start, "s1", "/ws", "source=resume"); !strings.Contains(r.text(), "is archived") {
				t.Errorf("%q", r.text())
			}
			if r := w.claude(11, start, "s2", "/ws", "source=startup"); !r.silent() {
				t.Errorf("nobody works there any more: %+v", r)
			}
		}},
		{"a moved workspace", func(t *testing.T, w *world) {
			w.claude(10, start, "s1", "/ws", "source=startup")
			w.edit("coder", func(e *registry.Entry) { e.Workspace = "/moved" })
			w.must(w.user.BindWorkspace("/moved", mustBinding(w)))
			w.claude(10, prompt, "s1", "/ws")
			is(t, w, "claude:s1", "coder") // it lives, and is bound
			w.procs.kill(10)
			if r := w.claude(11, start, "s2", "/ws", "source=startup"); !r.silent() {
				t.Errorf("%+v", r)
			}
			w.claude(11, start, "s3", "/moved", "source=startup")
			is(t, w, "claude:s3", "coder")
		}},
		{"takeover", func(t *testing.T, w *world) {
			w.claude(10, start, "s1", "/ws", "source=startup")
			w.must(w.roll().Release("a-coder", "coder")) // what post join --takeover does
			w.edit("coder", func(e *registry.Entry) { e.Workspace = "/moved" })
			w.must(w.user.BindWorkspace("/moved", mustBinding(w)))
			w.claude(11, start, "s2", "/moved", "source=startup")
			is(t, w, "claude:s2", "coder")
			if r := w.claude(10, "PostToolBatch", "s1", "/ws"); !r.silent() {
				t.Errorf("%+v", r)
			}
			if r := w.claude(10, prompt, "s1", "/ws"); !strings.Contains(r.text(), "no longer coder") {
				t.Errorf("%q", r.text())
			}
			if r := w.claude(10, prompt, "s1", "/ws"); !r.silent() {
				t.Errorf("told once: %+v", r)
			}
			is(t, w, "claude:s1", "guest")
		}},
		{"a subagent never takes the name", func(t *testing.T, w *world) {
			if r := w.claude(10, start, "s1", "/ws", "source=startup", "agent_id=x"); !r.silent() {
				t.Errorf("%+v", r)
			}
			is(t, w, "claude:s1", "")
		}},
		{"a session that began before its agent joined", func(t *testing.T, w *world) {
			r := w.claude(10, prompt, "s1", "/ws")
			is(t, w, "claude:s1", "coder")
			if !strings.Contains(r.text(), "you are coder") {
				t.Errorf("%q", r.text())
			}
		}},
		{"another runtime's agent", func(t *testing.T, w *world) {
			if r := w.codex(20, start, "t1", "/ws", "source=startup"); !r.silent() {
				t.Errorf("%+v", r)
			}
		}},
		{"$POSTROOM_AGENT where nothing is bound", func(t *testing.T, w *world) {
			w.env["POSTROOM_AGENT"] = "twin2"
			w.claude(10, start, "s1", "/two", "source=startup")
			is(t, w, "claude:s1", "twin2")
		}},
		{"an agent of another station is nobody here", func(t *testing.T, w *world) {
			w.desk.Far("us", "lab", "bob")
			w.env["POSTROOM_AGENT"] = "bob@lab"
			if r := w.claude(10, start, "s1", "/ws", "source=startup"); !r.silent() {
				t.Errorf("%+v", r)
			}
			is(t, w, "claude:s1", "")
		}},
		{"two agents in one directory: never a guess", func(t *testing.T, w *world) {
			r := w.claude(10, start, "s1", "/two", "source=startup")
			if !strings.Contains(r.text(), "twin1, twin2") {
				t.Errorf("%q", r.text())
			}
			is(t, w, "claude:s1", "guest")
		}},
		{"two agents in one directory, one of them taken", func(t *testing.T, w *world) {
			w.must(w.roll().Hold(identity.Holder{Key: "claude:s1", PID: 10, Start: "s10"}, "a-twin1", "twin1"))
			w.claude(11, start, "s2", "/two", "source=startup")
			is(t, w, "claude:s2", "twin2")
			w.claude(12, start, "s3", "/two", "source=startup")
			is(t, w, "claude:s3", "guest")
		}},
		{"two agents in one directory: clear follows its process", func(t *testing.T, w *world) {
			w.must(w.roll().Hold(identity.Holder{Key: "claude:s1", PID: 10, Start: "s10"}, "a-twin1", "twin1"))
			w.claude(10, start, "s2", "/two", "source=clear")
			is(t, w, "claude:s2", "twin1")
		}},
		{"codex in its own process", func(t *testing.T, w *world) {
			w.codex(20, start, "t1", "/cx", "source=startup")
			is(t, w, "codex:t1", "tester")
			w.codex(20, start, "t2", "/cx", "source=clear")
			is(t, w, "codex:t2", "tester")
			w.codex(21, start, "t3", "/cx", "source=startup")
			is(t, w, "codex:t3", "guest")
		}},
		{"codex's daemon: a second terminal is a guest", func(t *testing.T, w *world) {
			w.daemon(30, 31)
			w.codex(30, start, "t1", "/cx", "source=startup")
			is(t, w, "codex:t1", "tester")
			w.procs.start(32, "codex", "/cx")
			r := w.codex(30, start, "t2", "/cx", "source=startup")
			is(t, w, "codex:t2", "guest")
			if !strings.Contains(r.text(), "speaks as tester") {
				t.Errorf("%q", r.text())
			}
		}},
		{"codex's daemon: cleared in the only terminal", func(t *testing.T, w *world) {
			w.daemon(30, 31)
			w.codex(30, start, "t1", "/cx", "source=startup")
			w.codex(30, start, "t2", "/cx", "source=clear")
			is(t, w, "codex:t2", "tester")
		}},
		{"codex's daemon: the terminal was closed, which it tells nobody", func(t *testing.T, w *world) {
			w.daemon(30, 31)
			w.codex(30, start, "t1", "/cx", "source=startup")
			w.procs.kill(31)
			w.procs.start(32, "codex", "/cx")
			w.codex(30, start, "t2", "/cx", "source=startup")
			is(t, w, "codex:t2", "tester")
		}},
		{"codex's daemon: the other terminal stands elsewhere", func(t *testing.T, w *world) {
			w.daemon(30, 31)
			w.procs.cwd[31] = "/cx/sub"
			w.codex(30, start, "t1", "/cx/sub", "source=startup")
			w.procs.start(32, "codex", "/cx")
			w.codex(30, start, "t2", "/cx", "source=startup")
			is(t, w, "codex:t2", "guest")
		}},
		{"codex's daemon: its environment names nobody", func(t *testing.T, w *world) {
			w.daemon(30, 31)
			w.env["POSTROOM_AGENT"] = "coder"
			w.codex(30, start, "t1", "/cx", "source=startup")
			is(t, w, "codex:t1", "tester")
		}},
		{"codex's daemon on a system that cannot list: who is busy keeps the name", func(t *testing.T, w *world) {
			w.daemon(30, 31)
			w.procs.deaf = true
			w.codex(30, start, "t1", "/cx", "source=startup")
			w.codex(30, prompt, "t1", "/cx")
			w.codex(30, start, "t2", "/cx", "source=startup")
			is(t, w, "codex:t2", "guest")
			w.desk.Clock.Advance(time.Hour)
			w.codex(30, start, "t3", "/cx", "source=startup")
			is(t, w, "codex:t3", "tester")
		}},
		{"a codex subagent's thread", func(t *testing.T, w *world) {
			if r := w.codex(20, start, "t1", "/cx", "source=startup", "transcript_path="+rolloutFile(t, "subagent")); !r.silent() {
				t.Errorf("%+v", r)
			}
			is(t, w, "codex:t1", "")
		}},
		{"a codex fork beside its parent, in one process", func(t *testing.T, w *world) {
			w.codex(20, start, "01a22d2a-c2ab-77a2-8293-9a1d256ed39b", "/cx", "source=startup")
			w.codex(20, start, "t2", "/cx", "source=fork", "transcript_path="+rolloutFile(t, "fork"))
			is(t, w, "codex:t2", "tester")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "coder:claude:/ws", "tester:codex:/cx", "twin1:claude:/two", "twin2:claude:/two")
			for pid, line := range map[int]string{10: "claude", 11: "claude", 12: "claude", 20: "codex", 21: "codex"} {
				w.procs.start(pid, line, "/proc")
			}
			c.run(t, w)
			w.quiet()
		})
	}
}

func is(t *testing.T, w *world, session, want string) {
	t.Helper()
	if got := w.who(session); got != want {
		t.Errorf("%s is %q, want %q", session, got, want)
	}
}

func (w *world) roll() identity.Roll {
	return identity.Roll{User: w.user, Office: "/office", OfficeID: "o-test"}
}

// daemon starts Codex's daemon and a terminal of it in /cx.
func (w *world) daemon(pid, terminal int) {
	w.procs.start(pid, "codex app-server --listen unix://", "/")
	w.procs.start(terminal, "codex", "/cx")
}

func rolloutFile(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "testdata", "rollout", name+".jsonl")
}
