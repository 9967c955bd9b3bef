package postd

import (
	"log/slog"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/link/natslink"
	"github.com/postroom/postroom/internal/office"
)

// newStation is the link of an office, for who serves it. It waits until the
// office is linked.
func newStation(e *cli.Env, o *office.Office, log *slog.Logger) *link.Station {
	return &link.Station{
		Open: func() (*office.Office, error) {
			if err := link.CheckLinked(o.FS); err != nil {
				return nil, err // asked every second: an office of its own only if there is a link
			}
			return office.Open(o.Dir, e.System)
		},
		Dial: func(id link.Identity, k link.Keys, jwt string) (link.Wire, error) { return dial(id, k, jwt, log) },
		Log:  log, Start: started(e),
	}
}

// dial connects a station to its hub, by what it got when it joined.
func dial(id link.Identity, k link.Keys, jwt string, log *slog.Logger) (link.Wire, error) {
	o := natslink.Options{Team: natslink.Team(id.Team), Station: id.Station, URLs: id.URLs, Pin: id.Pin, Log: log}
	if id.Mode == link.ModeNATS {
		o.Creds, o.Manage, o.Replicas = id.Creds, true, 1
		return natslink.Open(o)
	}
	seed, err := k.Sign.Seed()
	if err != nil {
		return nil, err
	}
	o.User = natslink.UserOf(jwt, string(seed))
	return natslink.Open(o)
}
