package mail

import (
	"encoding/json"
	"time"
)

// Schema is the message schema this package reads and writes (design §4).
const Schema = 1

// MaxSize is the size cap of one message file, in bytes (design §4).
const MaxSize = 1 << 20

// HopCap is the default cap on hops (design §7.3).
const HopCap = 12

// Act is a speech act. Only Request, Query and Propose oblige an answer
// (design §7.2).
type Act string

// The acts of schema 1.
const (
	Request Act = "request"
	Query   Act = "query"
	Propose Act = "propose"
	Inform  Act = "inform"
	Agree   Act = "agree"
	Refuse  Act = "refuse"
	Done    Act = "done"
)

// Acts lists every act in the order in which help shows them.
func Acts() []Act { return []Act{Request, Query, Propose, Inform, Agree, Refuse, Done} }

// Known reports whether a is an act of schema 1.
func (a Act) Known() bool {
	switch a {
	case Request, Query, Propose, Inform, Agree, Refuse, Done:
		return true
	}
	return false
}

// Obliges reports whether a recipient in `to` owes an answer.
func (a Act) Obliges() bool { return a == Request || a == Query || a == Propose }

// Terminal reports whether a message of this act may not be replied to.
func (a Act) Terminal() bool { return a == Inform || a == Done }

// Discharges reports whether a reply of this act settles the debt entirely.
// Agree does not: it turns "owes an answer" into "owes done".
func (a Act) Discharges() bool { return a == Done || a == Refuse || a == Inform }

// Message is one immutable message (design §4, docs/spool-format.md §4).
//
// Times are UTC with millisecond precision. Fields this version does not know
// are kept in Extra and written back untouched.
type Message struct {
	Schema        int
	ID            ID
	Conversation  string
	InReplyTo     ID // "" is null
	From          string
	To            string
	CC            []string
	Act           Act
	Subject       string
	Body          string
	Hops          int
	RequiresReply bool
	NeedsHuman    bool
	Deadline      time.Time // zero is null
	// DeadlineText is the deadline as a hand-written file gives it, perhaps
	// relative to CreatedAt. It is never encoded: stamping resolves it with
	// ResolveDeadline.
	DeadlineText string
	CreatedAt    time.Time
	Office       string
	Station      string
	SentWith     string
	Envelope     *Envelope // what the stamping tool resolved; nil in a hand-written file

	Extra map[string]json.RawMessage
}

// Envelope is what stamping adds so that a half-done delivery is finished to
// the same recipients, whatever the registry says by then (design §3, adopt
// first).
type Envelope struct {
	// Recipients are the mailboxes of `to`, CC those of `cc`, by stable agent
	// id (aid). Empty for mail that goes to a person.
	Recipients []string `json:"recipients"`
	CC         []string `json:"cc,omitempty"`
	// Turns counts how often the word has passed from one agent to another
	// before this message in its conversation, whether or not in_reply_to says
	// so (design §7.3, the fuse).
	Turns int `json:"turns,omitempty"`
	// Key is the author's idempotency key, if any.
	Key string `json:"key,omitempty"`
	// Again is set when the author overrode the duplicate check.
	Again bool `json:"again,omitempty"`
	// Origin names the hand-written file that was adopted.
	Origin *Origin `json:"origin,omitempty"`
	// ClaimedID is the id the author wrote, when another one had to be given.
	ClaimedID string `json:"claimed_id,omitempty"`
}

// Origin identifies a hand-written outbox file: its name in the outbox, its
// inode (0 where the system has none) and the SHA-256 of its bytes.
type Origin struct {
	Name   string `json:"name"`
	Inode  uint64 `json:"inode"`
	Digest Digest `json:"digest"`
}

// Digest is the lower-case hex SHA-256 of a file's bytes.
type Digest string
