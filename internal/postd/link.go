package postd

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"io"
	"strings"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/link/hub"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
)

func linkCommand() cli.Command {
	return cli.Command{
		Name: "link", Summary: "link this office with those on other machines", Person: true,
		Usage: "--nats URL --creds FILE [--team NAME] [--station NAME] [--replicas N] [--seal]",
		Long: `Offices that are linked write to each other: post send bob@lab. Each is a
station with a name and a key of its own; mail goes over a hub (post hub), or over
a NATS server or cluster that your team has already, and is stored here until the
other office has it. "post serve" carries it.

With --nats: that server, with the credentials file that its admin gave you. The
streams are made if the credentials allow it; else it says what is missing.
docs/links.md has the permissions.`,
		Examples: []string{"post link join", "post link status", "post link --nats tls://nats.example.org:4222 --creds ann.creds --team crew"},
		Setup: func(fs *flag.FlagSet) cli.Run {
			var n natsRun
			n.declare(fs)
			return n.run
		},
		Subs: []cli.Command{linkJoinCommand(), linkStatusCommand(), linkLeaveCommand(), linkRotateCommand(), linkRevokeCommand(), linkTrustCommand()},
	}
}

func linkJoinCommand() cli.Command {
	return cli.Command{
		Name: "join", Summary: "join a team with a line from its hub", Usage: "[LINE|-] [--station NAME] [--seal]", Person: true,
		Long: `Takes the join line that "post hub" or "post hub invite" printed, at the prompt
or from standard input. This station makes its own keys; only their public halves
leave it. The line is good once.

Run again with a new line of the same hub, it takes over the hub's new address.`,
		Examples: []string{"post link join", "post link join --station ann-laptop < line.txt"},
		Setup: func(fs *flag.FlagSet) cli.Run {
			name := fs.String("station", "", "this office's `NAME` on the link (default: this machine's)")
			seal := fs.Bool("seal", false, "seal what is sent, so that the hub cannot read it")
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if err := e.NeedArgs(args, 0, 1); err != nil {
					return err
				}
				return runLinkJoin(ctx, e, args, *name, *seal)
			}
		},
	}
}

func runLinkJoin(ctx context.Context, e *cli.Env, args []string, name string, seal bool) error {
	o, err := e.Office()
	if err != nil {
		return err
	}
	if err := o.CheckWritable(); err != nil {
		return err
	}
	text, err := joinLine(e, args)
	if err != nil {
		return err
	}
	line, err := hub.ParseLine(text)
	if err != nil {
		return err
	}
	id, err := joinOffice(ctx, e, o, line, name, seal)
	if err != nil {
		return err
	}
	return sayLinked(ctx, e, o, id)
}

// joinLine reads the line from where it was given.
func joinLine(e *cli.Env, args []string) (string, error) {
	if len(args) == 1 && args[0] != "-" {
		e.Warn("the join line stood in the command line, where other users may have seen it; it is used up now. Paste it at the prompt instead")
		return args[0], nil
	}
	if e.StdinTTY {
		io.WriteString(e.Stderr, "paste the join line: ")
	}
	text, err := bufio.NewReader(io.LimitReader(e.Stdin, 16<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", e.Fail(mail.KindStore, "standard input", err, "paste the line at the prompt")
	}
	if strings.TrimSpace(text) == "" {
		return "", e.Usage("there is no join line", `paste what "post hub invite" printed, or pipe it in`)
	}
	return text, nil
}

// joinOffice makes an office a station. It may be repeated: a station that has
// joined keeps its name and key.
func joinOffice(ctx context.Context, e *cli.Env, o *office.Office, line hub.Line, name string, seal bool) (link.Identity, error) {
	id, err := link.LoadIdentity(o.FS, o.Config.ID)
	switch {
	case err == nil && (id.Pin != line.Pin || id.Team != string(line.Team)):
		return id, e.Fail(mail.KindConflict, o.Dir, errors.New("this office is linked already, as "+id.Station+" of team "+id.Team), "run post link leave first")
	case err == nil && name != "" && name != id.Station:
		return id, e.Fail(mail.KindConflict, o.Dir, errors.New("this office is the station "+id.Station), "leave out --station, or run post link leave first")
	case err == nil:
		name = id.Station
	case mail.KindOf(err) != mail.KindNotFound:
		return id, err
	}
	if name, err = stationName(e, name); err != nil {
		return id, err
	}
	keys, err := link.OpenKeys(o.FS)
	if err != nil {
		return id, err
	}
	seed, err := keys.Sign.Seed()
	if err != nil {
		return id, err
	}
	m, err := hub.Join(ctx, line, name, string(seed))
	if err != nil {
		return id, err
	}
	id = link.Identity{Office: o.Config.ID, Team: string(m.Team), Station: name, Mode: link.ModeHub, URLs: m.URLs, Pin: m.Pin, Seal: seal || id.Seal, Joined: e.Now().UTC()}
	return id, become(ctx, e, o, id, m.User.JWT)
}

// become records what the office is on the link: its identity, then its name.
func become(ctx context.Context, e *cli.Env, o *office.Office, id link.Identity, jwt string) error {
	return e.WithLease(ctx, o, func() error {
		if err := link.SaveIdentity(o.FS, id, jwt); err != nil {
			return err
		}
		return o.SetStation(id.Station)
	})
}

// stationName is what this office is called, made of the machine's name if
// nobody said.
func stationName(e *cli.Env, name string) (string, error) {
	if name != "" {
		return mail.ParseStation(name)
	}
	host, _, _ := strings.Cut(strings.ToLower(e.System.Host), ".")
	name, err := mail.ParseStation(strings.Trim(strings.ReplaceAll(host, "_", "-"), "-"))
	if err != nil {
		return "", e.Fail(mail.KindInvalid, e.System.Host, errors.New("this machine's name makes no station's name"), "choose one: --station ann-laptop")
	}
	return name, nil
}

func sayLinked(ctx context.Context, e *cli.Env, o *office.Office, id link.Identity) error {
	_, served := answering(ctx, e, o)
	if e.JSON {
		e.Out.Object(struct {
			Station string   `json:"station"`
			Team    string   `json:"team"`
			Mode    string   `json:"mode"`
			URLs    []string `json:"urls"`
			Served  bool     `json:"served"`
		}{id.Station, id.Team, id.Mode, id.URLs, served})
		return nil
	}
	e.Out.Printf("this office is the station %s of team %s\n", cli.Line(id.Station), cli.Line(id.Team))
	if served {
		e.Out.Say("mail moves in a moment; see post link status")
	} else {
		e.Out.Say("next: post serve      # it carries mail between offices")
	}
	return nil
}

// started is when this process began.
func started(e *cli.Env) string {
	if e.Procs == nil {
		return ""
	}
	p, _ := e.Procs.Process(e.System.PID)
	return p.Start
}
