package hub

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/postroom/postroom/internal/link/natslink"
	"github.com/postroom/postroom/internal/mail"
)

const (
	maxPayload = 2 << 20
	readyIn    = 20 * time.Second
	// syncEvery is how often the store reaches the disk: NATS' own two minutes are how
	// a power cut loses mail that was acknowledged.
	syncEvery = time.Second
)

// Cluster makes this hub's server one of several that replicate each other.
// They share the keys; one of them keeps the stations.
type Cluster struct {
	Server string   // this server's own name
	Listen string   // HOST:PORT for the others
	Routes []string // nats-route://HOST:PORT of all
}

// engine is the NATS server, embedded, and what it asks about accounts.
type engine struct {
	srv      *server.Server
	accounts *server.MemAccResolver
	keys     *keys
	team     natslink.Team
	guestKey string // of whoever shows none
}

// run starts a server in operator mode: accounts and permissions are signed
// claims, made anew from the keys and the ledger at each start.
func run(o Options, k *keys, team natslink.Team, revoked []string) (*engine, error) {
	e := &engine{accounts: &server.MemAccResolver{}, keys: k, team: team}
	opts, err := e.options(o)
	if err != nil {
		return nil, err
	}
	if err := free(o.Listen); err != nil {
		return nil, err
	}
	if _, err := e.publishAccount(revoked); err != nil {
		return nil, err
	}
	if e.srv, err = server.NewServer(opts); err != nil {
		return nil, err
	}
	e.srv.SetLoggerV2(logger{o.log()}, false, false, false)
	e.srv.Start()
	if !e.srv.ReadyForConnections(readyIn) {
		e.stop()
		return nil, &mail.Error{Op: "start the hub", Kind: mail.KindStore, Addr: o.Listen, Err: errors.New("does not listen after 20 s"),
			Hint: "is the address this machine's, and free? choose another with --listen HOST:PORT"}
	}
	return e, nil
}

func (e *engine) options(o Options) (*server.Options, error) {
	host, port, err := hostPort(o.Listen)
	if err != nil {
		return nil, err
	}
	tls, err := e.keys.tlsConfig()
	if err != nil {
		return nil, err
	}
	operator, err := e.keys.operator(string(e.team))
	if err != nil {
		return nil, err
	}
	guest, err := e.guest()
	if err != nil {
		return nil, err
	}
	system, err := e.keys.systemAccount()
	if err != nil {
		return nil, err
	}
	token, err := e.keys.sign(system)
	if err != nil {
		return nil, err
	}
	e.accounts.Store(system.Subject, token)
	opts := &server.Options{
		ServerName: "postroom-" + string(e.team), Host: host, Port: port, NoSigs: true, MaxPayload: maxPayload,
		TLSConfig: tls, TLS: true, TLSHandshakeFirst: true, TLSTimeout: 5, AuthTimeout: 5, PingInterval: 20 * time.Second, MaxPingsOut: 2,
		JetStreamLimits: server.JSLimitOpts{DefaultMaxConsumers: -1}, // a station is a consumer, and the server's own limit is 1,000
		JetStream:       true, StoreDir: filepath.Join(o.Dir, "store"), SyncInterval: syncEvery, DisableJetStreamBanner: true,
		TrustedOperators: []*jwt.OperatorClaims{operator}, SystemAccount: system.Subject, AccountResolver: e.accounts, DefaultSentinel: guest,
		FeatureFlags: map[string]bool{server.FeatureFlagJsAckFormatV2: false}, // memberMay allows the other form only
	}
	return opts, o.Cluster.join(opts, string(e.team))
}

// join adds the other servers.
func (c *Cluster) join(opts *server.Options, team string) error {
	if c == nil {
		return nil
	}
	host, port, err := hostPort(c.Listen)
	if err != nil {
		return err
	}
	opts.ServerName = c.Server
	opts.Cluster = server.ClusterOpts{Name: "postroom-" + team, Host: host, Port: port}
	opts.Routes = server.RoutesFromStr(strings.Join(c.Routes, ","))
	return nil
}

