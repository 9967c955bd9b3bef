package postd

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"os/signal"
	"syscall"
	"time"

	"github.com/postroom/postroom/internal/audit"
	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/serve"
	"github.com/postroom/postroom/internal/web"
)

func serveCommand() cli.Command {
	return cli.Command{
		Name: "serve", Summary: "route mail always, and wake who gets it", Usage: "[--listen ADDR] [--page ADDR …] [--log text|json]",
		Long: `Routes whatever comes into any outbox of the office, wakes recipients, asks
again for what is overdue, and keeps the audit if postroom.toml says
audit = "git". Mail moves without it too; with it, mail that was written by
hand or in a sandbox moves at once, and what is due happens on time.

It holds the router's lease only while it routes, so "post send" elsewhere is
not in its way. One is enough: a second one on the same office says who is
there and exits with 5.

It serves the office's page, which "post ui" opens, and answers
http://ADDR/healthz: 200 while the last pass went well, else 503. ADDR must be a loopback address; it is printed, and kept in the user's state
directory as serve/OFFICE-ID.json. Log lines go to standard error and never hold
a subject or a body.

For the page on another machine or a phone: --page ADDR with --page-name NAME,
by which browsers ask, and --tls-cert and --tls-key. Without TLS it is refused.
Browsers are let in by the link of "post ui --outside" there, too.

SIGINT or SIGTERM: the pass and the wakes under way are finished, then it exits
with 0. A second signal ends it at once; nothing is lost then either.`,
		Examples: []string{"post serve", "post serve --log json 2>>serve.log", "post service install     # in the background, always"},
		Setup: func(fs *flag.FlagSet) cli.Run {
			listen := fs.String("listen", "127.0.0.1:0", "the loopback `ADDR` of the page and /healthz; port 0 lets the system choose")
			var out outside
			out.declare(fs)
			format := fs.String("log", "text", "how log lines look: `text|json`")
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if err := e.NeedArgs(args, 0, 0); err != nil {
					return err
				}
				log, err := logger(e, *format)
				if err != nil {
					return err
				}
				return runServe(ctx, e, *listen, out, log)
			}
		},
	}
}

func logger(e *cli.Env, format string) (*slog.Logger, error) {
	switch opt := (&slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: utc}); format {
	case "text":
		return slog.New(slog.NewTextHandler(e.Stderr, opt)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(e.Stderr, opt)), nil
	}
	return nil, e.Usage("--log cannot be "+cli.Line(format), "say text or json")
}

// utc: time is UTC everywhere (design §5).
func utc(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindTime {
		a.Value = slog.TimeValue(a.Value.Time().UTC().Truncate(time.Millisecond))
	}
	return a
}

func runServe(ctx context.Context, e *cli.Env, listen string, out outside, log *slog.Logger) error {
	o, err := e.Office()
	if err != nil {
		return err
	}
	outer, shut, err := out.open(e, o, log)
	if err != nil {
		return err
	}
	defer shut()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // from here on a signal does what it always does
	keeper, nudges, err := newKeeper(e, o, log)
	if err != nil {
		return err
	}
	table := Adapters(e)
	table[keeper.Kind()] = keeper
	page := web.New(web.Options{Env: e, Dir: o.Dir, Log: log})
	defer page.Close()
	s := serve.Server{Dir: o.Dir, Sys: e.System, Table: table, Alive: e.Runs, Speaks: e.Speaks, Program: e.FindPost(), Log: log,
		Listen: listen, StateDir: e.User().Dir, Sides: append(sides(e, o, log), keeper, newStation(e, o, log)), Nudges: nudges,
		Page: page.Handler(), Outside: outer,
		Ready: func(addr string) { sayServing(e, o, addr) }}
	return s.Run(ctx)
}

func sides(e *cli.Env, o *office.Office, log *slog.Logger) []serve.Side {
	if o.Config.Policy.Audit != "git" {
		return nil
	}
	return []serve.Side{audit.NewCommitter(newAudit(e, o), log)}
}

func sayServing(e *cli.Env, o *office.Office, addr string) {
	if e.JSON {
		e.Out.Object(struct {
			Office   string `json:"office"`
			OfficeID string `json:"office_id"`
			Addr     string `json:"addr"`
			Health   string `json:"health"`
			PID      int    `json:"pid"`
		}{o.Dir, o.Config.ID, addr, "http://" + addr + "/healthz", e.System.PID})
	} else {
		e.Out.Printf("serving %s\n", cli.Line(o.Dir))
		e.Out.Say("health: http://%s/healthz", addr)
		e.Out.Say("page: run post ui")
	}
	if err := e.Out.Flush(); err != nil {
		io.WriteString(e.Stderr, "post: nobody reads the output; serving all the same\n")
	}
}
