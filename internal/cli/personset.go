package cli

import (
	"context"
	"errors"
	"flag"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/reach"
	"github.com/postroom/postroom/internal/spool"
)

func personCommand() Command {
	return Command{
		Name: "person", Summary: "say how you are told that something waits for you",
		Long: `What agents ask a person waits in "post approvals". Whoever routes (post serve,
or any post command) tells the person of each once, and once more if it still
waits. The settings are [person] in postroom.toml; docs/person.md has them all.`,
		Subs: []Command{{
			Name: "show", Summary: "show how you are told, and whether that works",
			Setup: plain(runPersonShow),
		}, personSetCommand(), {
			Name: "test", Summary: "have every way to tell you try it now", Person: true,
			Long:  "Says of each what came of it. Exits 3 if one could not tell you. Quiet hours do\nnot count.",
			Setup: plain(runPersonTest),
		}},
	}
}

func personSetCommand() Command {
	return Command{
		Name: "set", Summary: "change how you are told", Person: true,
		Usage: "[--notify KIND[:ARG]]… [--no-notify] [--quiet TEXT] [--remind-after DUR] [--show WHAT]",
		Long: `--notify is desktop, bell:TTY, webhook:URL (webhook:@FILE, where the URL is
in a file of yours) or exec:PROGRAM; a further argument is a further
--notify :ARG, and a kind begins another way. A webhook's :template:NAME is
slack, discord, ntfy, generic or @FILE, its :header:NAME=@FILE a header.
Notices hold who asks and how many; --show subject or body adds what an agent
wrote.`,
		Examples: []string{
			`post person set --notify desktop --quiet "22:00-07:00 Europe/Berlin"`,
			"post person set --notify webhook:@/home/me/.slack --notify :template:slack",
			"post person set --no-notify",
		},
		Setup: func(fs *flag.FlagSet) Run {
			var x personSet
			fs.Var(&x.notify, "notify", "`KIND[:ARG]`: what tells you, in place of what did")
			fs.BoolVar(&x.none, "no-notify", false, "nothing tells you")
			fs.Var(&x.quiet, "quiet", "quiet hours: `TEXT` such as \"22:00-07:00 Europe/Berlin\"; \"\" for none")
			fs.Var(&x.remind, "remind-after", "the `DUR` from notice to reminder (default 1h), or off")
			fs.Var(&x.show, "show", "`WHAT` of a message a notice may hold: nothing, subject, body")
			return x.run
		},
	}
}

type personSet struct {
	notify              List
	none                bool
	quiet, remind, show optional
}

func (x *personSet) run(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 0, 0); err != nil {
		return err
	}
	switch given := x.quiet.given || x.remind.given || x.show.given; {
	case x.none && len(x.notify) > 0:
		return usageError(e.name, "--notify and --no-notify exclude each other", "give one of them")
	case !x.none && len(x.notify) == 0 && !given:
		return usageError(e.name, "nothing to change", "usage: post person set "+e.cmd.Usage)
	}
	ways, err := e.toldBy(x.notify)
	if err != nil {
		return err
	}
	o, err := e.Office()
	if err != nil {
		return err
	}
	err = e.WithLease(ctx, o, func() error { return x.write(e, o, ways) })
	if err != nil {
		return err
	}
	if o, err = office.Open(o.Dir, e.System); err != nil {
		return err
	}
	if err := e.sayPerson(o); err != nil || len(o.Config.Person.Notify) == 0 {
		return err
	}
	e.Out.Say("next: post person test")
	return nil
}

// toldBy turns flags into adapters, looked at by those that this program carries.
func (e *Env) toldBy(flags []string) ([][]string, error) {
	var out [][]string
	for len(flags) > 0 {
		n := 1 + slices.IndexFunc(flags[1:], func(f string) bool { return !strings.HasPrefix(f, ":") })
		if n == 0 {
			n = len(flags)
		}
		words, err := parseNotify(flags[:n])
		if err != nil {
			return nil, err
		}
		if !notify.ForPeople(words[0]) {
			return nil, usageError(e.name, "--notify "+Line(words[0])+" tells no person", "say desktop, bell:TTY, webhook:URL or exec:PROGRAM")
		}
		if words, err = e.adapters().Check(words); err != nil {
			if m := (*mail.Error)(nil); errors.As(err, &m) {
				m.Op = e.name
			}
			return nil, err
		}
		out, flags = append(out, words), flags[n:]
	}
	return out, nil
}

