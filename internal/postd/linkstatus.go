package postd

import (
	"context"
	"fmt"
	"time"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/station"
)

func linkStatusCommand() cli.Command {
	return cli.Command{
		Name: "status", Summary: "show how the link stands, and the other stations",
		Long: `Shows what the last "post serve" wrote down: since when the link is up or down
and why, each station with its key, how much has not arrived there, and what
should not go unnoticed. Compare keys with the other side before you trust one.`,
		Setup: cli.Plain(runLinkStatus),
	}
}

// linkReport is what post link status prints as JSON.
type linkReport struct {
	Station string          `json:"station"`
	Team    string          `json:"team"`
	Mode    string          `json:"mode"`
	URLs    []string        `json:"urls"`
	Key     string          `json:"key"`
	Seal    bool            `json:"seal"`
	Served  bool            `json:"served"` // a postd carries it now
	Link    *station.Status `json:"link,omitempty"`
}

func runLinkStatus(_ context.Context, e *cli.Env, args []string) error {
	if err := e.NeedArgs(args, 0, 0); err != nil {
		return err
	}
	o, err := e.Office()
	if err != nil {
		return err
	}
	id, err := link.LoadIdentity(o.FS, o.Config.ID)
	if err != nil {
		return err
	}
	r := linkReport{Station: id.Station, Team: id.Team, Mode: id.Mode, URLs: id.URLs, Seal: id.Seal}
	if r.Key, err = ownKey(o); err != nil {
		return err
	}
	s, known, err := station.Read(o.FS)
	if err != nil {
		e.Warn("link/status.json can't be read: %v", err)
	}
	if known && s.Station == id.Station {
		r.Link, r.Served = &s, e.Runs(s.PID, s.Start)
	}
	if e.JSON {
		e.Out.Object(r)
		return nil
	}
	r.print(e.Out)
	return nil
}

func ownKey(o *office.Office) (string, error) {
	keys, err := link.OpenKeys(o.FS)
	if err != nil {
		return "", err
	}
	return keys.Sign.PublicKey()
}

func (r linkReport) print(out *cli.Output) {
	row := func(name, format string, args ...any) {
		out.Printf("%-8s %s\n", name, cli.Line(fmt.Sprintf(format, args...)))
	}
	row("station", "%s of team %s", r.Station, r.Team)
	row("key", "%s", link.Fingerprint(r.Key))
	s := r.Link
	switch {
	case s == nil:
		row("link", "not started yet; run post serve")
		return
	case !r.Served:
		row("link", "no postd serves this office; run post serve")
	case s.Up:
		row("link", "up since %s, hub %s", clock(s.Since), s.Hub)
	default:
		row("link", "down since %s: %s (hub %s)", clock(s.Since), s.Why, s.Hub)
	}
	if len(s.Peers) > 0 {
		out.Printf("\n")
		out.Table([]string{"STATION", "AGENTS", "WAITING", "HEARD", "KEY", "NOTE"}, peerRows(s.Peers))
	}
	for _, a := range s.Alarms {
		out.Printf("%s\n", out.Red(cli.Line(fmt.Sprintf("alarm %s %s: %s", clock(a.At), a.Station, a.Text))))
	}
}

func peerRows(peers []station.Peer) [][]string {
	var rows [][]string
	for _, p := range peers {
		waiting, heard, note := "-", "-", p.Trouble
		if p.Waiting > 0 {
			waiting = fmt.Sprintf("%d since %s", p.Waiting, clock(p.Oldest))
		}
		if !p.Heard.IsZero() {
			heard = clock(p.Heard)
		}
		if p.Revoked {
			note = "revoked, or left"
		}
		rows = append(rows, []string{p.Station, fmt.Sprint(p.Agents), waiting, heard, p.Fingerprint, note})
	}
	return rows
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
