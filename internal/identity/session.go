package identity

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/postroom/postroom/internal/config"
)

// terminalPrefix begins the key of a session that only a terminal tells apart.
const terminalPrefix = "tty:"

// SessionKey names the session that this process belongs to: what a hook said
// in $POSTROOM_SESSION, else the runtime's own session id, else the controlling
// terminal; "" if there is none of them. Where one runtime runs inside another,
// it is the inner one's. Equal keys are one session.
func SessionKey(getenv func(string) string, procs ProcessTree) string {
	if key := saidKey(getenv, procs); key != "" {
		return key
	}
	if procs == nil {
		return ""
	}
	t, ok := procs.Terminal()
	if !ok {
		return ""
	}
	return terminalPrefix + t.Device + ":" + strconv.Itoa(t.Leader) + ":" + t.Start
}

// InAgentSession reports whether this process runs inside an agent's session
// and what gave it away. check is the office's person_check (design §11).
func InAgentSession(getenv func(string) string, procs ProcessTree, check string) (why string, yes bool) {
	if check == config.PersonCheckOff {
		return "", false
	}
	for _, m := range markers() {
		if getenv(m.env) != "" {
			return "$" + m.env + " is set", true
		}
	}
	if r, _, ok := strings.Cut(getenv(SessionEnv), ":"); ok && slices.Contains(Runtimes(), r) {
		return "$" + SessionEnv + " is a session of " + r, true
	}
	if check == config.PersonCheckEnv {
		return "", false
	}
	for p := range Parents(procs) {
		if r := runtimeOf(p); r != "" {
			return "process " + strconv.Itoa(p.PID) + " above it is " + r, true
		}
	}
	return "", false
}

// Runtime says which runtime's session this is, "" for none.
func Runtime(getenv func(string) string, procs ProcessTree) string {
	name, _ := Surroundings(getenv, procs)
	return name
}

// Surroundings says which runtime's session this is, "" for none, and whether
// it runs one prompt and ends (claude -p, codex exec), or hides whether it does:
// such a session never claims an agent by its workspace.
func Surroundings(getenv func(string) string, procs ProcessTree) (runtime string, oneShot bool) {
	oneShot = strings.HasPrefix(getenv("CLAUDE_CODE_ENTRYPOINT"), "sdk-")
	if r, _, ok := strings.Cut(getenv(SessionEnv), ":"); ok && slices.Contains(Runtimes(), r) {
		runtime = r
	}
	// The nearest parent knows best: a runtime started by another inherits the
	// other's variables.
	for p := range Parents(procs) {
		if r := runtimeOf(p); r != "" {
			return cmp.Or(runtime, r), oneShot || oneShotArgs(r, p.Args) || hides(p)
		}
	}
	for _, m := range markers() {
		if getenv(m.env) != "" {
			return cmp.Or(runtime, m.runtime), oneShot
		}
	}
	return runtime, oneShot
}

// hides reports whether a process is a sandbox of Codex with a process tree of
// its own: whatever stands above it, a person's session or codex exec, can't be
// seen. Hooks run outside, and bind the sessions of persons.
func hides(p Process) bool {
	return p.PID == 1 && len(p.Args) > 0 && filepath.Base(p.Args[0]) == "codex-linux-sandbox"
}

func oneShotArgs(runtime string, args []string) bool {
	for i, a := range args {
		switch {
		case i == 0:
		case runtime == "codex" && (a == "exec" || a == "e"):
			return true
		case runtime == "opencode" && a == "run":
			return true
		case runtime != "codex" && runtime != "opencode" && (a == "-p" || a == "--print" || a == "--prompt"):
			return true
		}
	}
	return false
}
