package mail

import (
	"bytes"
	"time"
)

// The events that the owner of a mailbox may record (design §8).
const (
	EventSurfaced = "surfaced" // the pointer was written into the agent's context
	EventRead     = "read"     // the body was
	EventDone     = "done"     // the owner moved the message to .done
)

// The events that the link records for a far agent, besides those of the agent
// itself (docs/adr/0035).
const (
	EventSent    = "sent"    // the hub has the message
	EventArrived = "arrived" // the far station has it in the agent's inbox, and signed for it
	EventRefused = "refused" // the far station will not have it; the evidence is the reason
)

// Receipt is one line of a mailbox's receipts.jsonl: what its owner saw, read
// or did, written after the bytes were out (spool-format.md §7).
type Receipt struct {
	At    time.Time // UTC, to the millisecond
	Event string    // EventSurfaced, EventRead, EventDone, or one of the link's
	ID    ID
	// Part and Parts say which part of a long body was read, from 1; 0 for a
	// body read whole.
	Part, Parts int
	Evidence    string // how it is known: "hook claude", "stdout"
}

// OfLink reports whether only the link can know of such an event: in the
// mailbox of an agent of this office it counts for nothing.
func (r Receipt) OfLink() bool {
	return r.Event == EventSent || r.Event == EventArrived || r.Event == EventRefused
}

// BadLine is a line that could not be read, for the doctor to report.
type BadLine struct {
	Line   int   // from 1
	Offset int   // of its first byte
	Err    error // why
}

// receiptLineMax bounds one line, so that a hostile owner costs little.
const receiptLineMax = 16 << 10

// AppendLine appends the receipt as one JSON line with its line feed.
// Evidence that is not UTF-8 is made so.
func (r Receipt) AppendLine(dst []byte) []byte {
	dst = append(dst, `{"at":`...)
	dst = appendTime(dst, r.At)
	dst = append(dst, `,"event":`...)
	dst = appendString(dst, validText(r.Event))
	dst = append(dst, `,"id":`...)
	dst = appendString(dst, validText(string(r.ID)))
	if r.Parts > 0 {
		dst = appendInt(append(dst, `,"part":`...), r.Part)
		dst = appendInt(append(dst, `,"parts":`...), r.Parts)
	}
	if r.Evidence != "" {
		dst = append(dst, `,"evidence":`...)
		dst = appendString(dst, validText(r.Evidence))
	}
	return append(dst, '}', '\n')
}

// ParseReceipt reads one line, with or without its line feed. Fields it does
// not know are passed over; events it does not know are errors, since an owner
// may report nothing else. The error is KindCorrupt.
func ParseReceipt(line []byte) (Receipt, error) {
	var r Receipt
	l, err := newLine("read receipt", line, receiptLineMax)
	if err != nil {
		return r, err
	}
	var at, id string
	err = l.each(func(key string, v value) *fault {
		switch key {
		case "at":
			return l.string(v, &at)
		case "event":
			return l.string(v, &r.Event)
		case "id":
			return l.string(v, &id)
		case "part":
			return l.int(v, &r.Part)
		case "parts":
			return l.int(v, &r.Parts)
		case "evidence":
			return l.string(v, &r.Evidence)
		}
		return nil
	})
	if err != nil {
		return Receipt{}, err
	}
	r.ID = ID(id)
	t, timeErr := time.Parse(time.RFC3339, at)
	r.At = t.UTC().Truncate(time.Millisecond)
	switch {
	case timeErr != nil || r.At.Year() < 0 || r.At.Year() > 9999:
		err = l.bad("at is no time")
	case r.Event != EventSurfaced && r.Event != EventRead && r.Event != EventDone && !r.OfLink():
		err = l.bad("event is none of surfaced, read, done, sent, arrived, refused")
	case !r.ID.Valid():
		err = l.bad("id is no message id")
	case r.Part < 0 || r.Part > r.Parts || r.Parts > 0 && r.Part == 0:
		err = l.bad("part lies outside parts")
	}
	if err != nil {
		return Receipt{}, err
	}
	return r, nil
}

// ParseReceipts reads a receipts file or a piece of one that begins at a line.
// Lines that do not parse are reported and passed over, so a torn line hides no
// other. A last line without line feed counts if it parses; else somebody may
// be writing it, and it is left for the next time. next is where that begins.
func ParseReceipts(data []byte) (receipts []Receipt, bad []BadLine, next int) {
	for n := 1; next < len(data); n++ {
		line, _, whole := bytes.Cut(data[next:], []byte("\n"))
		size := len(line)
		if whole {
			size++
		}
		if len(bytes.TrimSpace(line)) > 0 {
			r, err := ParseReceipt(line)
			switch {
			case err == nil:
				receipts = append(receipts, r)
			case !whole:
				return receipts, bad, next
			default:
				bad = append(bad, BadLine{Line: n, Offset: next, Err: err})
			}
		}
		next += size
	}
	return receipts, bad, next
}
