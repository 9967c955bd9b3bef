package cli

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
)

func whereCommand() Command {
	return Command{
		Name: "where", Summary: "show which office and which agent this is, and why",
		Long: "Prints the office that commands here work in, the agent they act as, and for\n" +
			"both what decided it.",
		Setup: plain(runWhere),
	}
}

// place is what `post where` prints.
type place struct {
	Office      string     `json:"office"`
	OfficeID    string     `json:"office_id"`
	Why         string     `json:"why"`
	Format      int        `json:"format"`
	PersonCheck string     `json:"person_check"`
	Writable    bool       `json:"writable"`
	Problem     string     `json:"problem,omitempty"`
	Agent       string     `json:"agent"`
	AgentWhy    string     `json:"agent_why,omitempty"`
	Nobody      *nobodyWhy `json:"nobody,omitempty"`
	Mailbox     string     `json:"mailbox,omitempty"`
	Session     string     `json:"session,omitempty"`
	Version     string     `json:"version"`
}

type nobodyWhy struct {
	Kind    mail.Kind `json:"kind"`
	Message string    `json:"message"`
}

func runWhere(_ context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 0, 0); err != nil {
		return err
	}
	dir, why, err := e.FindOffice()
	if err != nil {
		return err
	}
	o, err := office.Open(dir, e.System)
	if err != nil {
		return err
	}
	p := place{Office: dir, OfficeID: o.Config.ID, Why: why, Format: o.Config.Format,
		PersonCheck: o.Config.PersonCheck, Writable: true, Session: e.SessionKey(), Version: e.System.Version}
	if err := o.CheckWritable(); err != nil {
		p.Writable, p.Problem = false, err.Error()
	}
	me, err := e.Me(o)
	if err != nil {
		p.Nobody = &nobodyWhy{mail.KindOf(err), strings.TrimPrefix(err.Error(), "find agent: ")}
	} else {
		p.Agent, p.AgentWhy, p.Mailbox = me.Name(), me.How, mailboxOf(o, me)
	}
	if e.JSON {
		e.Out.Object(p)
		return nil
	}
	p.print(e.Out)
	return nil
}

func (p place) print(out *Output) {
	row := func(name, value, why string) {
		if why != "" {
			value += out.Dim(" (" + Line(why) + ")")
		}
		out.Printf("%-8s %s\n", name, value)
	}
	row("office", Line(p.Office), p.Why)
	if p.Problem != "" {
		row("", out.Red("not writable: "+Line(p.Problem)), "")
	}
	if p.Nobody != nil {
		row("agent", "none", p.Nobody.Message)
	} else {
		row("agent", p.Agent, p.AgentWhy)
		row("mailbox", Line(p.Mailbox), "")
	}
	row("format", strconv.Itoa(p.Format), "")
	if p.PersonCheck != "env+parents" {
		row("persons", "checked by: "+p.PersonCheck, "weaker than the default; set at init")
	}
	row("version", p.Version, "")
}

func mailboxOf(o *office.Office, me identity.Me) string {
	if me.Human {
		return filepath.Join(o.Dir, office.AgentsDir, me.Name())
	}
	return filepath.Dir(me.Entry.InboxPath)
}
