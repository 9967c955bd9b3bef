package cli

import (
	"context"
	"errors"
	"flag"
	"path/filepath"
	"slices"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
)

func initCommand() Command {
	return Command{
		Name: "init", Summary: "make an office", Usage: "[DIR] [--name NAME] [--person-check HOW]",
		Long: `Makes the directory that holds a team's mail. Without DIR it is your default
office, which commands use when nothing else says which one. An office that is
there already is reported and left as it is.

A person's command. --person-check says how commands that only a person may run
tell a person from an agent: by the environment and the parent processes
(env+parents), by the environment alone (env, for scripts that agents start) or
not at all (off, for CI). What is chosen is recorded in the office and shown by
"post where".`,
		Examples: []string{"post init", "post init .postroom        # an office that belongs to this directory"},
		Setup: func(fs *flag.FlagSet) Run {
			name := fs.String("name", "", "a `NAME` for people; it decides nothing")
			check := fs.String("person-check", config.PersonCheckFull, "`HOW` to tell a person: env+parents, env or off")
			return func(_ context.Context, e *Env, args []string) error {
				return runInit(e, args, office.CreateOptions{Name: *name, PersonCheck: *check})
			}
		},
	}
}

func runInit(e *Env, args []string, opt office.CreateOptions) error {
	if err := needArgs(e, args, 0, 1); err != nil {
		return err
	}
	if !slices.Contains([]string{config.PersonCheckFull, config.PersonCheckEnv, config.PersonCheckOff}, opt.PersonCheck) {
		return usageError(e.name, "--person-check cannot be "+quote(opt.PersonCheck), "say env+parents, env or off")
	}
	if opt.Name != "" {
		if _, err := mail.ParseName(opt.Name); err != nil {
			return err
		}
	}
	// A weaker check may be chosen by a script that has no terminal above it,
	// never by a session that knows itself to be an agent's.
	check := config.PersonCheckFull
	if opt.PersonCheck != config.PersonCheckFull {
		check = config.PersonCheckEnv
	}
	if err := e.RequirePerson(check); err != nil {
		return err
	}
	dir, isDefault, err := e.newOfficeDir(args)
	if err != nil {
		return err
	}
	o, made, err := office.Create(dir, e.System, opt)
	if err != nil {
		return err
	}
	if isDefault {
		if err := e.User().SetDefaultOffice(o.Dir); err != nil {
			return err
		}
	}
	e.accept(o.Dir)
	e.warnFilesystem(o.Dir)
	e.reportOffice(o, made, isDefault)
	return nil
}

// newOfficeDir is where `post init` makes the office.
func (e *Env) newOfficeDir(args []string) (dir string, isDefault bool, err error) {
	switch {
	case len(args) == 1 && e.Globals.Office != "":
		return "", false, usageError(e.name, "DIR and --office both say where", "give one of them")
	case len(args) == 1:
		return identity.Absolute(e.Dir, args[0]), false, nil
	case e.Globals.Office != "":
		return identity.Absolute(e.Dir, e.Globals.Office), false, nil
	}
	if d := e.User().DefaultOffice(); d != "" {
		return identity.Absolute(e.Dir, d), true, nil
	}
	home := e.User().Home
	if !filepath.IsAbs(home) {
		return "", false, &mail.Error{Op: "find your home directory", Kind: mail.KindStore,
			Err: errors.New("HOME is not set"), Hint: "set it, or name a directory: post init DIR"}
	}
	return identity.Absolute(e.Dir, home), true, nil
}

type initReport struct {
	Office      string `json:"office"`
	OfficeID    string `json:"office_id"`
	Name        string `json:"name,omitempty"`
	Made        bool   `json:"made"`
	Default     bool   `json:"default"`
	PersonCheck string `json:"person_check"`
	Next        string `json:"next"`
}

func (e *Env) reportOffice(o *office.Office, made, isDefault bool) {
	r := initReport{o.Dir, o.Config.ID, o.Config.Name, made, isDefault, o.Config.PersonCheck, "post join NAME"}
	if e.JSON {
		e.Out.Object(r)
		return
	}
	what := "an office"
	if isDefault {
		what = "your default office"
	}
	if made {
		what = "made " + what
	} else {
		what += " is there already"
	}
	e.Out.Printf("%s: %s\n", what, Line(o.Dir))
	if o.Config.PersonCheck != config.PersonCheckFull {
		e.Out.Say("persons are told from agents by: %s", o.Config.PersonCheck)
	}
	e.Out.Say("next: in the directory where an agent works, run\n  %s", r.Next)
}
