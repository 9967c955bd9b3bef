package postd

import (
	"fmt"
	"strings"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/link/hub"
)

// sayHub prints how a hub is.
func sayHub(e *cli.Env, s *hub.Status) error {
	if e.JSON {
		e.Out.Object(s)
		return nil
	}
	e.Out.Printf("hub of team %s at %s\n", cli.Line(s.Team), cli.Line(strings.Join(s.Addrs, ", ")))
	e.Out.Printf("on their way: %d envelopes, %d KiB; join lines that are good: %d\n", s.Waiting, s.Bytes>>10, s.Invites)
	var rows [][]string
	for _, st := range s.Stations {
		is := "away"
		if st.Connected {
			is = "connected"
		}
		rows = append(rows, []string{st.Name, is, fmt.Sprint(st.Waiting), st.Joined.UTC().Format("2006-01-02 15:04"), link.Fingerprint(st.Key)})
	}
	if len(rows) > 0 {
		e.Out.Printf("\n")
		e.Out.Table([]string{"STATION", "NOW", "WAITING", "JOINED", "KEY"}, rows)
	} else {
		e.Out.Say("no station has joined; post hub invite prints a join line")
	}
	if len(s.Revoked) > 0 {
		e.Out.Printf("\nout: %s\n", cli.Line(strings.Join(s.Revoked, ", ")))
	}
	return nil
}
