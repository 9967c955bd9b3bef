package postd

import (
	"context"
	"errors"

	"github.com/nats-io/nkeys"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/mail"
)

// runLinkRotate has the hub know both keys first, then makes the new one ours,
// then has the old one refused. Cut off anywhere, it can be run again: the hub
// lets in whichever key is here.
func runLinkRotate(ctx context.Context, e *cli.Env, args []string) error {
	if err := e.NeedArgs(args, 0, 0); err != nil {
		return err
	}
	o, id, err := linked(e)
	if err != nil {
		return err
	}
	if id.Mode != link.ModeHub {
		return e.Fail(mail.KindConflict, id.Station, errors.New("the server's admin gives out these credentials"), "ask for new ones, then: post link leave, post link --nats URL --creds FILE")
	}
	m, err := memberOf(o, id)
	if err != nil {
		return err
	}
	next, err := nkeys.CreateUser()
	if err != nil {
		return err
	}
	seed, err := next.Seed()
	if err != nil {
		return err
	}
	before := m.User.JWT
	if m.User, err = m.Next(ctx, string(seed)); err != nil {
		return err
	}
	err = e.WithLease(ctx, o, func() error { // there is a JWT for whichever key is here
		if err := link.SaveIdentity(o.FS, id, m.User.JWT+"\n"+before); err != nil {
			return err
		}
		if err := link.ReplaceSign(o.FS, seed); err != nil {
			return err
		}
		return link.SaveIdentity(o.FS, id, m.User.JWT)
	})
	if err != nil {
		return err
	}
	if err := m.Retire(ctx); err != nil {
		return e.Fail(mail.KindOf(err), id.Station, err, "the new key is in use; run it again so that the old one is refused")
	}
	key, err := next.PublicKey()
	if err != nil {
		return err
	}
	if e.JSON {
		e.Out.Object(struct {
			Station string `json:"station"`
			Key     string `json:"key"`
		}{id.Station, key})
		return nil
	}
	e.Out.Printf("the key of %s is now %s\n", cli.Line(id.Station), link.Fingerprint(key))
	return nil
}
