package postd

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/link/hub"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
)

// hubListen is where a hub listens if nothing else is said: a hub that other
// machines can't reach is none, so it is everywhere, and says so.
const hubListen = "0.0.0.0:4222"

func hubCommand() cli.Command {
	return cli.Command{
		Name: "hub", Summary: "the post office that a team's machines meet at", Person: true,
		Usage: "[--listen HOST:PORT] [--dir DIR] [--team NAME] [--station NAME] [--server-only] [--expires DUR]",
		Long: `Runs a hub in the foreground: a NATS server with JetStream of this team's own,
which keeps mail between offices until the other machine has it. It prints a join
line; on another machine, "post link join" takes it.

This office is made a station of the hub, too, and served if no "post serve" does
that already: one command on the first machine. With --server-only it is not.

It listens on all of this machine's addresses, port 4222, unless --listen says
otherwise. Everything goes through TLS, and nobody is let in but stations that
joined. Its state, with its keys, is in DIR: keep a copy, or every station has to
join again.

SIGINT or SIGTERM ends it. Mail on its way waits on its disk; stations keep what
they send and connect again by themselves. As a service: "post hub -q", which
prints no join line into a log.`,
		Examples: []string{"post hub", "post hub --server-only --dir /srv/postroom-hub --listen 10.0.0.5:4222", "post hub invite --expires 24h"},
		Setup: func(fs *flag.FlagSet) cli.Run {
			var h hubRun
			fs.StringVar(&h.listen, "listen", hubListen, "listen on `HOST:PORT`")
			h.declareDir(fs)
			fs.StringVar(&h.team, "team", "", "the team's `NAME`, when the hub is new (default team)")
			fs.StringVar(&h.station, "station", "", "this office's `NAME` on the link (default: this machine's)")
			fs.BoolVar(&h.serverOnly, "server-only", false, "do not link this office, and serve none")
			fs.DurationVar(&h.expires, "expires", hub.DefaultExpiry, "how long the join line is good for")
			return h.run
		},
		Subs: []cli.Command{hubInviteCommand(), hubStatusCommand()},
	}
}

// hubDir is where a hub keeps its state.
type hubDir struct{ dir string }

func (h *hubDir) declareDir(fs *flag.FlagSet) {
	fs.StringVar(&h.dir, "dir", "", "the hub's `DIR` (default: hub in the user's state directory)")
}

func (h *hubDir) of(e *cli.Env) string {
	if h.dir == "" {
		return filepath.Join(e.User().Dir, "hub")
	}
	if filepath.IsAbs(h.dir) {
		return filepath.Clean(h.dir)
	}
	return filepath.Join(e.Dir, h.dir)
}

func (h *hubDir) control(e *cli.Env) hub.Control { return hub.Control{Dir: h.of(e), Now: e.Now} }

func hubInviteCommand() cli.Command {
	return cli.Command{
		Name: "invite", Summary: "print one more join line", Usage: "[--dir DIR] [--expires DUR]", Person: true,
		Long: `A join line is good for one station, once, until it expires by the hub's clock.
The hub may run or not; to be used, the line needs a hub that runs.`,
		Examples: []string{"post hub invite", "post hub invite --expires 24h"},
		Setup: func(fs *flag.FlagSet) cli.Run {
			var h hubDir
			h.declareDir(fs)
			expires := fs.Duration("expires", hub.DefaultExpiry, "how long it is good for")
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if err := e.NeedArgs(args, 0, 0); err != nil {
					return err
				}
				if *expires < time.Second {
					return e.Usage("--expires is too short", "say 1h, for example")
				}
				line, err := h.control(e).Invite(ctx, *expires)
				if err != nil {
					return err
				}
				return sayInvited(e, line, *expires)
			}
		},
	}
}

func sayInvited(e *cli.Env, line hub.Line, good time.Duration) error {
	until := e.Now().Add(good).UTC()
	if e.JSON {
		e.Out.Object(struct {
			Line    string    `json:"line"`
			Team    string    `json:"team"`
			Addrs   []string  `json:"addrs"`
			Expires time.Time `json:"expires"`
		}{line.String(), string(line.Team), line.Addrs, until.Truncate(time.Second)})
		return nil
	}
	e.Out.Printf("%s\n", line)
	e.Out.Say("good once, until %s; on the other machine: post link join", until.Format("2006-01-02 15:04 UTC"))
	return nil
}

func hubStatusCommand() cli.Command {
	return cli.Command{
		Name: "status", Summary: "show who is in the team, who is connected, and what waits", Usage: "[--dir DIR]",
		Setup: func(fs *flag.FlagSet) cli.Run {
			var h hubDir
			h.declareDir(fs)
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if err := e.NeedArgs(args, 0, 0); err != nil {
					return err
				}
				s, err := h.control(e).Status(ctx)
				if err != nil {
					return err
				}
				return sayHub(e, s)
			}
		},
	}
}

