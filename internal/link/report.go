package link

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// Report is the body of a Receipt envelope: what became of the receiver's mail,
// and what the sender has and misses. A repeat says the same.
type Report struct {
	Have *Have `json:"have,omitempty"`
	// Again: what did not arrive was thrown away, because the key was not trusted.
	Again  bool    `json:"again,omitempty"`
	Events []Event `json:"events,omitempty"`
}

// Event is one receipt for one recipient.
type Event struct {
	Event string    `json:"event"` // mail.EventArrived, EventRefused, EventSurfaced, EventRead, EventDone
	ID    mail.ID   `json:"id"`
	AID   string    `json:"aid,omitempty"` // of the recipient; "" of a refused message: all there
	At    time.Time `json:"at"`
	// Digest is that of the message as its author's office stamped it (arrived).
	Digest mail.Digest `json:"digest,omitempty"`
	Text   string      `json:"text,omitempty"` // evidence, or the reason
	// Told: the far office has written the author a notice of its own.
	Told bool `json:"told,omitempty"`
}

// reportEvents is how many events go into one envelope.
const reportEvents = 200

// textMax bounds what is believed of a text, in bytes.
const textMax = 1000

// readReport parses and checks a report.
func readReport(body []byte) (Report, error) {
	var r Report
	if err := json.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("its receipts do not parse: %w", err)
	}
	if len(r.Events) > reportEvents {
		return r, errors.New("it has too many receipts")
	}
	if h := r.Have; h != nil {
		if !validEpoch(h.Epoch) || h.Before != "" && !validEpoch(h.Before) || h.Upto > seqMost || len(h.Missing) > missingMax {
			return r, errors.New("what it says of the sequence makes no sense")
		}
	}
	for i := range r.Events {
		e := &r.Events[i]
		switch e.Event {
		case mail.EventArrived, mail.EventRefused, mail.EventSurfaced, mail.EventRead, mail.EventDone:
		default:
			return r, fmt.Errorf("%q is no receipt", mail.Neutralise(e.Event, false))
		}
		if !e.ID.Valid() || e.At.IsZero() || e.AID == "" && e.Event != mail.EventRefused {
			return r, errors.New("a receipt lacks its id, time or recipient")
		}
		e.Text = mail.Neutralise(e.Text[:min(len(e.Text), textMax)], false)
	}
	return r, nil
}
