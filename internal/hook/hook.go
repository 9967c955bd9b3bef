// Package hook answers the hooks of coding CLIs: what their agent is told, and
// when (design §8, §11, §12; docs/hooks.md).
//
// One core decides everything, the same for every runtime. A runtime's own file
// only translates: its JSON to an Event, an Answer to what the runtime takes.
//
// Invariants. With nothing to say not a byte is written. What is said are our
// own words (text.go) and validated fields: act, sender, id, command. Never a
// subject, never a body. A receipt follows the write, never the other way round.
// It fails open: an error, a panic or too long a time is a line in the log, no
// output and exit 0, and the person's prompt goes on. Only the session that
// speaks as an agent hears of its mail: guests, subagents, one-shot runs and
// unregistered directories hear nothing. A session is kept from stopping a
// bounded number of times for the same mail.
package hook

import "github.com/postroom/postroom/internal/mail"

// Kind is what happened, the same for all runtimes.
type Kind string

// The kinds of events.
const (
	SessionStart Kind = "session start"
	TurnStart    Kind = "turn start"  // the person, or a wake, gave a prompt
	MidTurn      Kind = "mid turn"    // between two calls of the model
	Stop         Kind = "stop"        // the agent wants to end its turn
	SessionEnd   Kind = "session end" // the session is over
	Permission   Kind = "permission"  // a question to the person is open
	Idle         Kind = "idle"        // the runtime says that it waits for input
	Interrupt    Kind = "interrupt"   // the person pressed Esc
	FileChanged  Kind = "file changed"
	SubagentStop Kind = "subagent stop"
	Other        Kind = "other" // nothing of ours
)

// Source is how a session started.
type Source string

// The sources.
const (
	Startup Source = "startup"
	Resume  Source = "resume"
	Clear   Source = "clear"
	Compact Source = "compact"
	Fork    Source = "fork"
)

// Event is one call of a hook. Empty fields are unknown.
type Event struct {
	Name       string // in the runtime's words
	Kind       Kind
	SessionID  string
	Parent     string // the session that this one was forked from
	Source     Source
	Continues  bool // a session end in a process that goes on with another session
	Cwd        string
	OneShot    bool // runs one prompt and ends
	StopActive bool // the runtime says that this stop follows one that was blocked
	Prompt     string
	AgentID    string // set in a subagent
	Mode       string // of permissions
	Path       string // of the file that changed
	EnvFile    string // lines appended there reach the session's shell commands
	Socket     string
	Version    string
}

// Answer is what the core wants of the runtime. The zero Answer is silence.
type Answer struct {
	Context string            // to be put before the model
	Block   bool              // the turn goes on, because of Reason
	Reason  string            // said to the model
	Wake    string            // starts a turn of an idle session
	Watch   []string          // directories of which the runtime tells changes
	Env     map[string]string // for the shell commands of the session
}

func (a Answer) empty() bool {
	return a.Context == "" && !a.Block && a.Wake == "" && len(a.Watch) == 0
}

// Output is an Answer in the words of a runtime.
type Output struct {
	Stdout, Stderr []byte
	Exit           int
}

// Input is what a runtime hands to its hook.
type Input struct {
	Stdin  []byte
	Args   []string // behind "post hook RUNTIME"
	Getenv func(string) string
}

// Runtime translates for one coding CLI. It is a value without state.
type Runtime interface {
	Name() string
	Read(Input) (Event, error)
	// Write never fails: an answer that the event has no place for is silence.
	Write(Event, Answer) Output
	Limits() Limits
}

// Limits are what a runtime bears.
type Limits struct {
	// Blocks is how often in a row the core keeps a session from stopping while
	// the mail that is the reason stays the same.
	Blocks int
	// ObeyStopActive: a stop that follows a blocked one is never blocked,
	// because the runtime has no cap of its own.
	ObeyStopActive bool
	// NoStartContext: what is said at session start does not reach the model, so
	// the first turn says it.
	NoStartContext bool
	// Daemon: the process that runs the sessions may be one for several
	// terminals, whose environment is not the session's.
	Daemon bool
	// Tools: its shell may be sandboxed, so the MCP tools are better where it has
	// them.
	Tools bool
	// Watches: between turns a part of ours in it watches the inbox, of which it
	// is told whenever a turn ends or something changed.
	Watches bool
}

// Runtimes are all that can be translated, by name.
func Runtimes() map[string]Runtime {
	table := map[string]Runtime{}
	for _, r := range []Runtime{Claude{}, Codex{}, Gemini{}, Qwen{}, Copilot{}, OpenCode{}} {
		table[r.Name()] = r
	}
	return table
}

func bad(runtime string, what string, err error) error {
	return &mail.Error{Op: "hook " + runtime, Kind: mail.KindInvalid, Addr: what, Err: err,
		Hint: "see docs/hooks.md for what is expected"}
}
