package notify

import "context"

// KindOpenCode is the kind of agents that are sessions of OpenCode.
const KindOpenCode = "opencode"

// OpenCode wakes nobody: the plugin in the session watches the mailbox and
// starts a turn. Here is waited for its word that it did.
type OpenCode struct {
	// Alive reports whether a process runs that started at start; nil: nobody can
	// tell.
	Alive func(pid int, start string) bool
}

// Kind returns KindOpenCode.
func (OpenCode) Kind() string { return KindOpenCode }

// Check refuses arguments: there are none.
func (OpenCode) Check(args []string) ([]string, error) { return noArguments(KindOpenCode, args) }

// Notify implements Adapter.
func (o OpenCode) Notify(ctx context.Context, agent Agent, p Pointer) (Outcome, error) {
	return selfWatch{KindOpenCode, o.Alive, "opencode", "its plugin watches the mailbox"}.notify(ctx, agent, p)
}
