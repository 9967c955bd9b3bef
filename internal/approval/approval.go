// Package approval keeps what only a person may decide: questions, notices
// and releases (design §7.3, §7.5, §13), and the fuses that wait for a release.
//
// Invariants. An approval is open, or decided once, whatever crashes: deciding
// is one link(2) of a file that holds the approval and the decision, so the
// first decision wins and no second one can replace it. No path leads to a yes
// that a person did not say: an expired release is stopped. An approval leaves
// approvals/ only after its decision is durable and its effects were performed.
// A rejection stays on record, to answer the same question again.
//
// Everything here is called by the holder of the office's lease, but Decide
// stays correct against another Decide running at the same time.
package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
)

// Version is the version of approval files that this package reads and writes.
const Version = 1

// Approval is one question, notice or release put before a person. Times are
// UTC.
type Approval struct {
	V            int            `json:"v"`
	ID           string         `json:"id"` // IDFor(Kind, Message, Cause)
	Kind         policy.AskKind `json:"kind"`
	Message      mail.ID        `json:"message"`
	Cause        string         `json:"cause,omitempty"` // policy.Ask.Cause
	Digest       mail.Digest    `json:"digest"`          // of the message file
	Asker        string         `json:"asker"`
	AskerAID     string         `json:"asker_aid"`
	AddressedTo  string         `json:"addressed_to"`
	Conversation string         `json:"conversation"`
	Subject      string         `json:"subject"`
	Body         string         `json:"body"`
	Options      []string       `json:"options,omitempty"`
	Why          string         `json:"why"`
	Chain        []Step         `json:"chain,omitempty"`      // for a release: who said what
	Fuse         bool           `json:"fuse,omitempty"`       // the release concerns the conversation's fuse
	FuseAgent    string         `json:"fuse_agent,omitempty"` // aid whose own fuse blew
	AskKey       string         `json:"ask_key,omitempty"`    // mail.ContentKey of the question
	Created      time.Time      `json:"created"`
	Expires      time.Time      `json:"expires,omitzero"` // zero: never; notices only

	// Extra holds the fields that this version does not know.
	Extra map[string]json.RawMessage `json:"-"`
	// Broken says why the file of ID could not be read. All else is zero then.
	Broken error `json:"-"`
}

// Step is one message of the chain that led to a release.
type Step struct {
	At      time.Time `json:"at"`
	From    string    `json:"from"`
	To      string    `json:"to"`
	Act     mail.Act  `json:"act"`
	Subject string    `json:"subject"`
	ID      mail.ID   `json:"id"`
}

// Verdict says how an approval ended.
type Verdict string

// The verdicts.
const (
	VerdictAllowed  Verdict = "allowed"  // a release: let it through
	VerdictRejected Verdict = "rejected" // a person said no
	VerdictAnswered Verdict = "answered" // a question: neither yes nor no to us
	VerdictRead     Verdict = "read"     // a notice
	VerdictExpired  Verdict = "expired"  // nobody decided in time: stopped, or unanswered
)

// Decision is what a person decided, or that nobody did.
type Decision struct {
	Choice  string    `json:"choice,omitempty"` // one of the options, spelt as there
	Text    string    `json:"text,omitempty"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	Verdict Verdict   `json:"verdict"`
}

// Closed is an approval with its decision.
type Closed struct {
	Approval Approval `json:"approval"`
	Decision Decision `json:"decision"`
}

// Delivers reports whether a person let the message through. Anything else
// leaves it where it is.
func (c *Closed) Delivers() bool {
	return c.Approval.Kind == policy.Release && c.Decision.Verdict == VerdictAllowed
}

const (
	idPrefix = "ap-"
	idDigits = 10
)

// IDFor returns the approval's id for a message: the same kind, message and
// cause (policy.Ask.Cause, mostly "") give the same approval, so a repeated
// pass asks nobody twice.
func IDFor(kind policy.AskKind, message mail.ID, cause string) string {
	sum := sha256.Sum256([]byte(string(kind) + "\n" + string(message) + "\n" + cause))
	return idPrefix + hex.EncodeToString(sum[:])[:idDigits]
}

// ValidID reports whether s has the form of an approval id.
func ValidID(s string) bool {
	hexa, ok := strings.CutPrefix(s, idPrefix)
	return ok && len(hexa) == idDigits && strings.Trim(hexa, "0123456789abcdef") == ""
}

// ExpiredAt reports whether the time to decide is over.
func (a *Approval) ExpiredAt(now time.Time) bool {
	return !a.Expires.IsZero() && !now.Before(a.Expires)
}

// check returns what is wrong with a, in words, or "".
func (a *Approval) check() string {
	switch a.Kind {
	case policy.Question, policy.Release:
		if a.Expires.IsZero() {
			return "a " + string(a.Kind) + " must expire"
		}
	case policy.Notice:
	default:
		return "unknown kind " + quote(string(a.Kind))
	}
	switch {
	case a.Message == "":
		return "no message"
	case a.ID != IDFor(a.Kind, a.Message, a.Cause):
		return "the id does not belong to the kind, message and cause"
	case a.Created.IsZero():
		return "no creation time"
	case a.AskKey != "" && !validKey(a.AskKey):
		return "malformed ask key"
	}
	return ""
}

// validKey reports whether key can be a file name: the key comes from a digest.
func validKey(key string) bool {
	if len(key) == 0 || len(key) > 128 {
		return false
	}
	for _, c := range []byte(key) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}
