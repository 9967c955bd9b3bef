package cli

import (
	"context"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
)

// movesEvery is how often the journal is looked at for what moves.
const movesEvery = 250 * time.Millisecond

// moveView is one thing that happened to a message, as a person watches it
// (docs/json.md).
type moveView struct {
	At       time.Time `json:"at"`
	Event    string    `json:"event"`
	ID       mail.ID   `json:"id"`
	From     string    `json:"from"`
	To       string    `json:"to"`
	Act      string    `json:"act"`
	Subject  string    `json:"subject,omitempty"`
	Approval string    `json:"approval,omitempty"`
}

// watchOffice prints a line for whatever moves in the office from now on,
// whoever routes it. It reads the journal, and marks nothing.
func (d *desk) watchOffice(ctx context.Context) error {
	var f journal.Follower
	if err := f.Skip(d.Office.FS); err != nil {
		return err
	}
	pass := d.passes()
	tick := time.NewTicker(movesEvery)
	defer tick.Stop()
	for {
		pass(ctx)
		if err := f.Next(d.Office.FS, d.showMove); err != nil {
			return err
		}
		if err := d.e.taken(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// showMove prints a record that a person wants to see.
func (d *desk) showMove(r journal.Record) error {
	switch r.Event {
	case journal.Delivered, journal.Escalated, journal.Bounced, journal.Read, journal.Done, journal.Arrived, journal.Refused:
	default:
		return nil
	}
	v := moveView{At: r.At, Event: mailbox.EventFor(r.Event, r.Agent), ID: r.ID, From: r.From, To: r.Agent, Act: r.Act, Approval: r.Detail["approval"]}
	if m, _, err := d.Office.ReadMessage(r.ID); err == nil { // receipts name the message only
		v.From, v.Act, v.Subject = m.From, string(m.Act), m.Subject
	}
	if d.e.JSON {
		d.e.Out.Object(v)
		return nil
	}
	d.e.Out.Printf("%s  %-9s  %s → %s  %s  %s  %s\n", v.At.UTC().Format(time.TimeOnly), v.Event, Line(v.From), Line(v.To), Line(v.Act),
		cutTo(v.Subject, subjectWidth), short(v.ID))
	if v.Approval != "" {
		d.e.Out.Printf("          next: post approvals %s\n", Line(v.Approval))
	}
	return nil
}
