package cli

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
)

func setupCommand() Command {
	return Command{
		Name: "setup", Summary: "start here: office, runtimes, the next line to type",
		Long: `Finds the office, or makes your default one, looks which coding CLIs are
installed, and prints the next line to type. Safe to run at any time.`,
		Setup: plain(runSetup),
	}
}

type setupReport struct {
	Office   string   `json:"office"`
	Why      string   `json:"why"`
	Made     bool     `json:"made"`
	Runtimes []string `json:"runtimes"`
	Agent    string   `json:"agent,omitempty"`
	Next     string   `json:"next"`
}

func runSetup(_ context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 0, 0); err != nil {
		return err
	}
	r := setupReport{Runtimes: e.installed()}
	o, err := e.officeOrNew(&r)
	if err != nil {
		return err
	}
	r.Office = o.Dir
	me, err := e.Me(o)
	switch mail.KindOf(err) {
	case "":
		r.Agent, r.Next = me.Name(), "post inbox"
	case mail.KindAmbiguous:
		r.Next = "post agents"
	case mail.KindIdentity:
		r.Next = e.joinLine(r.Runtimes)
	default:
		return err
	}
	if e.JSON {
		e.Out.Object(r)
		return nil
	}
	made := ""
	if r.Made {
		made = "made "
	}
	e.Out.Printf("office    %s%s (%s)\n", made, Line(r.Office), Line(r.Why))
	e.Out.Printf("runtimes  %s\n", dash(strings.Join(r.Runtimes, ", ")))
	e.Out.Printf("agent     %s\n", dash(r.Agent))
	e.Out.Say("next:\n  %s", r.Next)
	return nil
}

// officeOrNew finds the office; a person who has none gets the default one.
func (e *Env) officeOrNew(r *setupReport) (o *office.Office, err error) {
	dir, why, err := e.FindOffice()
	if err == nil {
		r.Why = why
		return office.Open(dir, e.System)
	}
	if mail.KindOf(err) != mail.KindNotFound {
		return nil, err
	}
	if err := e.RequirePerson(config.PersonCheckFull); err != nil {
		return nil, err
	}
	if dir, _, err = e.newOfficeDir(nil); err != nil {
		return nil, err
	}
	if o, r.Made, err = office.Create(dir, e.System, office.CreateOptions{}); err != nil {
		return nil, err
	}
	r.Why = "your default office"
	e.warnFilesystem(o.Dir)
	return o, e.User().SetDefaultOffice(o.Dir)
}

// installed lists the runtimes whose program is on PATH.
func (e *Env) installed() []string {
	found := []string{}
	for _, r := range identity.Runtimes() {
		if e.onPath(executable(programOf(r))) != "" {
			found = append(found, r)
		}
	}
	return found
}

// joinLine is the join to type here: named after the directory, as the runtime
// of this session or the only one installed.
func (e *Env) joinLine(installed []string) string {
	line := "post join " + nameFrom(filepath.Base(identity.Absolute(e.Dir, ".")))
	rt := identity.Runtime(e.Getenv, e.Procs)
	if rt == "" && len(installed) == 1 {
		rt = installed[0]
	}
	if rt != "" {
		line += " --runtime " + rt
	}
	return line
}

// nameFrom makes a valid agent name of a directory's name.
func nameFrom(base string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(base) {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0:
			b.WriteByte('-')
		}
	}
	name := strings.Trim(b.String(), "-.")
	if name, err := mail.ParseName(name[:min(len(name), 32)]); err == nil {
		return name
	}
	return "coder"
}
