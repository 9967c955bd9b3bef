// Package hub is a team's post office on the network: an embedded NATS server
// with JetStream, who may connect to it, and join lines (docs/links.md).
//
// Invariants. A station publishes as itself and reads what is its own; nothing
// it can send changes that. No private key but the hub's own is ever here. Who is
// in and who is out is on disk before anybody is told. A join line is good once,
// until it expires by the hub's clock. The hub can lose mail, or hold it back; it
// cannot write as a station, because stations sign.
package hub

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/postroom/postroom/internal/link/natslink"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// Options are of one run.
type Options struct {
	Dir    string // the hub's own state: keys, stations, mail on its way
	Team   string // "" for the one it has, or "team"
	Listen string // HOST:PORT; port 0 lets the system choose
	// Addrs are what join lines say, HOST:PORT each; nil: found out from Listen.
	Addrs    []string
	Cluster  *Cluster
	Replicas int
	Log      *slog.Logger
	Now      func() time.Time
}

func (o Options) log() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}

// DefaultTeam is what a team is called that was given no name.
const DefaultTeam = "team"

// Hub is a hub that runs.
type Hub struct {
	o      Options
	state  *state
	engine *engine
	nc     *nats.Conn
	js     jetstream.JetStream
	addrs  []string
	pin    string

	listens string
	ending  context.CancelFunc // of beside
	beside  sync.WaitGroup
	closing sync.Once
	closed  error
}

