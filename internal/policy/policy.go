// Package policy decides what becomes of a message. It is one pure function,
// Plan: message, world, now in; actions out (design §7). It reads no file and
// no clock; whoever calls it gathers the facts first and performs the actions
// afterwards, in the order in which they stand.
//
// Invariants. The same input gives the same actions. A message either gets
// delivered, is put before a person, or is refused with a reason: there is no
// fourth way out and no silent one. An envelope that is already resolved is
// never resolved again. One plan asks a person at most once. What postroom
// writes never obliges, never bounces and is never answered.
//
// The caller plans messages one after the other: the world of the next message
// has what the actions of the last one changed (a blown fuse, a debt). It keeps
// World.Begun true for a message of which anything was delivered, because the
// rules that refuse a message must not speak twice about it (design §7.10).
package policy

import (
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// Settings are the office's rules (postroom.toml, [policy]). A number or time
// that is not above zero means its default.
type Settings struct {
	HopCap       int           // design §7.3; default 12
	FuseTurns    int           // alternations allowed in one conversation; default 24
	FusePerHour  int           // alternations of one agent in an hour, any conversation; default 240
	Due          time.Duration // when an answer is due if the message says nothing; default 1h
	CopyAll      string        // agent copied on everything; "" for none
	Orchestrator string        // agent that answers to "god"; "" for none
	AskAgain     time.Duration // how long a person's rejection answers the same question; default 24h
	Grace        time.Duration // from the reminder of a debt to a person; default half of Due
	Expire       time.Duration // how long a question or release waits for a person; default 7 days
	Station      string        // this office's name on the link; "" if it is not linked
}

// withDefaults fills what is not set.
func (s Settings) withDefaults() Settings {
	number := func(n *int, def int) {
		if *n <= 0 {
			*n = def
		}
	}
	period := func(d *time.Duration, def time.Duration) {
		if *d <= 0 {
			*d = def
		}
	}
	number(&s.HopCap, mail.HopCap)
	number(&s.FuseTurns, 24)
	number(&s.FusePerHour, 240)
	period(&s.Due, time.Hour)
	period(&s.AskAgain, 24*time.Hour)
	period(&s.Grace, s.Due/2)
	period(&s.Expire, 7*24*time.Hour)
	return s
}

// Agent is what the rules need to know of a registered agent.
type Agent struct {
	Name     string
	AID      string // stable id
	Archived bool
	// Transcript is the registry's name for the agent's transcript file; "" is
	// _inbox_<name>.md. It keeps one file per inbox over a rename (design §10).
	Transcript string
	// Station is where a far agent is; its Name ends in @ and this. "" is an
	// agent of this office.
	Station string
}

// Far reports whether the agent is another station's.
func (a Agent) Far() bool { return a.Station != "" }

// Channel is a named set of agents, by aid, sorted.
type Channel struct {
	Name    string
	Members []string
}

// Directory is the address book.
type Directory interface {
	// Agent finds an agent by name or alias, exactly.
	Agent(name string) (Agent, bool)
	ByAID(aid string) (Agent, bool)
	Channel(name string) (Channel, bool)
	// Active lists the agents that are not archived, sorted by name.
	Active() []Agent
	// Namesakes lists the agents in service at other stations that are, or were,
	// called name there (name@station), sorted by name.
	Namesakes(name string) []Agent
	// Suggest lists names close to name, best first, at most three.
	Suggest(name string) []string
}

// Parent is the message that in_reply_to names, as far as the rules care.
type Parent struct {
	ID           mail.ID
	From         string // name at the time
	FromAID      string // "" for human and postroom
	Act          mail.Act
	Hops         int
	Conversation string
	Obliges      bool // requires_reply as stamped
	// Sent and Received say how the author of the reply knows the parent:
	// wrote it, got it in `to` (or a broadcast or channel), or as cc.
	Sent, Received, CC bool
	// FromHuman: written by a person, who has no inbox but is told through a notice.
	FromHuman bool
}

// World is what is known when a message is planned.
type World struct {
	Settings  Settings
	Directory Directory
	// Sender is the owner of the outbox. Zero AID for human and postroom.
	Sender Agent
	// Parent is nil when in_reply_to is null; ParentKnown is false when it
	// names nothing that the office has.
	Parent      *Parent
	ParentKnown bool
	// Turns is how often the word has passed between agents in this
	// conversation before this message; TurnsHour the length of the chain of
	// turns it continues in any conversation, within an hour of Since.
	Turns, TurnsHour int
	Since            time.Time
	// Fuse is the state of this conversation's fuse.
	Fuse FuseState
	// Rejected is set when a person rejected the very same question of the
	// same sender within AskAgain. The approval of this very message is not
	// meant.
	Rejected *Rejection
	// Released is set when a person let this very message through.
	Released bool
	// Begun is set when an earlier pass already delivered a part of this
	// message. Whatever could refuse or hold it was decided then.
	Begun bool
}

// FuseState is the state of a conversation's (or a sender's) fuse: of the
// blown one, if one is. It follows from the releases that are undecided. The
// zero value is a whole fuse.
type FuseState struct {
	Blown    bool
	Approval string // the release that waits for a person
	// OfSender: it is the sender's fuse, for an hour's turns in any
	// conversation, and not the conversation's.
	OfSender bool
	// Message is the one that blew it. Planned again after a crash, it is put
	// before a person again, under the same approval, and does not bounce.
	Message mail.ID
	// Allowed counts turns a person granted on top of the caps.
	Allowed     int
	AllowedHour int
}

// Rejection is a person's earlier no.
type Rejection struct {
	Approval string
	At       time.Time
	Text     string
}

// Action is one thing to be done. The set is closed.
type Action interface{ action() }

// As says in which role a recipient gets a message.
type As string

// The roles.
const (
	AsTo  As = "to"
	AsCC  As = "cc"
	AsAll As = "all"
)

type (
	// Deliver puts the message into one agent's inbox.
	Deliver struct {
		To Agent
		As As
		// Obliges: the recipient owes an answer by Due.
		Obliges bool
		Due     time.Time
	}
	// Transcript appends a section to a file in transcripts/. Header is the
	// text between the brackets, with → between the parties ("a→b,c").
	Transcript struct {
		File   string // "_inbox_coder.md", "_channel_a_b.md"
		Header string
	}
	// Ask puts the message before a person.
	Ask struct {
		Kind AskKind
		// Cause tells several questions about one message apart
		// ("overdue:done:<aid>"); "" in a plan, which asks at most once.
		Cause   string
		Why     string   // one sentence
		Options []string // for a release: deliver, stop
		Expires time.Time
		// Fuse: the release concerns a fuse, which stays blown until it is
		// decided: the conversation's or, if OfSender, the sender's.
		Fuse, OfSender bool
	}
	// Bounce tells the sender that the message, or the part of it that
	// concerns Recipient, was not delivered and why. A message planned to
	// bounce as a whole has no other action but Bounce.
	Bounce struct {
		Kind      mail.Kind
		Recipient string // a name, or a quoted id that is nobody; "" for the whole message
		Reason    string // one sentence
		Hint      string // what to do instead
		Suggest   []string
	}
	// Tell sends a notice from postroom to one agent. Its id derives from the
	// planned message's id, Cause ("archived:coder") and To.AID, so that a
	// repeat is the same notice and another message's is another one.
	Tell struct {
		To    Agent
		Cause string
		Text  string
	}
	// Owe records that Debtor owes Creditor an answer to the message.
	Owe struct {
		Debtor, Creditor string // aids; creditor "" is a person
		Due              time.Time
		// Firm: the author set the deadline, so agreeing does not move it.
		Firm bool
	}
	// Settle records what a reply does to the sender's debt for Parent:
	// discharged, or (Agreed) still owing the work itself, by Due.
	Settle struct {
		Parent mail.ID
		Debtor string
		By     mail.Act
		Agreed bool
		Due    time.Time
	}
)

func (Deliver) action()    {}
func (Transcript) action() {}
func (Ask) action()        {}
func (Bounce) action()     {}
func (Tell) action()       {}
func (Owe) action()        {}
func (Settle) action()     {}

// AskKind is the kind of an approval (design §7.5, §13).
type AskKind string

// The kinds of approval.
const (
	Question AskKind = "question"
	Notice   AskKind = "notice"
	Release  AskKind = "release"
)
