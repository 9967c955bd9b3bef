package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/install"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
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
	Launch    []string `json:"launch,omitempty"`
	Beside    []string `json:"beside,omitempty"` // agents of the same workspace: commands there must say who they are
	Next      string   `json:"next"`
}

func (j *joining) report(e *Env, o *office.Office) {
	r := joinReport{j.entry.Name, j.entry.AID, j.made, o.Dir, filepath.Dir(j.entry.InboxPath),
		j.entry.Workspace, j.entry.Runtime, j.entry.Notify, j.entry.Launch, j.beside, "post primer"}
	switch {
	case j.session:
		r.Next = "post inbox"
	case slices.Contains(install.Runtimes(), j.entry.Runtime):
		r.Next = "post setup"
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
	if len(j.beside) > 0 {
		e.Out.Say("note: %s works here too: where no session is bound, say --as %s or --as %s", strings.Join(j.beside, ", "), r.Agent, j.beside[0])
	}
	if j.session {
		e.Out.Say("next: %s", r.Next)
		return
	}
	if len(r.Launch) > 0 && j.made {
		e.Out.Say("post up %s would start: %s", r.Agent, Line(strings.Join(r.Launch, " ")))
	}
	if r.Next == "post setup" {
		e.Out.Say("next: start %s there; whether all is ready says, there,\n  %s", j.entry.Runtime, r.Next)
		return
	}
	e.Out.Say("next: let the agent run, in its workspace\n  %s", r.Next)
}

// beside lists the agents that share the workspace of one and may be taken for
// it there: commands do not guess between them.
func beside(all []registry.Entry, one registry.Entry) []string {
	var names []string
	for _, r := range all {
		told := r.Runtime != "" && one.Runtime != "" && r.Runtime != one.Runtime
		if r.AID != one.AID && !r.Archived && r.Workspace == one.Workspace && !told {
			names = append(names, r.Name)
		}
	}
	return names
}
