package identity

import (
	"path/filepath"
	"slices"
	"strings"
)

// SessionEnv names the variable in which a hook may hand a session's key to
// the commands that the session runs.
const SessionEnv = "POSTROOM_SESSION"

// WorkerEnv names the variable that postd serve sets for the program of a
// headless worker, which it tells of its mail itself: hooks say nothing there.
const WorkerEnv = "POSTROOM_WORKER"

// A marker is a variable that a runtime sets for what it starts. Variables
// that people set for a runtime (CODEX_HOME, CLAUDE_CODE_USE_BEDROCK) are none.
type marker struct {
	env, runtime string
	session      bool // the value is the session's id
}

func markers() [20]marker { // an array: asked several times by each command, it is not to be garbage each time
	return [...]marker{
		{"CLAUDE_CODE_SESSION_ID", "claude", true},
		{"CLAUDECODE", "claude", false},
		{"CLAUDE_CODE_ENTRYPOINT", "claude", false},
		{"CLAUDE_CODE_MESSAGING_SOCKET", "claude", false},
		{"CLAUDE_CODE_MESSAGING_TOKEN", "claude", false},
		{"CLAUDE_CODE_SSE_PORT", "claude", false},
		{"CLAUDE_PID", "claude", false},
		{"CODEX_THREAD_ID", "codex", true},
		{"CODEX_SANDBOX", "codex", false},
		{"CODEX_SANDBOX_NETWORK_DISABLED", "codex", false},
		{"QWEN_SESSION_ID", "qwen", true},
		{"QWEN_CODE", "qwen", false},
		{"GEMINI_SESSION_ID", "gemini", true},
		{"GEMINI_CLI", "gemini", false},
		{"OPENCODE_SESSION_ID", "opencode", true},
		{"OPENCODE", "opencode", false},
		{"COPILOT_AGENT_SESSION_ID", "copilot", true},
		{"COPILOT_CLI", "copilot", false},
		{"CURSOR_AGENT", "cursor", false},
		{"AI_AGENT", "agent", false},
	}
}

// Markers lists the variables by which a process is known to be an agent's
// session, or part of one. What starts an agent must not pass its own on.
func Markers() []string {
	names := []string{SessionEnv, WorkerEnv, "CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE"}
	for _, m := range markers() {
		names = append(names, m.env)
	}
	return names
}

// Runtimes lists the runtimes that are known by name, sorted.
func Runtimes() []string {
	return []string{"claude", "codex", "copilot", "cursor", "gemini", "opencode", "qwen"}
}

// ProgramOf is the name under which a runtime's program is found on PATH, "" for
// a runtime that is not known.
func ProgramOf(runtime string) string {
	switch {
	case runtime == "cursor":
		return "cursor-agent"
	case slices.Contains(Runtimes(), runtime):
		return runtime
	}
	return ""
}

// SessionKeyOf is the key of a runtime's session, as SessionKey gives it to
// the commands that the session runs. Hooks bind under it.
func SessionKeyOf(runtime, id string) string { return runtime + ":" + id }

// programs maps the names of the runtimes' programs to the runtimes.
func program(name string) string {
	name = strings.TrimSuffix(strings.ToLower(name), ".exe")
	switch name {
	case "claude", "codex", "gemini", "qwen", "opencode", "copilot":
		return name
	case "claude-code":
		return "claude"
	case "gemini-cli":
		return "gemini"
	case "qwen-code":
		return "qwen"
	case "cursor-agent":
		return "cursor"
	}
	if strings.HasPrefix(name, "codex-") { // codex-x86_64-unknown-linux-musl …
		return "codex"
	}
	return ""
}

// packages are the directories in which the runtimes' scripts are installed.
func packageOf(path string) string {
	path = filepath.ToSlash(path)
	for _, p := range [][2]string{
		{"/@anthropic-ai/claude-code", "claude"}, {"/@openai/codex", "codex"},
		{"/@google/gemini-cli", "gemini"}, {"/@qwen-code/qwen-code", "qwen"},
		{"/opencode-ai/", "opencode"}, {"/@github/copilot", "copilot"},
		{"/.local/share/claude/versions/", "claude"},
	} {
		if strings.Contains(path, p[0]) {
			return p[1]
		}
	}
	return ""
}

// runtimeOf says which runtime a process is, "" for none: by its name, its
// program, or the script that an interpreter runs.
func runtimeOf(p Process) string {
	if r := program(p.Name); r != "" {
		return r
	}
	if len(p.Args) == 0 {
		return ""
	}
	if r := programPath(p.Args[0]); r != "" {
		return r
	}
	if !interpreter(p.Name) && !interpreter(filepath.Base(p.Args[0])) {
		return ""
	}
	for _, a := range p.Args[1:] {
		if !strings.HasPrefix(a, "-") {
			return programPath(a)
		}
	}
	return ""
}

func programPath(path string) string {
	base := filepath.Base(filepath.ToSlash(path))
	for _, ext := range []string{".js", ".mjs", ".cjs", ".py"} {
		base = strings.TrimSuffix(base, ext)
	}
	if r := program(base); r != "" {
		return r
	}
	return packageOf(path)
}

func interpreter(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), ".exe")
	return slices.Contains([]string{"node", "nodejs", "bun", "deno", "mainthread"}, name) ||
		strings.HasPrefix(name, "python")
}
