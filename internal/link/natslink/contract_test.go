package natslink_test

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/nats-io/nkeys"

	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/link/hub"
	"github.com/postroom/postroom/internal/link/linktest"
	"github.com/postroom/postroom/internal/link/natslink"
)

func TestContract(t *testing.T) {
	t.Parallel()
	linktest.Contract(t, func(t *testing.T) linktest.Network { return newTeam(t) })
}

// team is a hub and its stations, each behind a relay of its own.
type team struct {
	hub    *hub.Hub
	mu     sync.Mutex
	users  map[string]natslink.User
	relays map[string]*relay
}

func newTeam(t *testing.T) *team {
	h, err := hub.Start(t.Context(), hub.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return &team{hub: h, users: map[string]natslink.User{}, relays: map[string]*relay{}}
}

func (n *team) Wire(t *testing.T, station string) link.Wire {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, joined := n.users[station]; !joined {
		n.relays[station] = newRelay(t, n.hub.Addrs()[0])
		n.users[station] = n.join(t, station)
	}
	w, err := natslink.Open(natslink.Options{Team: n.hub.Team(), Station: station, Pin: n.hub.Pin(),
		URLs: []string{"tls://" + n.relays[station].addr()}, User: n.users[station]})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	for !w.State().Up {
		select {
		case <-w.Changed():
		case <-t.Context().Done():
			t.Fatal("never up")
		}
	}
	return w
}

func (n *team) join(t *testing.T, station string) natslink.User {
	t.Helper()
	line, err := n.hub.Invite(0)
	if err != nil {
		t.Fatal(err)
	}
	key, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := key.Seed()
	if err != nil {
		t.Fatal(err)
	}
	m, err := hub.Join(t.Context(), line, station, string(seed))
	if err != nil {
		t.Fatal(err)
	}
	return m.User
}

func (n *team) SetDown(_ *testing.T, station string, down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.relays[station].set(down)
}

func (n *team) Revoke(t *testing.T, station string) {
	t.Helper()
	if err := n.hub.Revoke(t.Context(), station); err != nil {
		t.Fatal(err)
	}
}

// relay passes bytes on until it is cut.
type relay struct {
	l    net.Listener
	to   string
	mu   sync.Mutex
	down bool
	open map[net.Conn]bool
}

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{l: l, to: to, open: map[net.Conn]bool{}}
	t.Cleanup(func() { l.Close(); r.set(true) })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go r.carry(c)
		}
	}()
	return r
}

func (r *relay) addr() string { return r.l.Addr().String() }

func (r *relay) carry(c net.Conn) {
	defer c.Close()
	far, err := net.Dial("tcp", r.to)
	if err != nil {
		return
	}
	defer far.Close()
	if !r.keep(c, far) {
		return
	}
	go func() {
		io.Copy(far, c)
		far.Close()
	}()
	io.Copy(c, far)
}

// keep remembers connections so that they can be cut; false if it is cut already.
func (r *relay) keep(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		r.open[c] = true
	}
	return !r.down
}

func (r *relay) set(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
	if down {
		for c := range r.open {
			c.Close()
		}
		clear(r.open)
	}
}
