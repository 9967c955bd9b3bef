package cli

import (
	"context"
	"flag"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/doctor"
	"github.com/postroom/postroom/internal/hook"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/roster"
	"github.com/postroom/postroom/internal/standing"
)

func doctorCommand() Command {
	return Command{
		Name: "doctor", Summary: "find what is wrong with the office, and what mends it",
		Usage: "[--fix [--dry-run]]",
		Long: `Looks at permissions, file systems, the lease, clocks, mailboxes, waiting and
failed mail, debts, approvals and tools, and names for each finding the command
that mends it. It changes nothing, and exits 1 if it finds an error or warning.

--fix mends what is safe, while nobody else routes, and says each repair. Mail
that vanished from a mailbox is delivered again from the office's own copy, if
nothing shows that it was handled. --fix is for persons.`,
		Examples: []string{"post doctor", "post doctor --fix --dry-run", "post doctor --fix"},
		Setup: func(fs *flag.FlagSet) Run {
			fix := fs.Bool("fix", false, "mend what is safe to mend")
			dry := fs.Bool("dry-run", false, "with --fix: only say what would be mended")
			return func(ctx context.Context, e *Env, args []string) error {
				if err := needArgs(e, args, 0, 0); err != nil {
					return err
				}
				if *dry && !*fix {
					return usageError("doctor", "--dry-run goes with --fix", "usage: post doctor --fix --dry-run")
				}
				return runDoctor(ctx, e, *fix, *dry)
			}
		},
	}
}

func runDoctor(ctx context.Context, e *Env, fix, dry bool) error {
	dir, _, err := e.FindOffice()
	if err != nil {
		return err
	}
	if fix {
		if err := e.RequirePerson(e.personCheck()); err != nil {
			return err
		}
	}
	d := e.Doctor(dir)
	switch {
	case fix && !dry:
		return e.mend(ctx, d)
	case fix:
		return e.wouldMend(d.Examine(ctx))
	}
	return e.found(d.Examine(ctx))
}

// doctorHost is the machine as it can be seen from here.
func (e *Env) doctorHost(dir string) doctor.Host {
	h := doctor.System(e.Getenv("PATH"), networkFS)
	h.HookFaults = func(since time.Time) (string, []string) { return hook.Faults(e.User(), since) }
	h.Launches = func(program, workspace string) error { return roster.FindProgram(program, workspace, e.Environ) }
	h.Installed = e.runtimeFaults
	o, err := office.Open(dir, e.System)
	if e.Procs != nil && err == nil && !standing.Sandboxed(o) {
		h.Started = func(pid int) (string, bool) { p, ok := e.Procs.Process(pid); return p.Start, ok }
		h.Worker = e.workerFacts(o.Config.ID)
	}
	return h
}

// workerFacts reads the roster for the doctor.
func (e *Env) workerFacts(officeID string) func(aid string) doctor.WorkerFacts {
	store, err := roster.Look(e.RosterDir(officeID), e.Live, e.System.Now)
	if err != nil {
		return func(string) doctor.WorkerFacts { return doctor.WorkerFacts{} } // nothing was ever started
	}
	return func(aid string) (w doctor.WorkerFacts) {
		_, w.Kept = store.KeptBy()
		r, ok, err := store.Load(aid)
		w.Stopped = err == nil && ok && r.State == roster.Stopped
		m := store.Remembered(aid)
		w.Crashes, w.Why = m.Crashes, m.Why
		return w
	}
}

// found prints findings and ends with 1 if one of them is more than a note.
func (e *Env) found(list []doctor.Finding) error {
	wrong, mends := 0, 0
	for _, f := range list {
		if f.Severity != doctor.Note {
			wrong++
		}
		if f.Mends {
			mends++
		}
		e.finding(f)
	}
	if !e.JSON {
		switch {
		case wrong == 0:
			e.Out.Printf("nothing is wrong\n")
		case mends > 0:
			e.Out.Say("%d of these are mended by: %s", mends, doctor.FixCommand)
		}
	}
	if wrong > 0 {
		return Said(mail.KindFound.Exit())
	}
	return nil
}

func (e *Env) finding(f doctor.Finding) {
	if e.JSON {
		e.Out.Object(f)
		return
	}
	label := string(f.Severity) + ":"
	switch f.Severity {
	case doctor.Error:
		label = e.Out.Red(label)
	case doctor.Note:
		label = e.Out.Dim(label)
	}
	where := ""
	if f.Where != "" && !strings.Contains(f.What, f.Where) {
		where = e.Out.Dim(" (" + Line(f.Where) + ")")
	}
	e.Out.Printf("%s %s%s\n", label, Line(f.What), where)
	if f.Why != "" {
		e.Out.Say("  why it matters: %s", Line(f.Why))
	}
	if f.Fix != "" {
		e.Out.Printf("  what mends it: %s\n", Line(f.Fix))
	}
}

// mend makes the repairs and prints them, then what is left.
func (e *Env) mend(ctx context.Context, d *doctor.Doctor) error {
	repairs, left, err := d.Mend(ctx, func(fn func() error) error {
		o, err := office.Open(d.Dir, e.System)
		if err != nil {
			return err
		}
		return e.WithLease(ctx, o, fn)
	})
	failed := false
	for _, r := range repairs {
		failed = failed || r.Err != nil
		e.repair(r)
	}
	if err != nil {
		return err
	}
	if len(repairs) == 0 && !e.JSON {
		e.Out.Printf("there was nothing to mend by itself\n")
	}
	if err := e.found(left); err != nil || !failed {
		return err
	}
	return Said(mail.KindFound.Exit())
}

func (e *Env) repair(r doctor.Repair) {
	if e.JSON {
		out := struct {
			Repair string   `json:"repair"`
			Where  string   `json:"where,omitempty"`
			Done   []string `json:"done"`
			Error  string   `json:"error,omitempty"`
		}{Repair: r.Finding.Check, Where: r.Finding.Where, Done: append([]string{}, r.Done...)}
		if r.Err != nil {
			out.Error = r.Err.Error()
		}
		e.Out.Object(out)
		return
	}
	for _, line := range r.Done {
		e.Out.Printf("mended: %s\n", Line(line))
	}
	if r.Err != nil {
		e.Out.Printf("%s %s: %s\n", e.Out.Red("not mended:"), Line(r.Finding.What), Line(r.Err.Error()))
	}
}

// wouldMend prints what --fix would do.
func (e *Env) wouldMend(list []doctor.Finding) error {
	n := 0
	for _, f := range list {
		if !f.Mends {
			continue
		}
		n++
		if e.JSON {
			e.Out.Object(struct {
				WouldMend doctor.Finding `json:"would_mend"`
			}{f})
			continue
		}
		e.Out.Printf("would mend: %s\n", Line(f.What))
	}
	if n == 0 {
		e.Out.Say("there is nothing to mend by itself")
		return nil
	}
	return Said(mail.KindFound.Exit())
}
