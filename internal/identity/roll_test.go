package identity

import (
	"strings"
	"testing"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/mail"
)

func TestRoll(t *testing.T) {
	t.Parallel()
	r := Roll{User: config.User{Dir: t.TempDir()}, Office: "/o", OfficeID: "o-1"}
	if _, ok := r.Holder("a-1"); ok {
		t.Error("nobody holds it yet")
	}
	h := Holder{Key: "claude:s", PID: 7, Start: "9"}
	if err := r.Hold(h, "a-1", "coder"); err != nil {
		t.Fatal(err)
	}
	if got, ok := r.Holder("a-1"); !ok || got != h {
		t.Errorf("%+v %v", got, ok)
	}
	b, ok := r.User.Session("claude:s")
	if !ok || b != (config.Binding{Office: "/o", Agent: "a-1", Name: "coder"}) {
		t.Errorf("%+v %v", b, ok)
	}
	other := Roll{User: r.User, Office: "/p", OfficeID: "o-2"}
	if _, ok := other.Holder("a-1"); ok {
		t.Error("another office's agent of the same aid is another agent")
	}
	if err := r.Leave("a-1"); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Holder("a-1"); ok {
		t.Error("it left")
	}
	if b, _ := r.User.Session("claude:s"); b.Agent != "a-1" {
		t.Error("the session stays bound, so that it may be resumed")
	}
	r.Hold(h, "a-1", "coder")
	if err := r.Release("a-1", "coder"); err != nil {
		t.Fatal(err)
	}
	b, ok = r.User.Session("claude:s")
	if was, yes := Guest(b); !ok || !yes || was != "coder" || b.Office != "/o" {
		t.Errorf("%+v", b)
	}
	if err := r.BindGuest("claude:g", ""); err != nil {
		t.Fatal(err)
	}
	b, _ = r.User.Session("claude:g")
	if was, yes := Guest(b); !yes || was != "" {
		t.Errorf("%+v", b)
	}
}

// One agent may start another, which inherits what the first one's hook
// exported: it must not speak as the first.
func TestSessionInsideSession(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, env string
		procs     ProcessTree
		want      string
	}{
		{"the hook's word and the runtime's agree", "POSTROOM_SESSION=claude:a CLAUDE_CODE_SESSION_ID=a", nil, "claude:a"},
		{"claude in claude", "POSTROOM_SESSION=claude:a CLAUDE_CODE_SESSION_ID=b", parents("bash", "claude", "bash", "claude"), "claude:b"},
		{"claude in claude, no tree", "POSTROOM_SESSION=claude:a CLAUDE_CODE_SESSION_ID=b", nil, "claude:b"},
		{"codex in claude", "POSTROOM_SESSION=claude:a CLAUDE_CODE_SESSION_ID=a CODEX_THREAD_ID=t", parents("bash", "codex exec hi", "bash", "claude"), "codex:t"},
		{"claude in codex", "CODEX_THREAD_ID=t CLAUDE_CODE_SESSION_ID=a", parents("bash", "claude -p hi", "codex"), "claude:a"},
		{"claude in codex, its hook said so", "CODEX_THREAD_ID=t CLAUDE_CODE_SESSION_ID=a POSTROOM_SESSION=claude:a", parents("bash", "claude"), "claude:a"},
		{"codex below a scrubbed claude", "CODEX_THREAD_ID=t", parents("bash", "codex", "bash", "claude"), "codex:t"},
		{"two runtimes, no tree", "CODEX_THREAD_ID=t POSTROOM_SESSION=claude:a", nil, "claude:a"},
		{"a script's own key", "POSTROOM_SESSION=nightly CLAUDE_CODE_SESSION_ID=b", parents("claude"), "nightly"},
	} {
		if got := SessionKey(env(c.env), c.procs); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestRuntimeProcess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, runtime, env string
		procs              ProcessTree
		pid                int
		shared, ok         bool
	}{
		{"claude says its pid", "claude", "CLAUDE_PID=99", parents("sh", "claude"), 99, false, true},
		{"claude by its parents", "claude", "", parents("sh", "claude", "zsh"), 99, false, true},
		{"claude started by claude without a shell", "claude", "", parents("claude", "claude"), 100, false, true},
		{"a pid that runs no more", "claude", "CLAUDE_PID=12", parents("sh", "claude"), 0, false, false},
		{"codex", "codex", "", parents("codex --no-daemon", "zsh"), 100, false, true},
		{"codex through its wrapper", "codex", "", parents("codex", "node /usr/bin/codex", "zsh"), 99, false, true},
		{"codex's sandbox helper", "codex", "", parents("bash", "codex-linux-sandbox x", "codex", "zsh"), 98, false, true},
		{"codex's daemon", "codex", "", parents("codex app-server --listen unix://", "codex"), 99, true, true},
		{"below another runtime", "codex", "", parents("sh", "claude", "codex"), 0, false, false},
		{"no tree", "codex", "", nil, 0, false, false},
	} {
		p, shared, ok := RuntimeProcess(c.runtime, env(c.env), c.procs)
		if p.PID != c.pid || shared != c.shared || ok != c.ok {
			t.Errorf("%s: %+v %v %v", c.name, p, shared, ok)
		}
	}
}

// crowd is a process tree of which all processes stand in one directory.
type crowd []Process

func (crowd) Self() int                      { return 1 }
func (crowd) Process(int) (Process, bool)    { return Process{}, false }
func (crowd) Terminal() (t Terminal, _ bool) { return }
func (c crowd) In(dir string) []Process {
	if dir != "/ws" {
		return nil
	}
	return c
}

func TestTerminals(t *testing.T) {
	t.Parallel()
	p := func(pid, ppid int, line string) Process {
		args := strings.Fields(line)
		return Process{PID: pid, PPID: ppid, Name: args[0], Args: args}
	}
	c := crowd{p(10, 1, "codex"), p(11, 1, "node /usr/bin/codex"), p(12, 11, "codex"), p(13, 1, "codex app-server"),
		p(14, 1, "codex exec hi"), p(15, 1, "claude"), p(16, 1, "bash"), p(17, 1, "codex mcp-server")}
	if n, ok := Terminals(c, "codex", "/ws"); n != 2 || !ok {
		t.Errorf("%d %v", n, ok)
	}
	if n, ok := Terminals(c, "codex", "/other"); n != 0 || !ok {
		t.Errorf("%d %v", n, ok)
	}
	if _, ok := Terminals(chain{}, "codex", "/ws"); ok {
		t.Error("such a system cannot tell")
	}
}

// A session that was taken over speaks no more.
func TestBoundAndHeldByAnother(t *testing.T) {
	t.Parallel()
	c := Claim{Book: book{{AID: "a-coder", Name: "coder"}}, Session: config.Binding{Office: "/o", Agent: "a-coder", Name: "coder"}}
	if me, err := Resolve(c); err != nil || me.Name() != "coder" {
		t.Fatalf("%+v %v", me, err)
	}
	c.Held = func(aid string) bool { return aid == "a-coder" }
	if _, err := Resolve(c); mail.KindOf(err) != mail.KindIdentity || !strings.Contains(err.Error(), "another live session") {
		t.Errorf("%v", err)
	}
}
