package mail

import (
	"errors"
	"strings"
)

// Kind says what sort of failure an error is. Kind alone decides the exit
// code, whether to retry or bounce, and the HTTP or MCP status (design §15).
type Kind string

// The kinds of error.
const (
	KindUsage        Kind = "usage"          // the command line is wrong
	KindUnknown      Kind = "unknown agent"  // no such address in the registry
	KindRule         Kind = "rule"           // a routing rule refuses the message (design §7)
	KindTerminal     Kind = "terminal act"   // a reply to inform or done
	KindParent       Kind = "unknown parent" // in_reply_to is nothing the sender sent or got
	KindAmbiguous    Kind = "ambiguous"      // several candidates; never guess
	KindNotFound     Kind = "not found"      // no such message, approval, office …
	KindIdentity     Kind = "identity"       // nobody, or somebody else, is bound here
	KindPerson       Kind = "person only"    // a person's command inside an agent's session
	KindConflict     Kind = "conflict"       // exists already, or was decided already
	KindInvalid      Kind = "invalid"        // input that does not parse or breaks the schema
	KindTooLarge     Kind = "too large"      // over the size cap
	KindStore        Kind = "store"          // disk, permissions: nothing was stored
	KindDelivery     Kind = "delivery"       // stored, but an inbox could not be written
	KindBusy         Kind = "busy"           // the lease or a lock is held by somebody else
	KindReadOnly     Kind = "read-only"      // may store, may not route (sandbox)
	KindCorrupt      Kind = "corrupt"        // something on disk is torn or was changed
	KindForeign      Kind = "foreign office" // copied office, moved office, newer format
	KindNotify       Kind = "notify"         // delivered, the recipient could not be woken
	KindTimeout      Kind = "timeout"        // nothing came
	KindFound        Kind = "found"          // doctor or verify found something
	KindMissingPostd Kind = "postd missing"  // the command lives in postd, which is not installed
)

// The exit codes of design §6 and §9.
const (
	ExitOK           = 0
	ExitStore        = 1
	ExitUsage        = 2
	ExitNotSurfaced  = 3
	ExitNotDelivered = 4
	ExitRefused      = 5
	ExitNothingCame  = 6
)

// Exit returns the process exit code for the kind (design §6).
func (k Kind) Exit() int {
	switch k {
	case KindUsage:
		return ExitUsage
	case KindNotify:
		return ExitNotSurfaced
	case KindDelivery, KindBusy, KindReadOnly:
		return ExitNotDelivered
	case KindUnknown, KindRule, KindTerminal, KindParent, KindAmbiguous, KindNotFound,
		KindIdentity, KindPerson, KindConflict, KindInvalid, KindTooLarge:
		return ExitRefused
	case KindTimeout:
		return ExitNothingCame
	}
	return ExitStore
}

// Error is the one error type of Postroom. It reads as one sentence:
//
//	deliver 2026-…: inbox of coder: no space left on device; free some and run "post route"
type Error struct {
	Op   string // what was being done: "deliver", "read registry"
	Kind Kind
	Addr string // the agent, file or argument concerned
	ID   ID     // the message concerned
	Hint string // what to do about it; an imperative without a full stop
	Err  error  // the cause
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.ID != "" {
		b.WriteString(" " + string(e.ID))
	}
	if e.Addr != "" {
		b.WriteString(": " + e.Addr)
	}
	switch {
	case e.Err != nil:
		b.WriteString(": " + e.Err.Error())
	default:
		b.WriteString(": " + string(e.Kind))
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the outermost *Error in err's chain; KindStore
// for any other error, "" for nil.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return KindStore
}
