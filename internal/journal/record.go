package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// The events (design §8, §7, §10, §11).
const (
	Adopted     = "adopted"     // an outbox file became a stamped message
	Claimed     = "claimed"     // the author's id was refused and another given; both are in Detail
	Delivered   = "delivered"   // durable in the inbox of Agent
	Deferred    = "deferred"    // Agent's inbox could not be written; it is tried again
	Redelivered = "redelivered" // a delivered file had vanished and was put back
	Bounced     = "bounced"     // not delivered; the sender was told why
	Escalated   = "escalated"   // put before a person
	Expired     = "expired"     // its deadline or its approval ran out
	Notified    = "notified"    // the recipient was woken, or that failed; Detail says how
	Surfaced    = "surfaced"    // the pointer was written into the agent's context
	Read        = "read"        // the agent has the body
	Done        = "done"        // the agent says that it is handled
	Sent        = "sent"        // the hub has it for the station of Agent, who is far
	Arrived     = "arrived"     // the far station signed that it is in Agent's inbox there
	Refused     = "refused"     // the far station will not have it; Detail says why
	Transcript  = "transcript"  // a section is about to be written: File, Offset, Length, Digest
	Settled     = "settled"     // all before it is durable wherever it belongs
	Parked      = "parked"      // all before it is written wherever it belongs; since the last settled one, not all is durable
	Recovered   = "recovered"   // a torn end was set aside; Detail says where
	Owed        = "owed"        // a debt began
	Discharged  = "discharged"  // a debt ended
	Agreed      = "agreed"      // "owes an answer" became "owes done"
	Reminded    = "reminded"    // a debtor was reminded
	Overdue     = "overdue"     // the creditor and a person were told
	Decided     = "decided"     // a person decided an approval
	Joined      = "joined"      // an agent was registered
	Archived    = "archived"    // an agent was taken out of service, or back
	Renamed     = "renamed"     // an agent got a new name
	Channel     = "channel"     // a channel was made, changed or ended
	Drift       = "drift"       // an id lies further in the future than the limit
)

// Record is one line of the journal. At is kept to the millisecond.
type Record struct {
	N            uint64            `json:"n"` // 1 for the first, no gaps
	At           time.Time         `json:"at"`
	Event        string            `json:"event"`
	ID           mail.ID           `json:"id,omitempty"`
	Agent        string            `json:"agent,omitempty"` // name at the time
	AID          string            `json:"aid,omitempty"`
	Seq          uint64            `json:"seq,omitempty"` // delivery sequence in Agent's inbox
	Digest       mail.Digest       `json:"digest,omitempty"`
	As           string            `json:"as,omitempty"` // to, cc, all
	From         string            `json:"from,omitempty"`
	Act          string            `json:"act,omitempty"`
	Conversation string            `json:"conversation,omitempty"`
	File         string            `json:"file,omitempty"`   // transcript intent
	Offset       int64             `json:"offset,omitempty"` // bytes
	Length       int64             `json:"length,omitempty"` // bytes
	Detail       map[string]string `json:"detail,omitempty"`
	Prev         string            `json:"prev"` // SHA-256 of the line before, without its line feed; "" in the first
}

// appendLine appends r as one JSON line and returns the line's hash.
func appendLine(dst []byte, r *Record) ([]byte, string, error) {
	if all, ok := appendPlain(dst, r); ok {
		return all, hashLine(all[len(dst) : len(all)-1]), nil
	}
	return appendAny(dst, r)
}

// appendAny is appendLine for whatever text a record holds.
func appendAny(dst []byte, r *Record) ([]byte, string, error) {
	buf := bytes.NewBuffer(dst)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return dst, "", err
	}
	all := buf.Bytes()
	return all, hashLine(all[len(dst) : len(all)-1]), nil
}

func hashLine(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// parseLine reads one line without its line feed. It accepts records of newer
// versions, whose other fields it passes over.
func parseLine(line []byte) (Record, error) {
	r, ok := parsePlain(line)
	if !ok {
		r = Record{}
		if err := json.Unmarshal(line, &r); err != nil {
			return r, err
		}
	}
	if r.N == 0 || r.Event == "" || r.At.IsZero() {
		return r, errors.New("not a record")
	}
	return r, nil
}
