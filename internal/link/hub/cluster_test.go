package hub

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/link/natslink"
)

// cluster is three servers that replicate each other. They have one hub's keys;
// the test is the hub.
type cluster struct {
	t       *testing.T
	state   *state
	options [3]Options
	mu      sync.Mutex
	nodes   [3]*engine
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	s, err := openState(t.TempDir(), "crew", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, state: s}
	var clients, routes [3]string
	for i := range c.nodes {
		clients[i], routes[i] = freeAddr(t), freeAddr(t)
	}
	for i := range c.nodes {
		var urls []string
		for _, r := range routes {
			urls = append(urls, "nats-route://"+r)
		}
		c.options[i] = Options{Dir: filepath.Join(t.TempDir(), fmt.Sprint("n", i)), Listen: clients[i], Replicas: 3,
			Cluster: &Cluster{Server: fmt.Sprint("n", i), Listen: routes[i], Routes: urls}}
	}
	var wg sync.WaitGroup
	for i := range c.nodes {
		wg.Go(func() { c.start(i) })
	}
	wg.Wait()
	t.Cleanup(func() {
		for i := range c.nodes {
			c.kill(i)
		}
		s.close()
	})
	return c
}

// freeAddr is a loopback address that nobody listens on.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (c *cluster) start(i int) {
	e, err := run(c.options[i], c.state.keys, c.state.team(), nil)
	if err != nil {
		c.t.Error(err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[i] = e
}

func (c *cluster) kill(i int) {
	c.mu.Lock()
	e := c.nodes[i]
	c.nodes[i] = nil
	c.mu.Unlock()
	if e != nil {
		e.stop()
	}
}

// leader is the node that leads a stream, -1 for none at present.
func (c *cluster) leader(stream string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, account, err := pair(c.state.keys.Account)
	if err != nil {
		c.t.Fatal(err)
	}
	for i, e := range c.nodes {
		if e != nil && e.srv.JetStreamIsStreamLeader(account, stream) {
			return i
		}
	}
	return -1
}

// prepare makes what a hub makes, through the first node.
func (c *cluster) prepare(stations ...string) {
	c.t.Helper()
	until(c.t, "streams and consumers", func() error {
		nc, err := c.nodes[0].control()
		if err != nil {
			return err
		}
		defer nc.Close()
		js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(2*time.Second))
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Second)
		defer cancel()
		for _, s := range []jetstream.StreamConfig{c.state.team().Mail(3), c.state.team().Directory(3)} {
			if _, err := js.CreateStream(ctx, s); err != nil {
				return err
			}
		}
		for _, name := range stations {
			if _, err := js.CreateOrUpdateConsumer(ctx, c.state.team().Stream(), c.state.team().Consumer(name)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *cluster) wire(station string) *natslink.Wire {
	c.t.Helper()
	seed := newSeed(c.t)
	_, key, err := pair(seed)
	if err != nil {
		c.t.Fatal(err)
	}
	token, err := c.state.keys.user(c.state.keys.Member, station, key)
	if err != nil {
		c.t.Fatal(err)
	}
	pin, err := c.state.keys.pin()
	if err != nil {
		c.t.Fatal(err)
	}
	m := Member{Team: c.state.team(), Station: station, Pin: pin, User: natslink.User{JWT: token, Seed: seed}}
	for _, o := range c.options {
		m.URLs = append(m.URLs, "tls://"+o.Listen)
	}
	return wire(c.t, m)
}

// TestClusterLosesNothing: three nodes, each message on all of them. The one that
// leads the stream is killed and started again, four times, while mail flows.
// Nothing is lost, and what comes twice is what was sent again.
func TestClusterLosesNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("three servers")
	}
	c := newCluster(t)
	c.prepare("ann", "bob")
	a, b := c.wire("ann"), c.wire("bob")
	const count = 4000
	in := receive(t, b)
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		for k := range 4 {
			until(t, "mail flows", func() error { return in.atLeast(k*count/6 + 200) })
			until(t, "a leader", func() error {
				i := c.leader(c.state.team().Stream())
				if i < 0 {
					return fmt.Errorf("there is none")
				}
				c.kill(i)
				c.start(i)
				return nil
			})
		}
	}()
	again := publishAll(t, a, count)
	<-killed
	until(t, "everything", func() error { return in.atLeast(count) })
	in.mu.Lock()
	defer in.mu.Unlock()
	twice := 0
	for _, n := range in.got {
		twice += n - 1
	}
	t.Logf("%d published, %d attempts failed and were repeated, 0 lost, %d came twice", count, again, twice)
}

// publishAll publishes as a station does: many at once, again under a new name
// when an attempt failed.
func publishAll(t *testing.T, w *natslink.Wire, count int) (again int) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, 64)
	for i := range count {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			for try := 0; ; try++ {
				err := <-w.Publish("bob", link.Mail, fmt.Sprint(i, "#", try), []byte(fmt.Sprint(i)))
				if err == nil {
					return
				}
				mu.Lock()
				again++
				mu.Unlock()
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
	wg.Wait()
	return again
}

func (in *inbox) atLeast(n int) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.got) < n {
		return fmt.Errorf("%d of %d", len(in.got), n)
	}
	return nil
}
