package cli

import (
	"context"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/policy"
)

func traceCommand() Command {
	return Command{
		Name: "trace", Summary: "show the whole life of a message", Usage: "ID|last",
		Long:  "Shows each step with its time and how it is known, where the message is now,\nand who owes what next.",
		Setup: plain(runTrace),
	}
}

// traceView is `post trace --json` (docs/json.md).
type traceView struct {
	ID           mail.ID        `json:"id"`
	From         string         `json:"from"`
	To           string         `json:"to"`
	Act          mail.Act       `json:"act"`
	Subject      string         `json:"subject"`
	Conversation string         `json:"conversation"`
	Steps        []mailbox.Step `json:"steps"`
	Delivered    []string       `json:"delivered"`
	Missing      []string       `json:"missing"`
	Far          []farView      `json:"far,omitempty"` // recipients at other stations
	InOutbox     bool           `json:"in_outbox"`
	Failed       bool           `json:"failed,omitempty"`
	Approval     string         `json:"approval,omitempty"`
	Decided      bool           `json:"decided,omitempty"`
	Owed         []owedView     `json:"owed"`
}

// farView is how a message stands on its way to one agent of another station.
type farView struct {
	To      string `json:"to"`
	Station string `json:"station"`
	State   string `json:"state"` // queued, sent, arrived, refused
	There   string `json:"there,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

func viewFar(f mailbox.FarStand) farView {
	v := farView{To: f.Agent.Name, Station: f.Agent.Station, State: mailbox.Queued}
	switch {
	case f.Arrived:
		v.State, v.There = mail.EventArrived, thereOf(f.Agent.Station, f.Evidence)
	case f.Refused:
		v.State, v.Reason = mail.EventRefused, f.Evidence
	case f.Sent:
		v.State = mail.EventSent
	}
	return v
}

func runTrace(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 1, 1); err != nil {
		return err
	}
	d, _, err := e.openAnyDesk()
	if err != nil {
		return err
	}
	id, err := d.findAny(args[0])
	if err != nil {
		return err
	}
	life, err := d.Trace(id)
	if err != nil {
		return err
	}
	if e.JSON {
		e.Out.Object(d.viewLife(life))
		return nil
	}
	d.printLife(life)
	return nil
}

func (d *desk) viewLife(l *mailbox.Life) traceView {
	m := l.Message
	v := traceView{ID: m.ID, From: m.From, To: m.To, Act: m.Act, Subject: m.Subject, Conversation: m.Conversation,
		Steps: l.Steps, Delivered: agentNames(l.Have()), Missing: agentNames(l.Where.Missing), InOutbox: l.Where.Outbox,
		Failed: l.Where.Failed, Approval: l.Where.Approval, Decided: l.Where.Decided, Owed: []owedView{}}
	for _, f := range l.Far {
		v.Far = append(v.Far, viewFar(f))
	}
	for _, o := range l.Owed {
		v.Owed = append(v.Owed, d.viewDebt(o, m.Subject))
	}
	return v
}

func agentNames(list []policy.Agent) []string {
	out := []string{}
	for _, a := range list {
		out = append(out, a.Name)
	}
	return out
}

func (d *desk) printLife(l *mailbox.Life) {
	out, m := d.e.Out, l.Message
	out.Printf("%s\n%s → %s  %s  %s\n\n", m.ID, Line(m.From), Line(m.To), m.Act, cutTo(m.Subject, subjectWidth))
	var rows [][]string
	for _, s := range l.Steps {
		rows = append(rows, []string{s.At.UTC().Format("2006-01-02 15:04:05.000"), s.Event, dash(s.Agent), s.How()})
	}
	out.Table([]string{"TIME (UTC)", "STEP", "AGENT", "HOW IT IS KNOWN"}, rows)
	out.Printf("\n")
	for _, line := range d.Stands(l) {
		out.Printf("now: %s\n", Line(line))
	}
}

// viewDebt shows a debt with the names of today.
func (d *desk) viewDebt(o policy.Debt, subject string) owedView {
	v := ViewOwed(d.OwedNow(o))
	v.Subject = subject
	return v
}
