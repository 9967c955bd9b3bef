package hub

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/postroom/postroom/internal/link/natslink"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

const askTimeout = 10 * time.Second

// Join uses a join line up for a station, whose key was made here: seed stays.
// The member that it returns has the address that answered first. It may be
// repeated with the same key.
func Join(ctx context.Context, line Line, station, seed string) (Member, error) {
	if _, err := mail.ParseStation(station); err != nil {
		return Member{}, err
	}
	_, key, err := pair(seed)
	if err != nil {
		return Member{}, err
	}
	nc, err := dial("link join", line.Addrs, line.Pin, nats.CustomInboxPrefix(natslink.InboxPrefix(guestName)))
	if err != nil {
		return Member{}, err
	}
	defer nc.Close()
	a, err := ask(ctx, nc, "link join", line.Team.Service("join"), question{Invite: line.Invite, Station: station, Key: key})
	if err != nil {
		return Member{}, err
	}
	m := Member{Team: line.Team, Station: station, URLs: line.URLs(), Pin: line.Pin, User: natslink.User{JWT: a.JWT, Seed: seed}}
	if at := slices.Index(m.URLs, nc.ConnectedUrl()); at > 0 {
		m.URLs = append([]string{m.URLs[at]}, slices.Delete(m.URLs, at, at+1)...)
	}
	return m, checkJWT(a.JWT, key)
}

// Member is a station as its hub knows it.
type Member struct {
	Team    natslink.Team
	Station string
	URLs    []string
	Pin     string
	User    natslink.User
}

func (m Member) dial(op string) (*nats.Conn, error) {
	return dial(op, addrs(m.URLs), m.Pin, nats.UserJWTAndSeed(m.User.JWT, m.User.Seed), nats.CustomInboxPrefix(natslink.InboxPrefix(m.Station)))
}

// Next asks for a JWT for the station's next key. Both are good until Retire.
func (m Member) Next(ctx context.Context, seed string) (natslink.User, error) {
	a, err := m.rotation(ctx, seed, false)
	if err != nil {
		return natslink.User{}, err
	}
	_, key, err := pair(seed)
	if err != nil {
		return natslink.User{}, err
	}
	return natslink.User{JWT: a.JWT, Seed: seed}, checkJWT(a.JWT, key)
}

// Retire has the hub refuse the key that this station had before. It is called
// as the new user, when that one is kept durably; it may be repeated.
func (m Member) Retire(ctx context.Context) error {
	_, err := m.rotation(ctx, m.User.Seed, true)
	return err
}

func (m Member) rotation(ctx context.Context, seed string, retire bool) (answer, error) {
	_, key, err := pair(seed)
	if err != nil {
		return answer{}, err
	}
	sig, err := natslink.Sign(seed, rotation(m.Team, m.Station, retire))
	if err != nil {
		return answer{}, err
	}
	nc, err := m.dial("link rotate")
	if err != nil {
		return answer{}, err
	}
	defer nc.Close()
	return ask(ctx, nc, "link rotate", m.Team.Service("rotate."+m.Station), question{Key: key, Sig: sig, Retire: retire})
}

// Leave takes the station out of the team. What it has sent is delivered.
func (m Member) Leave(ctx context.Context) error {
	nc, err := m.dial("link leave")
	if err != nil {
		return err
	}
	defer nc.Close()
	_, err = ask(ctx, nc, "link leave", m.Team.Service("leave."+m.Station), question{})
	return err
}

// Control is a hub's directory, for commands beside the hub.
type Control struct {
	Dir string
	Now func() time.Time
}

// Invite makes one more join line, whether the hub runs or not.
func (c Control) Invite(ctx context.Context, good time.Duration) (Line, error) {
	if err := c.exists("invite"); err != nil {
		return Line{}, err
	}
	s, err := openState(c.Dir, "", c.Now())
	if err == nil {
		defer s.close()
		return s.line(c.Now(), good)
	}
	if !errors.Is(err, errRuns) {
		return Line{}, err
	}
	a, err := c.ask(ctx, "invite", question{Seconds: int64(good / time.Second)})
	if err != nil {
		return Line{}, err
	}
	return ParseLine(a.Line)
}

// Revoke throws a station out of a hub that runs.
func (c Control) Revoke(ctx context.Context, station string) error {
	_, err := c.ask(ctx, "revoke", question{Station: station})
	return err
}

// Status asks a hub that runs how it is.
func (c Control) Status(ctx context.Context) (*Status, error) {
	a, err := c.ask(ctx, "status", question{})
	if err == nil && a.Status == nil {
		err = errors.New("the hub said nothing")
	}
	return a.Status, err
}