// hubRun is one run of post hub.
type hubRun struct {
	hubDir
	listen, team, station string
	serverOnly            bool
	expires               time.Duration
}

func (h *hubRun) run(ctx context.Context, e *cli.Env, args []string) error {
	if err := e.NeedArgs(args, 0, 0); err != nil {
		return err
	}
	if h.expires < time.Second {
		return e.Usage("--expires is too short", "say 1h, for example")
	}
	o, err := h.office(e)
	if err != nil {
		return err
	}
	log, err := logger(e, "text")
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	at, err := hub.Start(ctx, hub.Options{Dir: h.of(e), Team: h.team, Listen: h.listen, Log: log, Now: e.Now})
	if err != nil {
		return err
	}
	defer at.Close()
	if o != nil {
		if err := h.join(ctx, e, o, at); err != nil {
			return err
		}
	}
	if err := h.say(e, o, at); err != nil {
		return err
	}
	if o != nil {
		h.serve(ctx, e, o, log)
	}
	<-ctx.Done()
	return nil
}

// office is the one that becomes a station of this hub; nil for none.
func (h *hubRun) office(e *cli.Env) (*office.Office, error) {
	if h.serverOnly {
		if h.station != "" {
			return nil, e.Usage("--station is of this office, and --server-only leaves it alone", "leave out one of them")
		}
		return nil, nil
	}
	o, err := e.Office()
	if err != nil {
		return nil, err
	}
	if err := o.CheckWritable(); err != nil {
		return nil, err
	}
	return o, h.free(e, o)
}

// free refuses an office that is another hub's station, before there is a hub.
func (h *hubRun) free(e *cli.Env, o *office.Office) error {
	id, err := link.LoadIdentity(o.FS, o.Config.ID)
	if mail.KindOf(err) == mail.KindNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	pin, err := h.control(e).Pin()
	if err == nil && pin != id.Pin {
		err = e.Fail(mail.KindConflict, o.Dir, errors.New("this office is a station of another hub, as "+id.Station),
			"run post link leave first, or run the hub alone: post hub --server-only")
	}
	return err
}

// join makes this office a station of the hub, unless it is one.
func (h *hubRun) join(ctx context.Context, e *cli.Env, o *office.Office, at *hub.Hub) error {
	id, err := link.LoadIdentity(o.FS, o.Config.ID)
	if err == nil && id.Pin == at.Pin() && id.Team == string(at.Team()) && at.Knows(id.Station) {
		return nil
	}
	line, err := at.Invite(time.Minute)
	if err != nil {
		return err
	}
	line.Addrs = []string{at.Nearby()} // whatever addresses this machine has tomorrow
	_, err = joinOffice(ctx, e, o, line, h.station, false)
	return err
}

func (h *hubRun) say(e *cli.Env, o *office.Office, at *hub.Hub) error {
	var name string
	if o != nil {
		name = o.Station()
	}
	var line hub.Line
	if !e.Quiet {
		var err error
		if line, err = at.Invite(h.expires); err != nil {
			return err
		}
	}
	if e.JSON {
		e.Out.Object(struct {
			Team    string   `json:"team"`
			Dir     string   `json:"dir"`
			Listen  string   `json:"listen"`
			Addrs   []string `json:"addrs"`
			Pin     string   `json:"pin"`
			Station string   `json:"station,omitempty"`
			Line    string   `json:"line,omitempty"`
		}{string(at.Team()), h.of(e), at.Listens(), at.Addrs(), at.Pin(), name, text(line)})
		return e.Out.Flush()
	}
	e.Out.Printf("hub of team %s on %s\n", at.Team(), at.Listens())
	if host, _, err := net.SplitHostPort(at.Listens()); err == nil && net.ParseIP(host).IsUnspecified() {
		e.Out.Say("It listens on all addresses of this machine (%s).\nOnly stations that joined are let in. For some networks only: --listen HOST:PORT.", cli.Line(strings.Join(at.Addrs(), ", ")))
	}
	if name != "" {
		e.Out.Say("this office is its station %s", cli.Line(name))
	}
	if !e.Quiet {
		e.Out.Printf("\n%s\n\n", line)
		e.Out.Say("Good once, until %s. On the other machine: post link join, and paste it.\nOne more: post hub invite", e.Now().Add(h.expires).UTC().Format("2006-01-02 15:04 UTC"))
	}
	return e.Out.Flush()
}

func text(l hub.Line) string {
	if len(l.Invite) == 0 {
		return ""
	}
	return l.String()
}

// serve serves the office unless somebody does. That it can't be served does
// not end the hub.
func (h *hubRun) serve(ctx context.Context, e *cli.Env, o *office.Office, log *slog.Logger) {
	if _, ok := answering(ctx, e, o); ok {
		return
	}
	quiet := *e
	quiet.Out = cli.Nowhere()
	if err := runServe(ctx, &quiet, "127.0.0.1:0", outside{}, log); err != nil && ctx.Err() == nil {
		e.Warn("the hub runs, and this office is not served: %v", err)
	}
}
