package cli

import (
	"context"
	"flag"
	"strings"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/router"
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
	d := approval.Decision{Choice: x.choice, By: mail.NameHuman, At: e.Now().UTC()}
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
	a, _, err := approval.Get(o.FS, args[0])
	if err != nil {
		return err
	}
	err = e.WithLease(ctx, o, func() error {
		if err := o.CheckWritable(); err != nil {
			return err
		}
		return approval.Decide(o.FS, a.ID, d)
	})
	if err != nil && mail.KindOf(err) != mail.KindConflict {
		return err
	}
	told, perr := e.carryOut(ctx, o, a)
	if err != nil {
		return err // decided before, or too late: says who, what and when
	}
	return e.sayDecided(o, a.ID, told, perr)
}

// carryOut runs a pass, so that the answer reaches who asked. told reports
// whether the answer is in the asker's inbox.
func (e *Env) carryOut(ctx context.Context, o *office.Office, a *approval.Approval) (told bool, err error) {
	disp := e.dispatcher(o)
	var rep router.Report
	err = e.untilFree(ctx, func() (err error) {
		rep, _, err = disp.Pass(ctx, router.Options{Own: office.Human, All: true})
		return err
	})
	for _, res := range rep.Results {
		for _, f := range res.Fates {
			told = told || res.ID == a.AnswerID() && f.State == router.Delivered
		}
	}
	return told, err
}

// untilFree tries something that needs the lease until it gets it, as long as
// changes of the office wait.
func (e *Env) untilFree(ctx context.Context, try func() error) error {
	for waited := leasePoll; ; waited += leasePoll {
		err := try()
		if mail.KindOf(err) != mail.KindBusy || waited >= e.Patience {
			return err
		}
		if err := e.Sleep(ctx, leasePoll); err != nil {
			return err
		}
	}
}

func (e *Env) sayDecided(o *office.Office, id string, told bool, perr error) error {
	a, d, err := approval.Get(o.FS, id)
	if err != nil {
		return err
	}
	if e.JSON {
		v := struct {
			approvalView
			Told bool `json:"told"`
		}{viewApproval(a, d), told}
		e.Out.Object(v)
		return nil
	}
	e.Out.Printf("%s: %s\n", a.ID, Line(decisionText(d)))
	switch {
	case told:
		e.Out.Say("%s has the answer", Line(a.Asker))
	case a.Kind == policy.Notice || a.AskerAID == "":
	case perr != nil:
		e.Warn("it is decided; %s is told by the next pass: %v", a.Asker, perr)
	default:
		e.Out.Say("%s is told by the next pass", Line(a.Asker))
	}
	return nil
}