// free says at once that an address can't be had; the server would only log it.
func free(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return &mail.Error{Op: "start the hub", Kind: mail.KindConflict, Addr: addr, Err: errors.New(natslink.Why(err)),
			Hint: "does another program listen there? choose another address with --listen HOST:PORT"}
	}
	return l.Close()
}

func hostPort(addr string) (string, int, error) {
	host, port, err := net.SplitHostPort(addr)
	n, perr := strconv.Atoi(port)
	if err != nil || perr != nil || n < 0 || n > 65535 {
		return "", 0, &mail.Error{Op: "start the hub", Kind: mail.KindUsage, Addr: mail.Neutralise(addr, false), Err: errors.New("is not HOST:PORT"), Hint: "say --listen 0.0.0.0:4222, for example"}
	}
	if n == 0 {
		n = server.RANDOM_PORT
	}
	return host, n, nil
}

// guest is the JWT of everybody who shows none.
func (e *engine) guest() (string, error) {
	kp, err := nkeys.CreateUser() // nobody has it: a bearer's JWT needs no signature
	if err != nil {
		return "", err
	}
	if e.guestKey, err = kp.PublicKey(); err != nil {
		return "", err
	}
	return e.keys.user(e.keys.Guest, guestName, e.guestKey)
}

// publishAccount makes the team's account from the keys and who is out.
func (e *engine) publishAccount(revoked []string) (*jwt.AccountClaims, error) {
	claims, err := e.keys.account(e.team, revoked)
	if err != nil {
		return nil, err
	}
	token, err := e.keys.sign(claims)
	if err != nil {
		return nil, err
	}
	if err := e.accounts.Store(claims.Subject, token); err != nil {
		return nil, err
	}
	return jwt.DecodeAccountClaims(token)
}

// expel makes the server refuse these keys from now on, and ends their
// connections.
func (e *engine) expel(revoked []string) error {
	claims, err := e.publishAccount(revoked)
	if err != nil {
		return err
	}
	account, err := e.srv.LookupAccount(claims.Subject)
	if err != nil {
		return err
	}
	e.srv.UpdateAccountClaims(account, claims)
	return nil
}

// control connects the hub to its own server, within the process.
func (e *engine) control() (*nats.Conn, error) {
	token, err := e.adminJWT()
	if err != nil {
		return nil, err
	}
	return nats.Connect("", nats.InProcessServer(e.srv), nats.Name("postroom hub"), quiet(), nats.UserJWTAndSeed(token, e.keys.Control), nats.MaxReconnects(-1))
}

// quiet keeps nats.go from writing to standard error: what a connection has to say,
// its calls return.
func quiet() nats.Option {
	return nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
}

// adminJWT is the hub's own user's.
func (e *engine) adminJWT() (string, error) {
	_, key, err := pair(e.keys.Control)
	if err != nil {
		return "", err
	}
	return e.keys.user(e.keys.Admin, "hub", key)
}

func (e *engine) stop() {
	e.srv.Shutdown()
	e.srv.WaitForShutdown()
}

// logger passes on what goes wrong; the server says nothing about mail.
type logger struct{ log *slog.Logger }

func (l logger) Noticef(string, ...any) {}
func (l logger) Debugf(string, ...any)  {}
func (l logger) Tracef(string, ...any)  {}
func (l logger) Warnf(f string, v ...any) {
	if strings.HasPrefix(f, "Clients that are not using") { // "TLS Handshake First": ours all do
		return
	}
	l.log.Warn("hub: " + mail.Neutralise(fmt.Sprintf(f, v...), false))
}
func (l logger) Errorf(f string, v ...any) {
	l.log.Error("hub: " + mail.Neutralise(fmt.Sprintf(f, v...), false))
}
func (l logger) Fatalf(f string, v ...any) { l.Errorf(f, v...) }
