package identity

import (
	"os"
	"strings"
	"testing"

	"github.com/postroom/postroom/internal/config"
)

func TestSessionKey(t *testing.T) {
	t.Parallel()
	tty := chain{tty: &Terminal{Device: "34816", Leader: 7, Start: "99@boot"}}
	for _, c := range []struct {
		env   string
		procs ProcessTree
		want  string
	}{
		{"", nil, ""},
		{"", chain{}, ""},
		{"", tty, "tty:34816:7:99@boot"},
		{"CLAUDE_CODE_SESSION_ID=s", tty, "claude:s"},
		{"CODEX_THREAD_ID=t", nil, "codex:t"},
		{"GEMINI_SESSION_ID=g", nil, "gemini:g"},
		{"COPILOT_AGENT_SESSION_ID=p", nil, "copilot:p"},
		{"POSTROOM_SESSION=codex:x CLAUDE_CODE_SESSION_ID=s", tty, "codex:x"},
		{"CLAUDECODE=1", tty, "tty:34816:7:99@boot"}, // an old version without an id
		{"CODEX_HOME=/x", nil, ""},
	} {
		if got := SessionKey(env(c.env), c.procs); got != c.want {
			t.Errorf("%s: %q, want %q", c.env, got, c.want)
		}
	}
}

func TestInAgentSession(t *testing.T) {
	t.Parallel()
	shells := parents("bash", "/usr/sbin/sshd -D", "/sbin/init")
	for _, c := range []struct {
		name, env     string
		procs         ProcessTree
		full, envOnly bool // with env+parents, with env
	}{
		{"a person", "HOME=/h", shells, false, false},
		{"no tree", "", nil, false, false},
		{"Claude's marker", "CLAUDECODE=1", shells, true, true},
		{"Claude's hook", "CLAUDE_CODE_ENTRYPOINT=cli", shells, true, true},
		{"Codex's tool", "CODEX_THREAD_ID=t", shells, true, true},
		{"Codex's sandbox", "CODEX_SANDBOX=seatbelt", nil, true, true},
		{"Gemini", "GEMINI_CLI=1", nil, true, true},
		{"Qwen", "QWEN_CODE=1", nil, true, true},
		{"OpenCode", "OPENCODE=1", nil, true, true},
		{"Copilot", "COPILOT_AGENT_SESSION_ID=1", nil, true, true},
		{"our hook's key", "POSTROOM_SESSION=qwen:1", nil, true, true},
		{"a script's own key", "POSTROOM_SESSION=nightly", nil, false, false},
		{"settings of a person", "CODEX_HOME=/x CLAUDE_CODE_USE_BEDROCK=1 GEMINI_API_KEY=k COPILOT_MODEL=m CLAUDE_CONFIG_DIR=/c", shells, false, false},
		{"scrubbed, below claude", "", parents("sh -c post", "claude"), true, false},
		{"deep below claude", "", parents("make", "sh", "python3 x.py", "bash", "/opt/bin/claude --resume", "zsh"), true, false},
		{"codex by its long name", "", parents("/n/vendor/bin/codex-x86_64-unknown-linux-musl app-server"), true, false},
		{"a node script", "", parents("sh", "node --no-warnings=x /usr/lib/node_modules/@google/gemini-cli/dist/index.js -p hi"), true, false},
		{"a node script by link", "", parents("node /usr/bin/qwen"), true, false},
		{"copilot's package", "", parents("node /x/@github/copilot/index.js"), true, false},
		{"bun", "", parents("bun /x/opencode-ai/bin/start"), true, false},
		{"opencode", "", parents("/home/u/.opencode/bin/opencode serve"), true, false},
		{"claude's native install", "", parents("/home/u/.local/share/claude/versions/2.1.332"), true, false},
		{"windows", "", parents("claude.exe"), true, false},
		{"an editor with a file of that name", "", parents("vim claude", "bash"), false, false},
		{"a script about it", "", parents("bash /home/u/claude", "bash"), false, false},
		{"another node program", "", parents("node /srv/app/server.js --codex"), false, false},
		{"a name that begins alike", "", parents("claudette"), false, false},
	} {
		for check, want := range map[string]bool{config.PersonCheckFull: c.full, config.PersonCheckEnv: c.envOnly, config.PersonCheckOff: false} {
			why, got := InAgentSession(env(c.env), c.procs, check)
			if got != want || got != (why != "") {
				t.Errorf("%s, %s: %v (%s), want %v", c.name, check, got, why, want)
			}
		}
	}
}

