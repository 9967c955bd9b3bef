package postd

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"strings"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/link/hub"
	"github.com/postroom/postroom/internal/link/natslink"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/spool"
)

// linked opens the office and its identity on the link.
func linked(e *cli.Env) (*office.Office, link.Identity, error) {
	o, err := e.Office()
	if err != nil {
		return nil, link.Identity{}, err
	}
	if err := o.CheckWritable(); err != nil {
		return nil, link.Identity{}, err
	}
	id, err := link.LoadIdentity(o.FS, o.Config.ID)
	return o, id, err
}

// memberOf is the station as its hub knows it.
func memberOf(o *office.Office, id link.Identity) (hub.Member, error) {
	m := hub.Member{Team: natslink.Team(id.Team), Station: id.Station, URLs: id.URLs, Pin: id.Pin}
	keys, err := link.OpenKeys(o.FS)
	if err != nil {
		return m, err
	}
	seed, err := keys.Sign.Seed()
	if err != nil {
		return m, err
	}
	jwt, err := link.ReadJWT(o.FS)
	m.User = natslink.UserOf(jwt, string(seed))
	return m, err
}

func linkLeaveCommand() cli.Command {
	return cli.Command{
		Name: "leave", Summary: "take this office out of its team", Usage: "[--forget]", Person: true,
		Long: `The hub lets this station in no more, and the others see that it is gone. Wait
until "post link status" shows nothing WAITING: a station that sees this before it
has fetched its mail takes none of it. What has not arrived stays in the far
agents' mailboxes here, and so does all mail. Its keys are deleted.

If the hub can't be reached for good, --forget does all of that here alone; have
whoever runs the hub revoke the station.`,
		Setup: func(fs *flag.FlagSet) cli.Run {
			forget := fs.Bool("forget", false, "do not ask the hub")
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if err := e.NeedArgs(args, 0, 0); err != nil {
					return err
				}
				return runLinkLeave(ctx, e, *forget)
			}
		},
	}
}

// nothingWaits refuses to leave while mail has not arrived: once the station is
// gone nobody takes it off the hub, and nobody sends it again.
func nothingWaits(e *cli.Env, o *office.Office) error {
	reg, err := o.Registry()
	if err != nil {
		return err
	}
	n := 0
	for x := range reg.All() {
		if x.Station == "" {
			continue
		}
		box, err := o.Box(x)
		if err != nil {
			return err
		}
		names, err := box.FS.ReadNames(box.Path(spool.Inbox))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, name := range names {
			if !spool.Hidden(name) && strings.HasSuffix(name, ".json") {
				n++
			}
		}
	}
	if n == 0 {
		return nil
	}
	return e.Fail(mail.KindConflict, o.Station(), fmt.Errorf("%d messages of this office have not arrived at other stations", n),
		"wait until post link status shows none waiting, or leave them: post link leave --forget, and have the hub's keeper revoke this station")
}

func runLinkLeave(ctx context.Context, e *cli.Env, forget bool) error {
	o, id, err := linked(e)
	if foreign := mail.KindOf(err) == mail.KindForeign && forget && o != nil; err != nil && !foreign {
		return err
	}
	if !forget {
		if err := nothingWaits(e, o); err != nil {
			return err
		}
	}
	if id.Mode == link.ModeHub && !forget {
		m, err := memberOf(o, id)
		if err != nil {
			return err
		}
		if err := m.Leave(ctx); mail.KindOf(err) == mail.KindIdentity {
			return err // it is out already, and the error says what to do
		} else if err != nil {
			return e.Fail(mail.KindOf(err), id.Station, err, "try again when the hub is there, or leave without it: post link leave --forget")
		}
	}
	err = e.WithLease(ctx, o, func() error {
		if err := link.ForgetIdentity(o.FS); err != nil {
			return err
		}
		return o.SetStation("")
	})
	if err != nil {
		return err
	}
	if e.JSON {
		e.Out.Object(struct {
			Left string `json:"left"`
			Told bool   `json:"told"` // the hub
		}{id.Station, !forget && id.Mode == link.ModeHub})
		return nil
	}
	e.Out.Printf("this office is no station any more; it was %s\n", cli.Line(id.Station))
	if forget || id.Mode != link.ModeHub {
		e.Out.Say("whoever runs the hub still has to take its key away: post link revoke %s", cli.Line(id.Station))
	}
	return nil
}

func linkRevokeCommand() cli.Command {
	return cli.Command{
		Name: "revoke", Summary: "throw a station out of the team, at the hub", Usage: "STATION [--dir DIR]", Person: true,
		Long: `Run it where the hub runs. The station is disconnected at once and never let in
again with the keys that it had; the others see it. What waits for it anywhere is given
back to its authors as refused, and what it has sent and nobody fetched is deleted.
A new station may take the name, with a join line of its own; the
others are asked to trust its key first.`,
		Examples: []string{"post link revoke old-laptop"},
		Setup: func(fs *flag.FlagSet) cli.Run {
			var h hubDir
			h.declareDir(fs)
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if err := e.NeedArgs(args, 1, 1); err != nil {
					return err
				}
				name, err := mail.ParseStation(args[0])
				if err != nil {
					return err
				}
				if err := h.control(e).Revoke(ctx, name); err != nil {
					return revokeElsewhere(e, err)
				}
				if e.JSON {
					e.Out.Object(struct {
						Revoked string `json:"revoked"`
					}{name})
					return nil
				}
				e.Out.Printf("%s is out\n", name)
				return nil
			}
		},
	}
}

// revokeElsewhere says who can, where this machine has no hub.
func revokeElsewhere(e *cli.Env, err error) error {
	if mail.KindOf(err) != mail.KindNotFound {
		return err
	}
	if _, id, lerr := linked(e); lerr == nil && id.Mode == link.ModeNATS {
		return e.Fail(mail.KindNotFound, id.Station, errors.New("this team's server is no hub of ours"), "have its admin take that station's credentials away")
	}
	return err
}

func linkTrustCommand() cli.Command {
	return cli.Command{
		Name: "trust", Summary: "accept another key of a station", Usage: "STATION", Person: true,
		Long: `A station's key is remembered when it is first seen. Under another key, nothing
that it sends is taken until a person has said that this is right. Ask the other
side what "post link status" shows there as its key, by another way than mail.`,
		Setup: cli.Plain(func(_ context.Context, e *cli.Env, args []string) error {
			if err := e.NeedArgs(args, 1, 1); err != nil {
				return err
			}
			name, err := mail.ParseStation(args[0])
			if err != nil {
				return err
			}
			o, _, err := linked(e)
			if err != nil {
				return err
			}
			fingerprint, err := link.Trust(o.FS, name)
			if err != nil {
				return err
			}
			if e.JSON {
				e.Out.Object(struct {
					Station string `json:"station"`
					Key     string `json:"key"`
				}{name, fingerprint})
				return nil
			}
			e.Out.Printf("the key of %s is %s\n", name, fingerprint)
			return nil
		}),
	}
}

func linkRotateCommand() cli.Command {
	return cli.Command{
		Name: "rotate", Summary: "give this station a new key", Person: true,
		Long: `The new key is made here; the old one vouches for it, so that the other stations
take it without asking anybody. Then the hub refuses the old one. It may be
repeated if it was cut off.`,
		Setup: cli.Plain(runLinkRotate),
	}
}
