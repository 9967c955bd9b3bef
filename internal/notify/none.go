package notify

import "context"

// KindNone is the kind of agents that look for their mail by themselves.
const KindNone = "none"

// None wakes nobody.
type None struct{}

// Kind returns KindNone.
func (None) Kind() string { return KindNone }

// Notify does nothing, and says so.
func (None) Notify(context.Context, Agent, Pointer) (Outcome, error) {
	return Outcome{NotNeeded, "needs no waking"}, nil
}
