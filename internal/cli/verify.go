package cli

import (
	"context"
	"encoding/hex"
	"flag"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/verify"
)

func verifyCommand() Command {
	return Command{
		Name: "verify", Summary: "prove that all that the office keeps agrees",
		Usage: "[--head N:HASH]… [--all]",
		Long: `Compares everything that the office keeps in several places with the journal,
and names the first thing that does not agree; --all lists all of it. It changes
nothing and may run while mail moves. It exits 1 if it finds something.

The journal vouches for itself only against a head that was kept elsewhere:
somebody who can write all of it can write it anew. Keep the head that is
printed at the end where they cannot write, and give it back with --head.`,
		Examples: []string{"post verify", "post verify --head 1204:9f86d081…", "post verify --all --json"},
		Setup: func(fs *flag.FlagSet) Run {
			var heads List
			fs.Var(&heads, "head", "a head that was kept elsewhere, as `N:HASH`")
			all := fs.Bool("all", false, "list everything that does not agree")
			return func(ctx context.Context, e *Env, args []string) error {
				if err := needArgs(e, args, 0, 0); err != nil {
					return err
				}
				kept, err := parseHeads(heads)
				if err != nil {
					return err
				}
				return runVerify(ctx, e, kept, *all)
			}
		},
	}
}

func parseHeads(list []string) (heads []journal.Head, err error) {
	for _, s := range list {
		number, hash, _ := strings.Cut(s, ":")
		n, err := strconv.ParseUint(number, 10, 64)
		raw, herr := hex.DecodeString(hash)
		if err != nil || herr != nil || n == 0 || len(raw) != 32 {
			return nil, usageError("verify", "--head "+quote(s)+" is no head", "copy one that post verify printed: N:HASH")
		}
		heads = append(heads, journal.Head{N: n, Hash: strings.ToLower(hash)})
	}
	return heads, nil
}

func runVerify(ctx context.Context, e *Env, heads []journal.Head, all bool) error {
	o, err := e.Office()
	if err != nil {
		return err
	}
	shown := 0
	show := func(f verify.Finding) {
		if shown++; !all && shown > 1 {
			return
		}
		switch {
		case !e.JSON:
			e.Out.Printf("%s\n", Line(f.String()))
		case all:
			e.Out.Object(struct {
				Finding verify.Finding `json:"finding"`
			}{f})
		}
	}
	progress := newProgress(e)
	defer debug.SetGCPercent(debug.SetGCPercent(50)) // what is held lives to the end: rather collect twice than hold twice
	rep, err := verify.Run(ctx, o, verify.Options{Heads: heads, Found: show, Progress: progress.show})
	progress.clear()
	if err != nil {
		return err
	}
	e.verified(rep, len(heads) > 0, all)
	if rep.First != nil {
		return Said(mail.KindFound.Exit())
	}
	return nil
}

// verified prints what was compared and the head.
func (e *Env) verified(rep verify.Report, kept, all bool) {
	if e.JSON {
		e.Out.Object(struct {
			OK bool `json:"ok"`
			verify.Report
		}{rep.First == nil, rep})
		return
	}
	if n := rep.Found(); n > 0 {
		var parts []string
		for _, c := range []verify.Check{verify.Chain, verify.Index, verify.Copy, verify.Mailbox, verify.Transcript, verify.Sent} {
			if rep.Counts[c] > 0 {
				parts = append(parts, fmt.Sprintf("%s %d", c, rep.Counts[c]))
			}
		}
		e.Out.Printf("%d in all do not agree: %s\n", n, strings.Join(parts, ", "))
		if !all && n > 1 {
			e.Out.Say("list them with: post verify --all")
		}
		e.Out.Say("what can be mended: post doctor")
	} else {
		e.Out.Printf("all agree: %d messages, %d deliveries, %d transcript sections, %d journal records\n", rep.Messages, rep.Deliveries, rep.Sections, rep.Head.N)
	}
	if rep.Explained > 0 {
		e.Out.Say("%d finished messages were removed by their owners", rep.Explained)
	}
	if rep.InFlight > 0 {
		e.Out.Say("%d parts are under way, or wait for the next routing pass", rep.InFlight)
	}
	if rep.Head.N == 0 {
		return
	}
	head := fmt.Sprintf("%d:%s", rep.Head.N, rep.Head.Hash)
	e.Out.Say("keep this elsewhere: %s", head)
	if !kept {
		e.Out.Say("then post verify --head, with that behind it, proves later what was there")
	}
}

// progress is one line on a terminal's standard error, after a second.
type progress struct {
	env   *Env
	tty   bool
	begun time.Time
	last  time.Time
}

func newProgress(e *Env) *progress {
	f, ok := e.Stderr.(interface{ Fd() uintptr })
	return &progress{env: e, tty: ok && isTerminal(f.Fd()), begun: e.Now()}
}

func (p *progress) show(stage string, n int) {
	now := p.env.Now()
	if !p.tty || p.env.Quiet || now.Sub(p.begun) < time.Second || now.Sub(p.last) < 200*time.Millisecond {
		return
	}
	p.last = now
	text := stage
	if n > 0 {
		text += " " + strconv.Itoa(n)
	}
	fmt.Fprintf(p.env.Stderr, "\r\x1b[Kcomparing: %s", text)
}

func (p *progress) clear() {
	if !p.last.IsZero() {
		fmt.Fprint(p.env.Stderr, "\r\x1b[K")
	}
}
