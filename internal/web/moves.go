package web

import (
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
)

// news is what one look at the journal found, however much that was.
type news struct {
	burst      int // records that are told one by one
	last       uint64
	fresh      []journal.Record // the newest
	skipped    int              // and how many were before those
	deliveries []Delivery
}

func (n *news) take(r journal.Record) error {
	n.last = r.N
	if d, ok := deliveryOf(r); ok {
		n.deliveries = append(n.deliveries, d)
	}
	if len(n.deliveries) > 2*keptLately {
		n.deliveries = append(n.deliveries[:0], n.deliveries[keptLately:]...)
	}
	if !worthTelling(r) {
		return nil
	}
	if n.fresh = append(n.fresh, r); len(n.fresh) > n.burst {
		n.fresh, n.skipped = n.fresh[1:], n.skipped+1
	}
	return nil
}

// worthTelling leaves out what is in the journal for the router's sake.
func worthTelling(r journal.Record) bool { return len(namesOf(r.Event)) > 0 }

// namesOf lists the events that a journal's record is for browsers.
func namesOf(ev string) []string {
	switch ev {
	case journal.Transcript, journal.Settled, journal.Parked:
		return nil
	case journal.Escalated, journal.Decided, journal.Expired:
		return []string{onJournal, onApprovals}
	case journal.Reminded, journal.Overdue: // that debts begin and end is seen in the ledger
		return []string{onJournal, onDebts}
	}
	return []string{onJournal}
}

func moveOf(r journal.Record) Move {
	return Move{Event: r.Event, N: r.N, At: r.At, ID: r.ID, From: r.From, To: r.Agent, Act: r.Act, As: r.As, Seq: r.Seq,
		Conversation: r.Conversation, Approval: r.Detail["approval"]}
}

// Delivery is one message that came into somebody's inbox, or before a person.
type Delivery struct {
	At           time.Time
	ID           mail.ID
	From, To     string
	Act          string
	Conversation string
}

// deliveryOf is a record as a delivery, if it is one.
func deliveryOf(r journal.Record) (Delivery, bool) {
	d := Delivery{At: r.At, ID: r.ID, From: r.From, To: r.Agent, Act: r.Act, Conversation: r.Conversation}
	switch r.Event {
	case journal.Delivered:
	case journal.Escalated:
		d.To = mail.NameHuman
	default:
		return d, false
	}
	return d, d.From != "" && d.To != ""
}

// keptLately is how many deliveries are kept: an hour of a day of 100,000
// messages.
const keptLately = 4096

// lately is the newest deliveries, in the order of the journal. It never holds
// more than keptLately.
type lately struct {
	ring []Delivery
	next int // where the next one goes once the ring is full
}

func (l *lately) add(list ...Delivery) {
	for _, d := range list {
		if len(l.ring) < keptLately {
			l.ring = append(l.ring, d)
			continue
		}
		l.ring[l.next] = d
		l.next = (l.next + 1) % keptLately
	}
}

// list returns them oldest first.
func (l *lately) list() []Delivery {
	out := make([]Delivery, 0, len(l.ring))
	return append(append(out, l.ring[l.next:]...), l.ring[:l.next]...)
}
