// Package natslink is the link.Wire over NATS JetStream: envelopes in a
// work-queue stream, a durable consumer for each station, cards in a stream that
// keeps the newest of each (docs/links.md).
//
// Invariants. What the wire has is durable at the hub, or at most a second away
// from it: end-to-end receipts make up for that second. It keeps no second
// buffer: what can't be published now is said to the caller. It comes back by
// itself, whatever happened to the network or the hub. It trusts a hub of ours by
// the key in the join line, and nothing else about it.
package natslink

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/postroom/postroom/internal/link"
)

// Options say where the hub is and who speaks.
type Options struct {
	Team    Team
	Station string
	URLs    []string // of the hub or cluster; the first that answers
	// Pin is the hub's key (PinOf). Without it the system's certificates count,
	// for a server that is not a hub of ours.
	Pin string
	// User is who this station is to a hub of ours.
	User User
	// Creds is a file that lets it in to another server: a NATS credentials file,
	// an nkey seed, or a line "user:password". Not with User.
	Creds string
	// Manage makes streams and consumer where they are missing, with Replicas.
	Manage   bool
	Replicas int
	Log      *slog.Logger // nil: none
}

// Wire is a link.Wire.
type Wire struct {
	o       Options
	nc      *nats.Conn
	js      jetstream.JetStream
	changed chan struct{}
	nonce   string // before what JetStream tells duplicates by, so that nobody guesses it
	closing context.Context
	close   context.CancelFunc
	busy    sync.WaitGroup // Receive
	dir     directory

	mu    sync.Mutex
	user  User
	state link.State
	gone  bool             // thrown out
	given map[*parcel]bool // to whoever receives, and not answered
}

// Open returns at once; the connection is made, and made again, behind it.
// Errors are of what never works: no URL, a key that is none, a credentials file
// that can't be read.
func Open(o Options) (*Wire, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	w := &Wire{o: o, user: o.User, changed: make(chan struct{}, 1), nonce: rand.Text(), given: map[*parcel]bool{},
		dir: directory{cards: map[string]link.Card{}, told: map[string]time.Time{}}}
	w.closing, w.close = context.WithCancel(context.Background())
	w.state = link.State{Since: time.Now(), Why: "not connected yet", Hub: host(first(o.URLs))}
	nc, err := w.connect()
	if err != nil {
		w.close()
		return nil, err
	}
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(maxInFlight), jetstream.WithPublishAsyncTimeout(publishTimeout))
	if err != nil {
		nc.Close()
		return nil, err
	}
	w.nc, w.js = nc, js
	w.dir.mu.Lock()
	w.dir.sub, err = nc.Subscribe(o.Team.CardSubject("*"), w.announced)
	w.dir.mu.Unlock()
	if err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// Use has the connection made anew as another user: rotated keys.
func (w *Wire) Use(u User) error {
	w.mu.Lock()
	w.user = u
	w.mu.Unlock()
	return w.nc.ForceReconnect()
}

// Station is whose wire it is.
func (w *Wire) Station() string { return w.o.Station }

// Changed is link.Wire's.
func (w *Wire) Changed() <-chan struct{} { return w.changed }

func (w *Wire) tell() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// State is link.Wire's.
func (w *Wire) State() link.State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// Close is link.Wire's.
func (w *Wire) Close() error {
	w.close()
	w.busy.Wait()
	w.giveBack()
	w.flush()
	w.nc.Close()
	return nil
}

// flush sees what was given back off, where there is somebody to take it.
func (w *Wire) flush() {
	if w.nc.IsConnected() {
		w.nc.FlushTimeout(giveBack)
	}
}

// down is what a call gets while nothing can be sent.
func (w *Wire) down(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return link.ErrRevoked
	}
	return errors.Join(link.ErrDown, err)
}

func first(urls []string) string {
	if len(urls) == 0 {
		return ""
	}
	return urls[0]
}

var _ link.Wire = (*Wire)(nil)
