package router

import (
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/registry"
)

// Result is what became of one message in a pass.
type Result struct {
	ID     mail.ID
	Author string // tag
	Name   string // file name, for a hand-written file that failed
	Mail   *mail.Message
	Fates  []Fate
}

// Fate is what became of a message for one recipient.
type Fate struct {
	Agent    policy.Agent // zero for a person or the whole message
	State    State
	Approval string
	Err      error
}

// State of a message for one recipient.
type State string

// The states.
const (
	Delivered State = "delivered"
	Asked     State = "asked"
	Bounced   State = "bounced"
	Deferred  State = "deferred" // the inbox can't be written now; tried again
)

// Report sums up a pass.
type Report struct {
	Results []Result
	// Wake lists the agents that got mail.
	Wake []registry.Entry
	// Waiting counts hand-written files that may still be being written.
	Waiting int
	// Repaired counts what an earlier crash had left half-done.
	Repaired int
	// Complete: the pass ran to its end. An error that comes with it is of single
	// mailboxes, and concerns nobody else's mail.
	Complete bool
	// Ordered is what became of Options.Orders.
	Ordered []Ordered
}
