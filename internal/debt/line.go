package debt

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
)

// human is the creditor of what a person asked, in the ledger; "" in the rules.
const human = "human"

const unknownEvent = "unknown event"

// line is one line of the ledger.
type line struct {
	At           time.Time       `json:"at"`
	Event        policy.DebtOp   `json:"event"`
	ID           mail.ID         `json:"id,omitempty"`
	Debtor       string          `json:"debtor,omitempty"`   // aid
	Creditor     string          `json:"creditor,omitempty"` // aid or human
	Conversation string          `json:"conversation,omitempty"`
	Due          time.Time       `json:"due,omitzero"`
	Firm         bool            `json:"firm,omitempty"`
	Kind         policy.DebtKind `json:"kind,omitempty"`
	AskedBy      string          `json:"asked_by,omitempty"` // of remind and waive: aid or human
	Shift        time.Duration   `json:"shift,omitempty"`    // nanoseconds; negative if the clock was set back
}

// render returns e as its line, newline included.
func render(e policy.DebtEvent) ([]byte, error) {
	l := line{
		At: e.At.UTC(), Event: e.Op, ID: e.ID, Debtor: e.Debtor, Creditor: e.Creditor,
		Conversation: e.Conversation, Due: e.Due.UTC(), Firm: e.Firm, Kind: e.Kind, AskedBy: e.Asker, Shift: e.By,
	}
	if l.Event == policy.OpOwe && l.Creditor == "" {
		l.Creditor = human
	}
	b, err := json.Marshal(l)
	if what := l.check(); what != "" {
		err = errors.New(what)
	}
	if err != nil {
		return nil, &mail.Error{Op: "record debt", Kind: mail.KindInvalid, ID: e.ID, Err: err}
	}
	return append(b, '\n'), nil
}

// check returns what is wrong with a line, or "".
func (l *line) check() string {
	if l.At.IsZero() {
		return "no time"
	}
	switch l.Event {
	case policy.OpShift:
		return ""
	case policy.OpOwe:
		if l.Due.IsZero() {
			return "no due time"
		}
	case policy.OpSettle, policy.OpAgree, policy.OpRemind, policy.OpEscalate, policy.OpWaive:
	default:
		return unknownEvent
	}
	if l.ID == "" || l.Debtor == "" {
		return "no message or no debtor"
	}
	return ""
}

// parse reads one line. known is false for an event of a newer tool. A crash
// can leave zeros where writes were lost that nobody had synced; the line after
// them is whole.
func parse(b []byte) (e policy.DebtEvent, known, ok bool) {
	b = b[bytes.LastIndexByte(b, 0)+1:]
	var l line
	if err := json.Unmarshal(b, &l); err != nil || l.Event == "" {
		return e, false, false
	}
	if l.Creditor == human {
		l.Creditor = ""
	}
	if what := l.check(); what != "" {
		return e, false, what == unknownEvent
	}
	return policy.DebtEvent{
		Op: l.Event, ID: l.ID, Debtor: l.Debtor, Creditor: l.Creditor, Conversation: l.Conversation,
		Due: l.Due, Firm: l.Firm, Kind: l.Kind, At: l.At, Asker: l.AskedBy, By: l.Shift,
	}, true, true
}

// lines yields the complete lines of b, newline included.
func lines(b []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			i := bytes.IndexByte(b, '\n')
			if i < 0 || !yield(b[:i+1]) {
				return
			}
			b = b[i+1:]
		}
	}
}

// read makes a book of a ledger's bytes. What follows the last newline is still
// being written, or torn.
func read(b []byte) Book {
	var book Book
	for l := range lines(b) {
		switch e, known, ok := parse(l); {
		case !ok:
			book.Damaged++
		case known:
			book.add(e)
		}
	}
	return book
}