// Start runs a hub until Close. It is up when Start returns.
func Start(ctx context.Context, o Options) (*Hub, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	s, err := openState(o.Dir, o.Team, o.Now())
	if err != nil {
		return nil, err
	}
	h := &Hub{o: o, state: s}
	if err := h.start(ctx); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

func (h *Hub) start(ctx context.Context) (err error) {
	if h.pin, err = h.state.keys.pin(); err != nil {
		return err
	}
	if h.engine, err = run(h.o, h.state.keys, h.state.team(), h.state.ledger.revokedKeys()); err != nil {
		return err
	}
	h.listens = h.engine.srv.Addr().String()
	if h.addrs = h.o.Addrs; h.addrs == nil {
		h.addrs = reachable(h.engine.srv.Addr().(*net.TCPAddr))
	}
	h.state.ledger.Addrs = h.addrs
	if err := h.state.save(); err != nil {
		return err
	}
	if err := h.open(ctx); err != nil {
		return err
	}
	watching, stop := context.WithCancel(context.Background())
	h.ending = stop
	h.beside.Go(func() { h.watch(watching) })
	return h.state.announce(h.listens)
}

// open connects the hub to its server, makes what is missing there, and answers
// from then on.
func (h *Hub) open(ctx context.Context) error {
	nc, err := h.engine.control()
	if err != nil {
		return err
	}
	h.nc = nc
	if h.js, err = jetstream.New(nc); err != nil {
		return err
	}
	if err := h.prepare(ctx); err != nil {
		return err
	}
	if _, err = h.nc.Subscribe(h.state.team().Service(">"), h.serve); err != nil {
		return err
	}
	return h.nc.Flush()
}

// prepare makes streams and consumers that are missing, and finishes what a
// crash may have left of a revocation.
func (h *Hub) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyIn+time.Duration(len(h.state.ledger.Stations))*perStation)
	defer cancel()
	team := h.state.team()
	for _, c := range []jetstream.StreamConfig{team.Mail(h.o.Replicas), team.Directory(h.o.Replicas)} {
		if err := h.stream(ctx, c); err != nil {
			return err
		}
	}
	if err := h.consumers(ctx); err != nil {
		return err
	}
	for _, out := range h.state.ledger.Revoked {
		if _, again := h.state.ledger.Stations[out.Station]; out.Mark != "" && !again {
			if err := h.clear(ctx, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// stream makes one, asking again while a cluster has no leader yet.
func (h *Hub) stream(ctx context.Context, c jetstream.StreamConfig) error {
	for {
		_, err := h.js.Stream(ctx, c.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			_, err = h.js.CreateStream(ctx, c)
		}
		if err == nil {
			return nil
		}
		var api *jetstream.APIError
		if h.o.Cluster == nil || errors.As(err, &api) && api.Code != 503 {
			return &mail.Error{Op: "start the hub", Kind: mail.KindStore, Addr: c.Name, Err: err, Hint: "is there room on the disk?"}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// perStation is how much longer a hub may take to start for each station.
const perStation = 100 * time.Millisecond

// consumers makes those that are missing or of an older version. Asking for the
// whole list is cheap; making each again, while all stations come back, is not.
func (h *Hub) consumers(ctx context.Context) error {
	team := h.state.team()
	stream, err := h.js.Stream(ctx, team.Stream())
	if err != nil {
		return err
	}
	right := map[string]bool{}
	list := stream.ListConsumers(ctx)
	for c := range list.Info() {
		want := team.Consumer(c.Name)
		right[c.Name] = c.Config.FilterSubject == want.FilterSubject && c.Config.AckPolicy == want.AckPolicy && c.Config.AckWait == want.AckWait &&
			c.Config.MaxAckPending == want.MaxAckPending && c.Config.MaxDeliver == want.MaxDeliver
	}
	if err := list.Err(); err != nil {
		return err
	}
	for name := range h.state.ledger.Stations {
		if right[name] {
			continue
		}
		if err := h.consumer(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (h *Hub) consumer(ctx context.Context, station string) error {
	_, err := h.js.CreateOrUpdateConsumer(ctx, h.state.team().Stream(), h.state.team().Consumer(station))
	return err
}

// Close stops the server. What waits is on disk. It may be called again.
func (h *Hub) Close() error {
	h.closing.Do(func() {
		if h.ending != nil {
			h.ending()
			h.beside.Wait()
		}
		if h.nc != nil {
			h.nc.Close()
		}
		if h.engine != nil {
			h.engine.stop()
		}
		h.closed = h.state.close()
	})
	return h.closed
}

// Addrs are the addresses that join lines say.
func (h *Hub) Addrs() []string { return h.addrs }

// Pin is the hub's key, as join lines pin it.
func (h *Hub) Pin() string { return h.pin }

// Listens is the address that it listens on.
func (h *Hub) Listens() string { return h.listens }

// Nearby is its address for this machine alone.
func (h *Hub) Nearby() string { return nearby(h.Listens()) }

// Knows reports whether a station is in the team.
func (h *Hub) Knows(station string) bool {
	h.state.mu.Lock()
	defer h.state.mu.Unlock()
	return h.state.ledger.Stations[station] != nil
}

// Team is the team's name.
func (h *Hub) Team() natslink.Team { return h.state.team() }

// Invite makes one more join line, good for one station, for so long.
func (h *Hub) Invite(good time.Duration) (Line, error) {
	h.state.mu.Lock()
	defer h.state.mu.Unlock()
	return h.state.line(h.o.Now(), good)
}

// reachable are the addresses by which others may reach a listener: itself, or
// all of this machine's that are not loopback ones if it listens on all.
func reachable(at *net.TCPAddr) []string {
	port := strconv.Itoa(at.Port)
	if !at.IP.IsUnspecified() {
		return []string{net.JoinHostPort(at.IP.String(), port)}
	}
	var list []string
	addrs, err := net.InterfaceAddrs()
	if err == nil {
		for _, a := range addrs {
			ip, ok := a.(*net.IPNet)
			if ok && ip.IP.IsGlobalUnicast() && (ip.IP.To4() != nil || at.IP.To4() == nil) {
				list = append(list, net.JoinHostPort(ip.IP.String(), port))
			}
		}
	}
	slices.SortStableFunc(list, func(a, b string) int { return len(a) - len(b) }) // IPv4 first
	if name, err := os.Hostname(); err == nil && name != "" {
		list = append(list, net.JoinHostPort(name, port)) // for when the address changes
	}
	if len(list) > 8 {
		list = list[:8]
	}
	if len(list) == 0 {
		list = append(list, net.JoinHostPort("127.0.0.1", port))
	}
	return list
}

// openReal opens the directory, making it for this user alone.
func openReal(dir string) (*vfs.Real, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &mail.Error{Op: "open the hub's directory", Kind: mail.KindStore, Addr: dir, Err: err, Hint: "choose another with --dir"}
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, &mail.Error{Op: "open the hub's directory", Kind: mail.KindStore, Addr: dir, Err: err, Hint: "choose another with --dir"}
	}
	return vfs.OpenReal(dir)
}