// Pin is the key of the hub in the directory, "" if there is none yet.
func (c Control) Pin() (string, error) {
	if c.exists("pin") != nil {
		return "", nil
	}
	fsys, err := vfs.OpenReal(c.Dir)
	if err != nil {
		return "", err
	}
	defer fsys.Close()
	k, err := readKeys(fsys, c.Now())
	if err != nil {
		return "", err
	}
	return k.pin()
}

func (c Control) exists(verb string) error {
	if _, err := os.Stat(filepath.Join(c.Dir, keysFile)); err != nil {
		return &mail.Error{Op: "hub " + verb, Kind: mail.KindNotFound, Addr: c.Dir, Err: errors.New("there is no hub"), Hint: `run "post hub", or give its directory with --dir`}
	}
	return nil
}

// ask connects as the hub's own user: whoever can read its directory may.
func (c Control) ask(ctx context.Context, verb string, q question) (answer, error) {
	if err := c.exists(verb); err != nil {
		return answer{}, err
	}
	fsys, err := vfs.OpenReal(c.Dir)
	if err != nil {
		return answer{}, err
	}
	defer fsys.Close()
	r, err := readRunning(fsys)
	if err != nil {
		return answer{}, &mail.Error{Op: "hub " + verb, Kind: mail.KindNotFound, Addr: c.Dir, Err: errors.New("the hub does not run"), Hint: `start it: "post hub"`}
	}
	k, err := readKeys(fsys, c.Now())
	if err != nil {
		return answer{}, err
	}
	l, err := readLedger(fsys)
	if err != nil {
		return answer{}, err
	}
	pin, err := k.pin()
	if err != nil {
		return answer{}, err
	}
	e := &engine{keys: k}
	token, err := e.adminJWT()
	if err != nil {
		return answer{}, err
	}
	nc, err := dial("hub "+verb, []string{nearby(r.Addr)}, pin, nats.UserJWTAndSeed(token, k.Control))
	if err != nil {
		return answer{}, err
	}
	defer nc.Close()
	return ask(ctx, nc, "hub "+verb, natslink.Team(l.Team).Service("admin."+verb), q)
}

// nearby is a listener's address as seen from this machine.
func nearby(addr string) string {
	for all, one := range map[string]string{"[::]:": "127.0.0.1:", "0.0.0.0:": "127.0.0.1:"} {
		if port, ok := strings.CutPrefix(addr, all); ok {
			return one + port
		}
	}
	return addr
}

func addrs(urls []string) []string {
	var out []string
	for _, u := range urls {
		out = append(out, strings.TrimPrefix(u, "tls://"))
	}
	return out
}

func dial(op string, addrs []string, pin string, opts ...nats.Option) (*nats.Conn, error) {
	opts = append(append(natslink.Dialing(pin), opts...), quiet(), nats.NoReconnect(), nats.Timeout(5*time.Second), nats.DontRandomize(), nats.Name("postroom "+op))
	nc, err := nats.Connect(strings.Join(urls(addrs), ","), opts...)
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		return nil, &mail.Error{Op: op, Kind: mail.KindIdentity, Addr: strings.Join(addrs, ", "), Err: errors.New("the hub does not let this station in any more: it was revoked, or has left"),
			Hint: "forget what it was: post link leave --forget; then join again with a new line"}
	case err != nil:
		return nil, &mail.Error{Op: op, Kind: mail.KindTimeout, Addr: strings.Join(addrs, ", "), Err: errors.New(natslink.Why(err)),
			Hint: "is post hub running there, and can this machine reach it?"}
	}
	return nc, nil
}

// ask sends a question to the hub; a refusal comes back as a mail.Error.
func ask(ctx context.Context, nc *nats.Conn, op, subject string, q question) (answer, error) {
	data, err := json.Marshal(q)
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	m, err := nc.RequestWithContext(ctx, subject, data)
	if err != nil {
		return answer{}, &mail.Error{Op: op, Kind: mail.KindTimeout, Addr: nc.ConnectedAddr(), Err: errors.New(natslink.Why(err)), Hint: "look at the hub, then run it again: it may be repeated"}
	}
	var a answer
	if err := json.Unmarshal(m.Data, &a); err != nil {
		return answer{}, &mail.Error{Op: op, Kind: mail.KindInvalid, Addr: nc.ConnectedAddr(), Err: errors.New("the hub's answer is none"), Hint: "is postd of one version everywhere?"}
	}
	if a.Error != nil {
		return answer{}, &mail.Error{Op: op, Kind: a.Error.Kind, Err: errors.New(mail.Neutralise(a.Error.Why, false)), Hint: mail.Neutralise(a.Error.Hint, false)}
	}
	return a, nil
}

// checkJWT refuses a JWT that is for another key than ours.
func checkJWT(token, key string) error {
	if natslink.KeyOf(token) != key {
		return &mail.Error{Op: "link join", Kind: mail.KindInvalid, Addr: "the hub", Err: errors.New("answered with a JWT that is not ours"), Hint: "ask who runs the hub"}
	}
	return nil
}