func TestRuntime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env   string
		procs ProcessTree
		want  string
	}{
		{"", parents("bash"), ""},
		{"CLAUDECODE=1", nil, "claude"},
		{"CLAUDECODE=1", parents("bash", "codex", "bash", "claude"), "codex"}, // codex started by claude
		{"POSTROOM_SESSION=gemini:1 CLAUDECODE=1", parents("claude"), "gemini"},
		{"CODEX_THREAD_ID=1", parents("bash"), "codex"},
	} {
		if got := Runtime(env(c.env), c.procs); got != c.want {
			t.Errorf("%s: %q, want %q", c.env, got, c.want)
		}
	}
}

func TestOneShot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env   string
		procs ProcessTree
		want  bool
	}{
		{"", nil, false},
		{"CLAUDE_CODE_ENTRYPOINT=sdk-cli", nil, true},
		{"CLAUDE_CODE_ENTRYPOINT=sdk-ts", nil, true},
		{"CLAUDE_CODE_ENTRYPOINT=cli", parents("claude"), false},
		{"", parents("sh", "codex exec hi"), true},
		{"", parents("sh", "codex"), false},
		{"", parents("sh", "codex -p profile"), false},
		{"", parents("sh", "claude --print hi"), true},
		{"", parents("node /usr/bin/gemini -p hi"), true},
		{"", parents("node /usr/bin/gemini"), false},
		{"", parents("opencode run hi"), true},
		{"", parents("opencode serve"), false},
	} {
		if _, got := Surroundings(env(c.env), c.procs); got != c.want {
			t.Errorf("%s %v: %v", c.env, c.procs, got)
		}
	}
}

// A loop or an endless chain of parents ends.
func TestParentsEnd(t *testing.T) {
	t.Parallel()
	n := 0
	for range Parents(loop{}) {
		n++
	}
	if n != maxParents {
		t.Errorf("%d", n)
	}
	for range Parents(nil) {
		t.Error("no tree, no parents")
	}
}

type loop struct{ chain }

func (loop) Process(pid int) (Process, bool) { return Process{PID: pid, PPID: pid, Name: "sh"}, true }

// The real tree knows at least this process and, here, what runs the test.
func TestSystemTree(t *testing.T) {
	t.Parallel()
	procs := System()
	if procs == nil {
		return // this system has no process tree
	}
	self, ok := procs.Process(os.Getpid())
	if !ok || self.PPID != os.Getppid() || len(self.Args) == 0 || self.Start == "" || procs.Self() != os.Getpid() {
		t.Fatalf("%+v %v", self, ok)
	}
	if _, ok := procs.Process(1 << 30); ok {
		t.Error("there is no such process")
	}
	for up := range Parents(procs) {
		if up.PID != os.Getppid() {
			t.Errorf("%v", up)
		}
		break
	}
}

func FuzzProgram(f *testing.F) {
	for _, s := range []string{"node /a/b.js", "claude", "", "x\x00y", "python3 -m codex"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Fields(line)
		p := Process{Args: args}
		if len(args) > 0 {
			p.Name = args[0]
		}
		r := runtimeOf(p)
		if r != "" && !strings.Contains(strings.Join(Runtimes(), " "), r) {
			t.Errorf("%q is %q", line, r)
		}
	})
}

// What stands above a sandbox with processes of its own can't be seen.
func TestHiddenSession(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pid  int
		arg  string
		want bool
	}{{1, "codex-linux-sandbox", true}, {1, "/x/codex-linux-sandbox", true}, {1, "codex", false}, {7, "codex-linux-sandbox", false}} {
		if got := hides(Process{PID: c.pid, Args: []string{c.arg, "--", "sh"}}); got != c.want {
			t.Errorf("%d %s: %v", c.pid, c.arg, got)
		}
	}
}
