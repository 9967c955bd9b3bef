package natslink

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/mail"
)

const (
	dialTimeout = 5 * time.Second
	pingEvery   = 5 * time.Second
	pingsOut    = 2
	slowest     = 5 * time.Second // between two attempts to connect
)

// errPin: whoever answers is not the hub that this station joined.
var errPin = errors.New("answers with another key than the hub that was joined")

// PinOf is how a hub's key stands in a join line: SHA-256 of the certificate's
// public key, in hex. The rest of the certificate does not count, its dates
// neither: a clock may be wrong.
func PinOf(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:])
}

// Dialing are the options by which anybody connects to a hub of ours: its key
// is checked before a byte is said.
func Dialing(pin string) []nats.Option {
	if pin == "" {
		return nil
	}
	return []nats.Option{nats.Secure(&tls.Config{
		MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, // the pin is checked instead
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || PinOf(s.PeerCertificates[0]) != pin {
				return errPin
			}
			return nil
		}}), nats.TLSHandshakeFirst(), nats.IgnoreDiscoveredServers()}
}

func (w *Wire) connect() (*nats.Conn, error) {
	if len(w.o.URLs) == 0 {
		return nil, &mail.Error{Op: "link", Kind: mail.KindInvalid, Addr: w.o.Station, Err: errors.New("no hub's address"), Hint: "join again: post link join"}
	}
	who, err := w.credentials()
	if err != nil {
		return nil, err
	}
	opts := append(Dialing(w.o.Pin), who, nats.Name("postroom "+w.o.Station), nats.CustomInboxPrefix(InboxPrefix(w.o.Station)),
		nats.MaxReconnects(-1), nats.DontRandomize(), nats.RetryOnFailedConnect(true), nats.ReconnectBufSize(-1), nats.IgnoreAuthErrorAbort(),
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(pingsOut), nats.Timeout(dialTimeout), nats.CustomReconnectDelay(backoff),
		nats.ConnectHandler(w.up), nats.ReconnectHandler(w.up), nats.DisconnectErrHandler(w.lost), nats.ReconnectErrHandler(w.lost),
		nats.ErrorHandler(w.complained))
	nc, err := nats.Connect(strings.Join(w.o.URLs, ","), opts...)
	if err != nil {
		return nil, &mail.Error{Op: "link", Kind: mail.KindInvalid, Addr: host(first(w.o.URLs)), Err: err, Hint: "look at link/station.json, or join again: post link join"}
	}
	return nc, nil
}

func backoff(attempts int) time.Duration {
	return min(250*time.Millisecond<<min(attempts, 6), slowest)
}

// credentials says who we are: asked anew for each connection, so that Use works.
func (w *Wire) credentials() (nats.Option, error) {
	if w.o.Creds == "" {
		if _, err := nkeys.FromSeed([]byte(w.o.User.Seed)); err != nil {
			return nil, &mail.Error{Op: "link", Kind: mail.KindInvalid, Addr: "link/seed", Err: errors.New("is no nkey seed"), Hint: "join again: post link join"}
		}
		return nats.UserJWT(func() (string, error) { return w.currentUser().JWT, nil },
			func(nonce []byte) ([]byte, error) { return Sign(w.currentUser().Seed, nonce) }), nil
	}
	data, err := os.ReadFile(w.o.Creds)
	if err != nil {
		return nil, &mail.Error{Op: "link", Kind: mail.KindStore, Addr: w.o.Creds, Err: err, Hint: "give the file with --creds again"}
	}
	text := strings.TrimSpace(string(data))
	user, password, pair := strings.Cut(text, ":")
	switch {
	case bytes.Contains(data, []byte("BEGIN NATS USER JWT")):
		return nats.UserCredentials(w.o.Creds), nil
	case strings.HasPrefix(text, "SU") && !strings.ContainsAny(text, "\n: "):
		return nats.NkeyOptionFromSeed(w.o.Creds)
	case pair && !strings.Contains(text, "\n"):
		return nats.UserInfo(user, password), nil
	}
	return nil, &mail.Error{Op: "link", Kind: mail.KindInvalid, Addr: w.o.Creds, Err: errors.New("holds neither NATS credentials, nor an nkey seed, nor user:password"),
		Hint: "ask the server's admin for a .creds file"}
}

// Sign signs with an nkey seed.
func Sign(seed string, data []byte) ([]byte, error) {
	kp, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return nil, err
	}
	defer kp.Wipe()
	return kp.Sign(data)
}

func (w *Wire) currentUser() User {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.user
}

func (w *Wire) up(nc *nats.Conn) {
	w.missed()
	w.set(link.State{Up: true, Hub: host(nc.ConnectedUrl())}, false)
}

func (w *Wire) lost(nc *nats.Conn, err error) {
	if w.closing.Err() != nil {
		return
	}
	revoked := errors.Is(err, nats.ErrAuthRevoked) || w.o.Pin != "" && errors.Is(err, nats.ErrAuthorization)
	w.set(link.State{Why: why(err, revoked), Hub: host(first(w.o.URLs))}, revoked)
}

// complained is asked for errors that are of no call of ours.
func (w *Wire) complained(_ *nats.Conn, _ *nats.Subscription, err error) {
	switch {
	case errors.Is(err, nats.ErrAuthRevoked):
		w.set(link.State{Why: why(err, true), Hub: host(first(w.o.URLs))}, true)
	case w.closing.Err() == nil:
		w.o.Log.Debug("link", "hub", host(first(w.o.URLs)), "said", err)
	}
}

// set takes over a new state. What nobody has an answer to keeps the older
// reason: after a revocation comes "connection closed".
func (w *Wire) set(s link.State, revoked bool) {
	w.mu.Lock()
	same := w.state.Up == s.Up && !w.state.Since.IsZero()
	s.Since = w.state.Since
	if !same {
		s.Since = time.Now()
	}
	if s.Up {
		w.gone = false
	}
	if w.gone = w.gone || revoked; w.gone && !revoked {
		s.Why = w.state.Why
	}
	if s.Why == "" && !s.Up {
		s.Why = w.state.Why
	}
	quiet := same && s.Why == w.state.Why
	w.state = s
	w.mu.Unlock()
	if !quiet {
		w.tell()
	}
}

// Why says in plain words why nothing came of a connection or a request.
func Why(err error) string { return why(err, false) }

// why says in plain words why there is no connection, in one line.
func why(err error, revoked bool) string {
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case revoked:
		return "the hub does not let this station in any more: it was revoked, or has left"
	case err == nil, errors.Is(err, nats.ErrStaleConnection):
		return "the hub does not answer"
	case errors.Is(err, errPin):
		return "whoever answers there has another key than the hub that was joined; if the hub was set up anew, join again"
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired):
		return "the server does not accept these credentials"
	case errors.Is(err, nats.ErrNoServers):
		return "nobody answers there"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nobody listens there: is post hub running?"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "no network leads there"
	case errors.As(err, &dns):
		return fmt.Sprintf("the name %s is not known here", mail.Neutralise(dns.Name, false))
	case errors.As(err, &timeout) && timeout.Timeout():
		return "the hub does not answer"
	}
	return mail.Neutralise(strings.TrimPrefix(err.Error(), "nats: "), false)
}

// host is a URL as it may be shown: without what is secret in it.
func host(raw string) string {
	if u, err := url.Parse(raw); err == nil && u.Host != "" {
		return u.Host
	}
	return raw[strings.LastIndex(raw, "@")+1:]
}
