package cli

import (
	"context"
	"flag"
	"strings"

	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/office"
)

func officeCommand() Command {
	return Command{
		Name: "office", Summary: "move an office, or make a copy an office of its own",
		Long: `An office knows its machine and its directory. A copy of it refuses to be
written: two directories that both deliver the same mail would deliver it twice.`,
		Subs: []Command{officeMoveCommand(), {
			Name: "fork", Summary: "make this copy an office of its own", Person: true,
			Long: "The copy gets its own office id. Agents whose mailbox lies outside the office\n" +
				"stay with the original and get a new, empty mailbox in the copy.",
			Examples: []string{"cp -a OFFICE COPY && post office fork --office COPY"},
			Setup:    plain(runOfficeFork),
		}},
	}
}

func officeMoveCommand() Command {
	return Command{
		Name: "move", Summary: "move the office to another directory", Usage: "NEWDIR | --here", Person: true,
		Long: `Renames the office's directory and leaves a note in the old place, so that
everything that still writes there fails and names the new one. To another file
system, move the directory by hand and then run "post office move --here": it
makes the office at home where it stands now.`,
		Examples: []string{"post office move ~/mail", "post office move --here --office /mnt/new/mail"},
		Setup: func(fs *flag.FlagSet) Run {
			here := fs.Bool("here", false, "the directory was moved already; make it at home")
			return func(ctx context.Context, e *Env, args []string) error {
				if *here {
					return runArrive(ctx, e, args)
				}
				if err := needArgs(e, args, 1, 1); err != nil {
					return err
				}
				return runOfficeMove(ctx, e, identity.Absolute(e.Dir, args[0]))
			}
		},
	}
}

func runOfficeMove(ctx context.Context, e *Env, to string) error {
	o, err := e.Office()
	if err != nil {
		return err
	}
	if o.Foreign() != "" {
		return o.CheckWritable() // a copy is no office to move
	}
	if err := e.WithLease(ctx, o, func() error { return o.Move(to) }); err != nil {
		return err
	}
	return e.moved(o.Dir, to)
}

func runArrive(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 0, 0); err != nil {
		return err
	}
	o, err := e.Office()
	if err != nil {
		return err
	}
	var from string
	err = e.WithLease(ctx, o, func() (err error) {
		from, err = o.Arrive()
		return err
	})
	if err != nil {
		return err
	}
	return e.moved(from, o.Dir)
}

// moved points what this user has bound to the new place, and tells.
func (e *Env) moved(from, to string) error {
	if from != "" {
		if err := e.User().Repoint(from, to); err != nil {
			e.Warn("moved, but %v", err)
		}
	}
	e.accept(to)
	if e.JSON {
		e.Out.Object(struct {
			From string `json:"from,omitempty"`
			To   string `json:"office"`
		}{from, to})
		return nil
	}
	e.Out.Printf("the office is in %s\n", Line(to))
	e.Out.Say("next: check it with\n  post doctor --office %s", Line(to))
	return nil
}

func runOfficeFork(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 0, 0); err != nil {
		return err
	}
	o, err := e.Office()
	if err != nil {
		return err
	}
	var fresh []string
	err = e.WithLease(ctx, o, func() (err error) {
		fresh, err = o.Fork()
		return err
	})
	if err != nil {
		return err
	}
	e.accept(o.Dir)
	return e.forked(o, fresh)
}

// accept lets the office be used where it is found.
func (e *Env) accept(dir string) {
	if err := e.User().Accept(dir); err != nil {
		e.Warn("%v; until then name the office with --office %s", err, dir)
	}
}

func (e *Env) forked(o *office.Office, fresh []string) error {
	if e.JSON {
		e.Out.Object(struct {
			Office   string   `json:"office"`
			OfficeID string   `json:"office_id"`
			Fresh    []string `json:"new_mailboxes"`
		}{o.Dir, o.Config.ID, append([]string{}, fresh...)})
		return nil
	}
	e.Out.Printf("%s is an office of its own: %s\n", Line(o.Dir), o.Config.ID)
	if len(fresh) > 0 {
		e.Out.Printf("these agents have a new, empty mailbox in it: %s\n", strings.Join(fresh, ", "))
	}
	return nil
}
