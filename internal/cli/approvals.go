package cli

import (
	"context"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/reach"
)

func approvalsCommand() Command {
	return Command{
		Name: "approvals", Summary: "list what waits for a person", Usage: "[ID]",
		Long:  "With an ID it shows all of one: the question, why it was put before a person,\nand the messages that led to it.",
		Setup: plain(runApprovals),
	}
}

// approvalView is an approval (docs/json.md).
type approvalView struct {
	ID           string             `json:"id"`
	Kind         string             `json:"kind"`
	Asker        string             `json:"asker"`
	Message      mail.ID            `json:"message"`
	Conversation string             `json:"conversation"`
	Subject      string             `json:"subject"`
	Body         string             `json:"body,omitempty"`
	Why          string             `json:"why"`
	Options      []string           `json:"options"`
	Created      time.Time          `json:"created"`
	Expires      *time.Time         `json:"expires,omitempty"`
	Chain        []approval.Step    `json:"chain,omitempty"`
	Decision     *approval.Decision `json:"decision,omitempty"`
	Digest       mail.Digest        `json:"digest"`             // of the message as it was shown
	Notified     *reach.Status      `json:"notified,omitempty"` // of an open one: was the person told of it
	Problem      string             `json:"problem,omitempty"`
}

func viewApproval(a *approval.Approval, d *approval.Decision) approvalView {
	v := approvalView{ID: a.ID, Kind: string(a.Kind), Asker: a.Asker, Message: a.Message, Conversation: a.Conversation,
		Subject: a.Subject, Body: a.Body, Why: a.Why, Options: append([]string{}, a.Choices()...), Created: a.Created,
		Chain: a.Chain, Decision: d, Digest: a.Digest}
	if !a.Expires.IsZero() {
		v.Expires = &a.Expires
	}
	if a.Broken != nil {
		v.Problem = a.Broken.Error()
	}
	return v
}

func runApprovals(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 0, 1); err != nil {
		return err
	}
	o, err := e.Office()
	if err != nil {
		return err
	}
	if len(args) == 1 {
		a, d, err := approval.Get(o.FS, args[0])
		if err != nil {
			return err
		}
		var told *reach.Status
		if d == nil {
			if s, ok := e.toldOf(o, []approval.Approval{*a})[a.ID]; ok {
				told = &s
			}
		}
		e.showApproval(a, d, told)
		return nil
	}
	open, err := approval.Open(o.FS)
	if err != nil {
		return err
	}
	views, told := e.ViewApprovals(o, open)
	switch {
	case e.JSON:
		for _, v := range views {
			e.Out.Object(v)
		}
	case len(open) == 0:
		e.Out.Say("nothing waits for a person")
	default:
		e.ApprovalTable(open)
		e.sayUntold(open, told)
		e.Out.Say("next: post approvals %s shows all of it, and how to answer", open[0].ID)
	}
	return nil
}

// ViewApprovals are open approvals as --json prints them, and what is known of
// how the person was told of each, by id.
func (e *Env) ViewApprovals(o *office.Office, open []approval.Approval) ([]ApprovalView, map[string]reach.Status) {
	told, views := e.toldOf(o, open), []ApprovalView{}
	for i := range open {
		v := viewApproval(&open[i], nil)
		if s, ok := told[open[i].ID]; ok {
			v.Notified = &s
		}
		views = append(views, v)
	}
	return views, told
}

// toldOf says of open approvals whether the person was told. What cannot be read
// is warned of.
func (e *Env) toldOf(o *office.Office, open []approval.Approval) map[string]reach.Status {
	told, err := e.dispatcher(o).Reacher().Statuses(open)
	if err != nil {
		e.Warn("%v", err)
	}
	return told
}

// sayUntold is loud about approvals of which the person could not be told.
func (e *Env) sayUntold(open []approval.Approval, told map[string]reach.Status) {
	for i := range open {
		if s := told[open[i].ID]; s.State == reach.Failed || s.State == reach.InDoubt {
			e.Warn("%s: %s; see post person test", open[i].ID, s)
		}
	}
}

// ApprovalTable prints what waits for a person.
func (e *Env) ApprovalTable(open []approval.Approval) {
	var rows [][]string
	for i := range open {
		rows = append(rows, approvalRow(&open[i], e.Now()))
	}
	e.Out.Table([]string{"ID", "KIND", "FROM", "AGE", "EXPIRES", "SUBJECT"}, rows)
}

func approvalRow(a *approval.Approval, now time.Time) []string {
	if a.Broken != nil {
		return []string{a.ID, "broken", "-", "-", "-", a.Broken.Error()}
	}
	expires := "-"
	if !a.Expires.IsZero() {
		expires = "in " + ago(a.Expires.Sub(now))
		if a.ExpiredAt(now) {
			expires = "expired"
		}
	}
	return []string{a.ID, string(a.Kind), dash(a.Asker), ago(now.Sub(a.Created)), expires, cutTo(a.Subject, subjectWidth)}
}

// showApproval shows all of one approval. What an agent wrote is shown as its
// words, also to a person.
func (e *Env) showApproval(a *approval.Approval, d *approval.Decision, told *reach.Status) {
	if e.JSON {
		v := viewApproval(a, d)
		v.Notified = told
		e.Out.Object(v)
		return
	}
	out := e.Out
	row := func(name, value string) {
		if value != "" {
			out.Printf("%-8s %s\n", name, Line(value))
		}
	}
	row("id", a.ID)
	row("kind", string(a.Kind))
	row("from", a.Asker)
	row("to", a.AddressedTo)
	row("message", string(a.Message))
	row("digest", string(a.Digest))
	row("asked", when(a.Created))
	if !a.Expires.IsZero() {
		row("expires", when(a.Expires))
	}
	if told != nil && told.State != reach.Nothing {
		row("told", told.String())
	}
	row("why", a.Why)
	row("options", strings.Join(a.Choices(), ", "))
	for _, s := range a.Chain {
		row("chain", when(s.At)+"  "+s.From+" → "+s.To+"  "+string(s.Act)+"  "+cutTo(s.Subject, subjectWidth)+"  "+short(s.ID))
	}
	if e.StdoutTTY {
		out.Printf("subject  %s\n\n%s\n", out.Bold(Line(a.Subject)), strings.TrimRight(Text(a.Body), "\n"))
	} else {
		e.fence(a.Asker, "Subject: "+Line(a.Subject)+"\n\n"+a.Body)
	}
	switch {
	case d != nil:
		out.Printf("%s\n", d.Says())
	case a.Kind == "notice":
		out.Say("next: post answer %s closes it", a.ID)
	case len(a.Choices()) > 0:
		out.Say("next: post answer %s --choose OPTION | -m TEXT | --reject", a.ID)
	default:
		out.Say("next: post answer %s -m TEXT | --reject", a.ID)
	}
}
