package notify

import "context"

// KindCopilot is the kind of agents that are sessions of GitHub Copilot CLI.
const KindCopilot = "copilot"

// Copilot wakes nobody: an extension in the session watches the mailbox and
// starts a turn. Copilot loads it only if it is started with --experimental, and
// does not say so to anybody else.
type Copilot struct {
	// Alive is as in OpenCode.
	Alive func(pid int, start string) bool
}

// Kind returns KindCopilot.
func (Copilot) Kind() string { return KindCopilot }

// Check refuses arguments: there are none.
func (Copilot) Check(args []string) ([]string, error) { return noArguments(KindCopilot, args) }

// Notify implements Adapter.
func (c Copilot) Notify(ctx context.Context, agent Agent, p Pointer) (Outcome, error) {
	return selfWatch{KindCopilot, c.Alive, "copilot --experimental",
		"its extension watches the mailbox, if it was started with --experimental,"}.notify(ctx, agent, p)
}
