package cli

import (
	"path/filepath"

	"github.com/postroom/postroom/internal/office"
)

type joinReport struct {
	Agent     string   `json:"agent"`
	AID       string   `json:"aid"`
	New       bool     `json:"new"`
	Office    string   `json:"office"`
	Mailbox   string   `json:"mailbox"`
	Workspace string   `json:"workspace"`
	Runtime   string   `json:"runtime,omitempty"`
	Notify    []string `json:"notify"`
	Next      string   `json:"next"`
}

func (j *joining) report(e *Env, o *office.Office) {
	r := joinReport{j.entry.Name, j.entry.AID, j.made, o.Dir, filepath.Dir(j.entry.InboxPath),
		j.entry.Workspace, j.entry.Runtime, j.entry.Notify, "post primer"}
	if j.session {
		r.Next = "post inbox"
	}
	if e.JSON {
		e.Out.Object(r)
		return
	}
	if j.made {
		e.Out.Printf("joined as %s\n", r.Agent)
	} else {
		e.Out.Printf("%s is here already\n", r.Agent)
	}
	e.Out.Say("office    %s", Line(r.Office))
	e.Out.Say("mailbox   %s", Line(r.Mailbox))
	e.Out.Say("workspace %s", Line(r.Workspace))
	if j.session {
		e.Out.Say("next: %s", r.Next)
		return
	}
	e.Out.Say("next: let the agent run, in its workspace\n  %s", r.Next)
}
