package notify

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/presence"
)

// Agent is what an adapter needs to know of a recipient.
type Agent struct {
	Name      string   `json:"name"`
	AID       string   `json:"aid"` // stable id; names the files under wake/
	Workspace string   `json:"workspace,omitempty"`
	Runtime   string   `json:"runtime,omitempty"`
	Notify    []string `json:"notify"` // kind, then its arguments; empty is none
	// Session is what the agent's own session said of itself when the arbiter
	// looked, right before the wake; nil if nothing is known.
	Session *presence.Session `json:"session,omitempty"`
	// Look reads it anew; nil where that cannot be done.
	Look func() *presence.Session `json:"-"`
}

// Kind returns the kind of adapter that wakes the agent.
func (a Agent) Kind() string {
	if len(a.Notify) == 0 {
		return KindNone
	}
	return a.Notify[0]
}

// Args returns the adapter's arguments.
func (a Agent) Args() []string {
	if len(a.Notify) < 2 {
		return nil
	}
	return a.Notify[1:]
}

// Pointer tells where the mail is. It holds nothing of it, but for what a person
// wants to see of what they are asked (Asked).
type Pointer struct {
	Agent    string    `json:"agent"`
	IDs      []mail.ID `json:"ids"`       // what is announced, in delivery order; the newest MaxIDs
	Count    int       `json:"count"`     // how many are announced; more than len(IDs) in a large inbox
	Unread   int       `json:"unread"`    // how many are unread altogether
	Oblige   int       `json:"oblige"`    // how many of the unread expect an answer
	Office   string    `json:"office"`    // absolute directory
	OfficeID string    `json:"office_id"` // as in postroom.toml
	Command  string    `json:"command"`   // the full command to run
	Text     string    `json:"text"`      // one line, our own words
	// Asks are what a notice to a person is about; Test says that it is one of a
	// test. Both are empty in a pointer to an agent.
	Asks []Asked `json:"asks,omitempty"`
	Test bool    `json:"test,omitempty"`
}

// MaxIDs bounds the ids of a pointer and of a wake's state.
const MaxIDs = 200

// State is what became of an attempt to wake somebody.
type State string

// The states of an outcome.
const (
	Notified  State = "notified"   // the target took the pointer
	NotNeeded State = "not-needed" // there is nothing to announce, or nobody needs to be told
	Failed    State = "failed"     // the target did not take it; it is tried again
	Held      State = "held"       // the target is busy (a dialog, a draft); it is tried again
	Pending   State = "pending"    // not tried now; somebody else, or a later pass, will
)

// Known reports whether s is one of the states above.
func (s State) Known() bool {
	switch s {
	case Notified, NotNeeded, Failed, Held, Pending:
		return true
	}
	return false
}

// Settled reports whether nothing is left to do for the mail in question:
// design §6 lets `post send` exit with 0.
func (s State) Settled() bool { return s == Notified || s == NotNeeded }

// Outcome is a state and how it is known. Evidence is one line without
// control characters, never empty.
type Outcome struct {
	State    State  `json:"state"`
	Evidence string `json:"evidence"`
}

// Adapter wakes agents of one kind. It must obey ctx, be safe for concurrent
// use, refuse what Pointer.Check refuses, and say Notified only if the target
// took the pointer. An error comes with Failed only, and is its cause.
type Adapter interface {
	Kind() string
	Notify(ctx context.Context, agent Agent, p Pointer) (Outcome, error)
}

// Checker is an Adapter that looks at its arguments when an agent joins. It
// returns them as they are to be registered (programs as absolute paths), or
// a KindUsage error with a hint.
type Checker interface {
	Check(args []string) ([]string, error)
}

// Watcher is an Adapter that looks at the session itself right before it acts,
// and sees more than presence tells: the arbiter leaves dialogs to it.
type Watcher interface{ LooksItself() }

// Table maps kinds to adapters. It is written out where main wires the
// program; nothing registers itself.
type Table map[string]Adapter

// NewTable makes a table of adapters by their kinds.
func NewTable(adapters ...Adapter) Table {
	t := make(Table, len(adapters))
	for _, a := range adapters {
		t[a.Kind()] = a
	}
	return t
}

// Kinds lists the kinds of the table, sorted.
func (t Table) Kinds() []string {
	kinds := make([]string, 0, len(t))
	for k := range t {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	return kinds
}

// Adapter finds the adapter of one kind; the error names the kinds there are.
func (t Table) Adapter(kind string) (Adapter, error) {
	if a, ok := t[kind]; ok {
		return a, nil
	}
	return nil, &mail.Error{
		Op: "notify", Kind: mail.KindUsage, Addr: line(kind, 40), Err: errors.New("no such adapter"),
		Hint: "use one of " + strings.Join(t.Kinds(), ", "),
	}
}

// Check looks at an agent's notify setting (kind, then arguments) and returns
// it as it is to be registered. Errors are of KindUsage.
func (t Table) Check(notify []string) ([]string, error) {
	a := Agent{Notify: notify}
	ad, err := t.Adapter(a.Kind())
	if err != nil {
		return nil, err
	}
	args := a.Args()
	if c, ok := ad.(Checker); ok {
		if args, err = c.Check(args); err != nil {
			return nil, err
		}
	} else if len(args) > 0 && ad.Kind() == KindNone {
		return nil, usage(KindNone, "takes no arguments", "")
	}
	return append([]string{ad.Kind()}, args...), nil
}

// Check reports whether every field of p is what it claims to be: nothing
// that a shell, a terminal or a prompt could take for something else. Every
// adapter calls it first; the error is of KindInvalid.
func (p Pointer) Check() error {
	bad := func(what string) error {
		return &mail.Error{Op: "notify", Kind: mail.KindInvalid, Addr: line(p.Agent, 70), Err: errors.New(what)}
	}
	switch {
	case !validName(p.Agent) && p.Agent != mail.NameHuman:
		return bad("not an agent's name")
	case len(p.Asks) > MaxAsks || len(p.Asks) > 0 && p.Agent != mail.NameHuman:
		return bad("approvals that go to no person, or too many")
	case len(p.IDs) == 0 || len(p.IDs) > MaxIDs || p.Count < len(p.IDs):
		return bad(fmt.Sprintf("a pointer to %d of %d messages", len(p.IDs), p.Count))
	case !filepath.IsAbs(p.Office) || !clean(p.Office):
		return bad("the office's path is not absolute, or holds control characters")
	case !clean(p.OfficeID) || !clean(p.Command) || !clean(p.Text):
		return bad("control characters in the pointer")
	}
	for _, id := range p.IDs {
		if !id.Valid() {
			return bad("not a message id: " + line(string(id), 60))
		}
	}
	for _, a := range p.Asks {
		if what := a.check(); what != "" {
			return bad(what)
		}
	}
	return nil
}

// Fail makes a Failed outcome and its error, for adapters. Evidence is
// neutralised.
func Fail(kind string, agent Agent, evidence, hint string) (Outcome, error) {
	err := &mail.Error{
		Op: "notify", Kind: mail.KindNotify, Addr: line(agent.Name, 70),
		Err: errors.New(kind + ": " + line(evidence, evidenceMax)), Hint: hint,
	}
	if hint != "" {
		evidence += "; " + hint
	}
	return Outcome{Failed, line(evidence, evidenceMax)}, err
}

func usage(kind, what, hint string) error {
	return &mail.Error{Op: "notify", Kind: mail.KindUsage, Addr: kind, Err: errors.New(what), Hint: hint}
}
