package postd

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/postroom/postroom/internal/audit"
	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
)

func auditCommand() cli.Command {
	return cli.Command{
		Name: "audit", Summary: "keep the office's history in git",
		Long: `With audit = "git" under [policy] in postroom.toml, "post serve" commits the
journal, the office's copies of all messages, transcripts, approvals, the
registry and postroom.toml to a repository of the office's own, OFFICE/audit.git:
at most every 30 seconds, beside the delivery of mail, never in its way. Without
serve, "post audit now" does it.

Each commit names the journal's head. A chain proves nothing against somebody
who rewrites all of it, so keep commits elsewhere: push the repository, or note
what "post audit status" prints.`,
		Subs: []cli.Command{auditNowCommand(), {
			Name: "status", Summary: "show the last commit, what is behind, and what is wrong",
			Long:  "Exits with 1 if something is wrong: a failed commit, a lock that stands in the\nway, no git.",
			Setup: cli.Plain(runAuditStatus),
		}},
	}
}

func auditNowCommand() cli.Command {
	return cli.Command{
		Name: "now", Summary: "commit what changed since the last commit", Usage: "[--full]",
		Examples: []string{"post audit now", "post audit now --full     # compare the content of every file"},
		Setup: func(fs *flag.FlagSet) cli.Run {
			full := fs.Bool("full", false, "compare every file's content with the last commit")
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if err := e.NeedArgs(args, 0, 0); err != nil {
					return err
				}
				return runAuditNow(ctx, e, audit.Options{Full: *full})
			}
		},
	}
}

func newAudit(e *cli.Env, o *office.Office) *audit.Audit {
	return &audit.Audit{FS: o.FS, Dir: o.Dir, OfficeID: o.Config.ID, Version: e.System.Version, Now: e.System.Now,
		Boot: e.System.Boot, Path: e.Getenv("PATH"), Patience: e.Patience}
}

// audited opens the office and its audit, which must be wanted.
func audited(e *cli.Env) (*office.Office, *audit.Audit, error) {
	o, err := e.Office()
	if err != nil {
		return nil, nil, err
	}
	if o.Config.Policy.Audit != "git" {
		return nil, nil, e.Fail(mail.KindRule, o.Dir, errors.New("this office keeps no audit"),
			`set audit = "git" under [policy] in its postroom.toml`)
	}
	return o, newAudit(e, o), nil
}

func runAuditNow(ctx context.Context, e *cli.Env, opt audit.Options) error {
	o, a, err := audited(e)
	if err != nil {
		return err
	}
	if err := o.CheckWritable(); err != nil {
		return err
	}
	c, made, err := a.Commit(ctx, opt)
	if err != nil {
		return err
	}
	switch {
	case e.JSON:
		e.Out.Object(struct {
			Made   bool          `json:"made"`
			Commit *audit.Commit `json:"commit,omitempty"`
		}{made, onlyIf(made, &c)})
	case made:
		e.Out.Printf("committed %s: %d changed, %d removed\n", c.ID, c.Changed, c.Removed)
		e.Out.Say("journal head: %d %s", c.Head.N, c.Head.Hash)
	default:
		e.Out.Printf("nothing changed since the last commit\n")
	}
	if c.Skipped > 0 {
		e.Warn("%d names that no office gives were left out", c.Skipped)
	}
	return nil
}

func onlyIf(ok bool, c *audit.Commit) *audit.Commit {
	if !ok {
		return nil
	}
	return c
}

// auditReport is what `post audit status` prints.
type auditReport struct {
	audit.Status
	V       int      `json:"v,omitempty"` // every object has one already; that of the state is another's
	OK      bool     `json:"ok"`
	Wrong   []string `json:"wrong"`
	Remotes []string `json:"remotes"`
}

func runAuditStatus(ctx context.Context, e *cli.Env, args []string) error {
	if err := e.NeedArgs(args, 0, 0); err != nil {
		return err
	}
	_, a, err := audited(e)
	if err != nil {
		return err
	}
	s, err := a.Status()
	if err != nil {
		return err
	}
	r := auditReport{Status: s, Wrong: append([]string{}, s.Wrong()...), Remotes: append([]string{}, a.Remotes(ctx)...)}
	r.OK = len(r.Wrong) == 0
	if e.JSON {
		e.Out.Object(r)
	} else {
		r.print(e.Out)
	}
	if !r.OK {
		return cli.Said(mail.ExitStore)
	}
	return nil
}

func (r auditReport) print(out *cli.Output) {
	row := func(name, format string, args ...any) {
		out.Printf("%-9s %s\n", name, cli.Line(fmt.Sprintf(format, args...)))
	}
	row("where", "%s", r.GitDir)
	if c := r.Last; c != nil {
		row("commit", "%s, %s", c.ID, c.At.UTC().Format(time.RFC3339))
		row("proves", "journal head %d %s", c.Head.N, c.Head.Hash)
	} else {
		row("commit", "none yet")
	}
	row("journal", "head %d %s", r.Head.N, r.Head.Hash)
	if r.Behind > 0 {
		row("behind", "%d records, for %v", r.Behind, time.Duration(r.Lag)*time.Second)
	}
	if g := r.Growth; g != nil {
		row("size", "%d KiB packed, %d KiB in %d loose objects", g.PackKB, g.LooseKB, g.Loose)
	}
	for _, w := range r.Wrong {
		out.Printf("%s\n", out.Red("wrong     "+cli.Line(w)))
	}
	if len(r.Remotes) > 0 {
		out.Say("keep it elsewhere: git --git-dir=%s push %s %s", cli.Line(r.GitDir), cli.Line(r.Remotes[0]), audit.Branch)
		return
	}
	out.Say("The journal is proved only by a head that is kept elsewhere: note the lines\n\"commit\" and \"proves\", or push the repository:\n  git --git-dir='%s' remote add keep URL\n  git --git-dir='%s' push keep %s",
		cli.Line(r.GitDir), cli.Line(r.GitDir), audit.Branch)
}
