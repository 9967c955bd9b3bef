package cli

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/router"
)

func itoa(n int) string { return strconv.Itoa(n) }

// The states of an outcome, as --json says them (docs/json.md).
const (
	stateDelivered   = "delivered"
	stateNotSurfaced = "not-surfaced"
	stateAsked       = "asked"
	stateStored      = "stored"
	stateFailed      = "failed"
)

// outcome is what is known of one message for one recipient: one line of
// design §6.
type outcome struct {
	ID           mail.ID      `json:"id,omitempty"`
	To           string       `json:"to"`
	State        string       `json:"state"`
	CC           bool         `json:"cc,omitempty"`
	Notified     string       `json:"notified,omitempty"` // the adapter that the recipient's runtime took it from
	Reason       string       `json:"reason,omitempty"`
	Approval     string       `json:"approval,omitempty"`
	Duplicate    bool         `json:"duplicate,omitempty"`
	Reached      string       `json:"reached,omitempty"` // of a duplicate: the last thing known of it
	Station      string       `json:"station,omitempty"` // of a recipient elsewhere
	There        string       `json:"there,omitempty"`   // of delivered: where it is at that station, as that said
	Conversation string       `json:"conversation,omitempty"`
	Line         int          `json:"line,omitempty"` // of a batch
	Exit         int          `json:"exit"`
	Error        *errorObject `json:"error,omitempty"`

	err  error
	told bool // of asked: it wants no answer
}

// text is the line that a person or an agent reads.
func (o outcome) text() string {
	to := string(o.ID) + " to " + Line(o.To)
	if o.CC {
		to += " (cc)"
	}
	state, tail := "", ""
	switch o.State {
	case stateFailed:
		line := FailedLine(o.err)
		if o.Line > 0 {
			line += " (line " + itoa(o.Line) + ")"
		}
		return line
	case stateAsked:
		state = "asked a person: " + o.Approval
		if o.told {
			state = "put before a person: " + o.Approval
		}
		if o.Reason != "" {
			tail = " (" + Line(o.Reason) + ")"
		}
		if !o.Duplicate {
			return state + tail
		}
	case stateNotSurfaced:
		state, tail = "delivered, not yet surfaced", " ("+Line(o.Reason)+"). Do not resend."
	case stateStored:
		state, tail = "stored, not yet delivered", " ("+Line(o.Reason)+"). Do not resend."
	default:
		state = o.State
		switch {
		case o.Notified != "":
			tail = " (notified: " + o.Notified + ")"
		case o.There != "":
			tail = " (" + o.Station + ": " + Line(o.There) + ")"
		}
	}
	if o.Duplicate {
		if o.Reached != "" {
			state, tail = o.Reached, ""
		}
		return "already sent: " + to + ", state " + state + tail
	}
	if o.State == stateDelivered {
		return state + " " + to + tail
	}
	return state + ": " + to + tail
}

// worst is the exit code of several outcomes (design §6).
func worst(list []outcome) int {
	order := []int{mail.ExitOK, mail.ExitNotSurfaced, mail.ExitNotDelivered, mail.ExitRefused, mail.ExitStore}
	rank := 0
	for _, o := range list {
		rank = max(rank, slices.Index(order, o.Exit))
	}
	return order[rank]
}

// failed is the outcome of what was not stored, or bounced.
func failed(to string, err error) outcome {
	o := outcome{To: to, State: stateFailed, Exit: exitOf(err), err: err}
	if o.Exit != mail.ExitStore {
		o.Exit = mail.ExitRefused // whatever was wrong, it is certain that nothing is on its way
	}
	obj := errorOf(err)
	obj.Exit = o.Exit
	o.Error = &obj
	return o
}

// notStored turns the kinds that elsewhere mean "stored" into the one that says
// that nothing was: a lock that was held, a mailbox that cannot be written.
func notStored(err error) error {
	switch mail.KindOf(err) {
	case mail.KindBusy, mail.KindReadOnly, mail.KindDelivery, mail.KindNotify:
		e := &mail.Error{}
		if errors.As(err, &e) {
			again := *e
			again.Kind = mail.KindStore
			return &again
		}
	}
	return err
}

// outcomes says what became of one message that was sent, given what routing
// reported of it (ok) or why it did not (left).
func outcomes(s mailbox.Sent, res router.Result, ok bool, left string, woken []dispatch.Woken) []outcome {
	if s.Err != nil {
		return []outcome{failed(s.To, notStored(s.Err))}
	}
	base := outcome{ID: s.Msg.ID, To: s.To, Duplicate: s.Duplicate, Conversation: s.Msg.Conversation}
	if ok && len(res.Fates) == 0 {
		o := failed(s.To, &mail.Error{Op: "send", Kind: mail.KindRule, Addr: s.To, Err: errors.New("it went to nobody"), Hint: "post inbox says why"})
		o.ID = s.Msg.ID
		return []outcome{o}
	}
	if !ok {
		base.State, base.Reason, base.Exit = stateStored, left, mail.ExitNotDelivered
		return []outcome{base}
	}
	var list []outcome
	for _, f := range res.Fates {
		list = append(list, base.of(f, s.Msg, woken))
	}
	slices.SortStableFunc(list, func(a, b outcome) int { // the recipients before the copies
		switch {
		case a.CC == b.CC:
			return 0
		case a.CC:
			return 1
		}
		return -1
	})
	return list
}

func (o outcome) of(f router.Fate, m *mail.Message, woken []dispatch.Woken) outcome {
	if f.Agent.AID != "" {
		o.To = f.Agent.Name
		o.CC = m.Envelope != nil && !slices.Contains(m.Envelope.Recipients, f.Agent.AID)
	}
	if f.State == router.Delivered && f.Agent.Far() {
		o.crossing(f.Agent, mailbox.Crossing{}, "it waits here for the link to "+f.Agent.Station)
		return o
	}
	switch f.State {
	case router.Delivered:
		o.State = stateDelivered
		o.wake(f.Agent.AID, woken)
	case router.Asked:
		o.State, o.Approval = stateAsked, f.Approval
		o.told = m.To == mail.NameHuman && !m.NeedsHuman && !m.Act.Obliges()
		if m.To != mail.NameHuman && !m.NeedsHuman {
			o.Reason = string(m.ID) + " to " + m.To + " waits until a person releases it"
		}
	case router.Deferred:
		o.State, o.Exit, o.Reason = stateStored, mail.ExitNotDelivered, shortReason(f.Err)
	default:
		b := failed(o.To, f.Err)
		b.ID, b.CC, b.Conversation, b.Exit = o.ID, o.CC, o.Conversation, mail.ExitRefused
		return b
	}
	return o
}

// wake says how the recipient learns of its mail. That a copy's reader could
// not be woken is shown, and is no reason for an exit code of its own.
func (o *outcome) wake(aid string, woken []dispatch.Woken) {
	for _, w := range woken {
		if w.AID != aid {
			continue
		}
		switch {
		case !w.Surfaced():
			o.State, o.Reason = stateNotSurfaced, w.Kind+": "+strings.TrimPrefix(w.Outcome.Evidence, w.Kind+": ")
			if !o.CC {
				o.Exit = mail.ExitNotSurfaced
			}
		case w.Outcome.State == "notified":
			o.Notified = w.Kind
		}
		return
	}
}

// shortReason is an error without what the line says anyway.
func shortReason(err error) string {
	var e *mail.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	text := e.Addr
	if e.Err != nil {
		if text != "" {
			text += ": "
		}
		text += e.Err.Error()
	}
	if text == "" {
		text = string(e.Kind)
	}
	return text
}
