package postd

import (
	"context"
	"errors"
	"flag"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/link/hub"
	"github.com/postroom/postroom/internal/link/natslink"
	"github.com/postroom/postroom/internal/mail"
)

// natsRun links this office over a server that is no hub of ours.
type natsRun struct {
	url, creds, team, station string
	replicas                  int
	seal                      bool
}

func (n *natsRun) declare(fs *flag.FlagSet) {
	fs.StringVar(&n.url, "nats", "", "the server's `URL`, or several with commas")
	fs.StringVar(&n.creds, "creds", "", "the `FILE` that lets this station in: .creds, an nkey seed, or a line user:password")
	fs.StringVar(&n.team, "team", hub.DefaultTeam, "the team's `NAME`: streams and subjects are called after it")
	fs.StringVar(&n.station, "station", "", "this office's `NAME` on the link (default: this machine's)")
	fs.IntVar(&n.replicas, "replicas", 1, "make missing streams with `N` copies; 3 in a cluster")
	fs.BoolVar(&n.seal, "seal", false, "seal what is sent, so that the server cannot read it")
}

func (n *natsRun) run(ctx context.Context, e *cli.Env, args []string) error {
	if len(args) > 0 {
		return e.Usage("there is no post link "+cli.Line(args[0]), "say join, status, leave, rotate, revoke or trust; or --nats URL --creds FILE")
	}
	if n.url == "" || n.creds == "" {
		return e.Usage("which one?", "say join, status, leave, rotate, revoke or trust; or --nats URL --creds FILE")
	}
	id, err := n.identity(e)
	if err != nil {
		return err
	}
	o, err := e.Office()
	if err != nil {
		return err
	}
	if err := o.CheckWritable(); err != nil {
		return err
	}
	if was, err := link.LoadIdentity(o.FS, o.Config.ID); err == nil && (was.Mode != link.ModeNATS || was.Station != id.Station || was.Team != id.Team) {
		return e.Fail(mail.KindConflict, o.Dir, errors.New("this office is linked already, as "+was.Station+" of team "+was.Team), "run post link leave first")
	} else if err != nil && mail.KindOf(err) != mail.KindNotFound {
		return err
	}
	id.Office = o.Config.ID
	if err := n.try(ctx, e, id); err != nil {
		return err
	}
	if _, err := link.OpenKeys(o.FS); err != nil {
		return err
	}
	if err := become(ctx, e, o, id, ""); err != nil {
		return err
	}
	return sayLinked(ctx, e, o, id)
}

func (n *natsRun) identity(e *cli.Env) (link.Identity, error) {
	id := link.Identity{Team: n.team, Mode: link.ModeNATS, Creds: n.creds, Seal: n.seal, Joined: e.Now().UTC()}
	if _, err := mail.ParseStation(n.team); err != nil {
		return id, err
	}
	for _, s := range strings.Split(n.url, ",") {
		u, err := url.Parse(s)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" && u.Scheme != "ws" && u.Scheme != "wss":
			return id, e.Usage("--nats "+cli.Line(s)+" is no server's URL", "say tls://HOST:4222, for example")
		case u.User != nil:
			return id, e.Usage("a password in a URL can be seen by other users of this machine", "write user:password into a file, and give that with --creds")
		}
		id.URLs = append(id.URLs, s)
	}
	if !filepath.IsAbs(id.Creds) {
		id.Creds = filepath.Join(e.Dir, id.Creds)
	}
	var err error
	id.Station, err = stationName(e, n.station)
	return id, err
}

// try connects once and makes what is missing, before anything is changed here.
func (n *natsRun) try(ctx context.Context, e *cli.Env, id link.Identity) error {
	w, err := natslink.Open(natslink.Options{Team: natslink.Team(id.Team), Station: id.Station, URLs: id.URLs, Creds: id.Creds, Manage: true, Replicas: n.replicas})
	if err != nil {
		return err
	}
	defer w.Close()
	late := time.After(15 * time.Second)
	for !w.State().Up {
		select {
		case <-w.Changed():
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			return e.Fail(mail.KindTimeout, n.url, errors.New(w.State().Why), "look at the URL and the credentials; nothing was changed")
		}
	}
	missing, err := w.Ensure(ctx)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		e.Out.Printf("%s\n", strings.Join(missing, "\n"))
		return e.Fail(mail.KindNotFound, n.url, errors.New("something is missing on the server, and these credentials may not make it"),
			"give the lines above to its admin (docs/links.md has the permissions); nothing was changed")
	}
	return nil
}
