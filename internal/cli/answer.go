package cli

import (
	"context"
	"flag"
	"strings"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/dispatch"
)

func answerCommand() Command {
	return Command{
		Name: "answer", Summary: "decide what waits for a person", Usage: "ID [--choose OPTION] [--reject] [-m TEXT | -f FILE]", Person: true,
		Long: `The first decision stands; whoever asked gets it as a message from human. A
question takes an option or a text, a release "deliver" or "stop", and a notice
is closed by answering it with nothing.`,
		Examples: []string{"post answer ap-1f2e3d4c5b --choose yes", `post answer 4c5b --reject -m "Not before the release."`},
		Setup: func(fs *flag.FlagSet) Run {
			var x answer
			fs.StringVar(&x.choice, "choose", "", "the `OPTION`, or its beginning")
			fs.BoolVar(&x.reject, "reject", false, "say no")
			fs.Var(&x.text, "m", "the `TEXT` of the answer")
			fs.Var(&x.file, "f", "the `FILE` that holds the text; - is standard input")
			return x.run
		},
	}
}

type answer struct {
	choice     string
	reject     bool
	text, file optional
}

func (x *answer) run(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 1, 1); err != nil {
		return err
	}
	if x.reject && x.choice != "" {
		return usageError(e.name, "--choose and --reject exclude each other", "give one of them")
	}
	d := approval.Decision{Choice: x.choice}
	if x.reject {
		d.Verdict = approval.VerdictRejected
	}
	if x.text.given || x.file.given {
		text, err := (&compose{text: x.text, file: x.file}).body(e, false)
		if err != nil {
			return err
		}
		d.Text = strings.TrimSpace(text)
	}
	o, err := e.Office()
	if err != nil {
		return err
	}
	done, err := e.dispatcher(o).Decide(ctx, args[0], d, e.patience())
	if err != nil {
		return err // decided before, or too late: says who, what and when
	}
	return e.sayDecided(done)
}

func (e *Env) sayDecided(done dispatch.Decided) error {
	a, d := done.Approval, done.Decision
	if e.JSON {
		v := struct {
			approvalView
			Told bool `json:"told"`
		}{viewApproval(a, d), done.Told}
		e.Out.Object(v)
		return nil
	}
	e.Out.Printf("%s: %s\n", a.ID, d.Says())
	switch {
	case done.Told:
		e.Out.Say("%s has the answer", Line(a.Asker))
	case !done.Owing():
	case done.Pass != nil:
		e.Warn("it is decided; %s is told %s: %v", a.Asker, done.Tells(), done.Pass)
	default:
		e.Out.Say("%s is told %s", Line(a.Asker), done.Tells())
	}
	return nil
}
