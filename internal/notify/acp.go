package notify

import (
	"slices"
	"strings"
)

// KindACP is the kind of agents that are headless workers: postd serve keeps
// their program and talks the Agent Client Protocol with it (package acp).
const KindACP = "acp"

// ACP is Postd for headless workers. Notify[1:] are allow=KIND: tools of that
// kind run without a question.
type ACP struct{ Postd }

// NewACP makes the stand-in; find is as in NewPostd.
func NewACP(find func() (string, error)) ACP { return ACP{NewPostd(KindACP, find)} }

// LooksItself: the keeper of the worker knows what it does.
func (ACP) LooksItself() {}

// toolKinds are the kinds of tools that the protocol has words for.
func toolKinds() []string {
	return []string{"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
}

// Check looks at the arguments.
func (ACP) Check(args []string) ([]string, error) {
	for _, arg := range args {
		kind, ok := strings.CutPrefix(arg, "allow=")
		if !ok || !slices.Contains(toolKinds(), kind) {
			return nil, usage(KindACP, "cannot be "+line(arg, 40),
				"write acp, or acp:allow=KIND with a kind of tool: "+strings.Join(toolKinds(), ", ")+"; its program is said by --launch")
		}
	}
	return args, nil
}

// Allowed are the kinds of tools that the arguments of a worker allow.
func Allowed(args []string) (kinds []string) {
	for _, arg := range args {
		if kind, ok := strings.CutPrefix(arg, "allow="); ok {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// Announcement is what an agent is told in its own conversation: our words and
// validated fields (design §12).
func Announcement(p Pointer) string { return announcement(p) }

// Worded is a pointer of which the words are made anew from its fields; program
// is what the agent types for post. Of what stood there only whether it is a
// reminder is kept.
func Worded(p Pointer, program string) Pointer {
	again := strings.Contains(p.Text, " still unread")
	p.Command = Command(program, p.Agent, p.Office)
	p.Text = text(p, again)
	return p
}