// write changes the table and leaves the rest of the file as it is.
func (x *personSet) write(e *Env, o *office.Office, ways [][]string) error {
	if err := o.CheckWritable(); err != nil {
		return err
	}
	data, _, err := spool.ReadFile(o.FS, config.OfficeFile, 64<<10)
	if err != nil {
		return storeFault(o, err)
	}
	now, err := config.DecodeOffice(data)
	if err != nil {
		return err
	}
	p := now.Person
	if len(ways) > 0 || x.none {
		p.Notify = ways
	}
	for _, f := range []struct {
		from *optional
		to   *string
	}{{&x.quiet, &p.Quiet}, {&x.remind, &p.RemindAfter}, {&x.show, &p.Show}} {
		if f.from.given {
			*f.to = f.from.text
		}
	}
	if err := p.Check(); err != nil {
		return usageError(e.name, err.Error(), seeHelp(e.name))
	}
	if _, err := reach.ParseQuiet(p.Quiet); err != nil {
		return err
	}
	if data, err = config.SetPerson(data, p); err != nil {
		return err
	}
	if err = spool.Replace(o.FS, ".", config.OfficeFile, data); err == nil {
		err = o.FS.SyncDir(".")
	}
	return storeFault(o, err)
}

func storeFault(o *office.Office, err error) error {
	if err == nil {
		return nil
	}
	return &mail.Error{Op: "set person", Kind: mail.KindStore, Addr: o.FS.Path(config.OfficeFile), Err: err, Hint: `run "post doctor"`}
}

func runPersonShow(_ context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 0, 0); err != nil {
		return err
	}
	o, err := e.Office()
	if err != nil {
		return err
	}
	return e.sayPerson(o)
}

// personView is how the person is told (docs/json.md).
type personView struct {
	Notify      [][]string `json:"notify"`
	Quiet       string     `json:"quiet,omitempty"`
	QuietUntil  time.Time  `json:"quiet_until,omitzero"` // it is quiet now
	RemindAfter string     `json:"remind_after"`
	Show        string     `json:"show"`
	Problems    []string   `json:"problems,omitempty"`
}

func (e *Env) sayPerson(o *office.Office) error {
	p := o.Config.Person
	v := personView{Notify: shownWays(p.Notify), Quiet: p.Quiet, RemindAfter: p.RemindAfter, Show: p.Show}
	if v.RemindAfter == "" {
		v.RemindAfter = "1h"
	}
	if v.Show == "" {
		v.Show = config.ShowNothing
	}
	quiet, _ := reach.ParseQuiet(p.Quiet)
	v.QuietUntil, _ = quiet.Until(e.Now())
	for _, err := range e.dispatcher(o).Reacher().Problems() {
		v.Problems = append(v.Problems, err.Error())
	}
	if e.JSON {
		e.Out.Object(v)
		return nil
	}
	row := func(name, text string) { e.Out.Printf("%-13s %s\n", name, Line(text)) }
	if len(v.Notify) == 0 {
		row("told by", "nothing; set it: post person set --notify desktop")
	}
	for _, n := range v.Notify {
		row("told by", strings.Join(n, " "))
	}
	if p.Quiet != "" {
		text := p.Quiet
		if !v.QuietUntil.IsZero() {
			text += " (now, until " + when(v.QuietUntil) + ")"
		}
		row("quiet", text)
	}
	row("remind after", v.RemindAfter)
	row("notices show", v.Show)
	for _, t := range v.Problems {
		e.Warn("%s", t)
	}
	return nil
}

// shownWays shows no URL: the whole of it is often a secret.
func shownWays(ways [][]string) [][]string {
	out := [][]string{}
	for _, w := range ways {
		shown := slices.Clone(w)
		for i, word := range shown {
			if scheme, rest, ok := strings.Cut(word, "://"); ok {
				host, _, _ := strings.Cut(rest, "/")
				shown[i] = scheme + "://" + host + "/…"
			}
		}
		out = append(out, shown)
	}
	return out
}

func runPersonTest(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 0, 0); err != nil {
		return err
	}
	o, err := e.Office()
	if err != nil {
		return err
	}
	if err := o.CheckWritable(); err != nil {
		return err
	}
	said, err := e.dispatcher(o).Reacher().Test(ctx)
	if err != nil {
		return err
	}
	code := mail.ExitOK
	for _, s := range said {
		if s.Outcome.State != notify.Notified {
			code = mail.ExitNotSurfaced
		}
		e.saySaid(s)
	}
	return Said(code)
}

func (e *Env) saySaid(s reach.Said) {
	evidence := strings.TrimPrefix(s.Outcome.Evidence, s.Notify[0]+": ")
	if e.JSON {
		e.Out.Object(struct {
			Kind     string `json:"kind"`
			State    string `json:"state"`
			Evidence string `json:"evidence"`
		}{s.Notify[0], string(s.Outcome.State), evidence})
		return
	}
	if s.Outcome.State == notify.Notified {
		e.Out.Printf("%s took a test notice: %s\n", s.Notify[0], Line(evidence))
		return
	}
	e.Out.Printf("%s could not tell you: %s\n", s.Notify[0], Line(evidence))
}
