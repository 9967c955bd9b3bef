package hub

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/link/natslink"
)

// startHub runs a hub on loopback.
func startHub(t *testing.T, dir, listen string) *Hub {
	t.Helper()
	h, err := Start(t.Context(), Options{Dir: dir, Listen: listen, Team: "crew"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func newSeed(t *testing.T) string {
	t.Helper()
	kp, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := kp.Seed()
	if err != nil {
		t.Fatal(err)
	}
	return string(seed)
}

// joined lets a station in by a join line.
func joined(t *testing.T, h *Hub, station string) Member {
	t.Helper()
	line, err := h.Invite(0)
	if err != nil {
		t.Fatal(err)
	}
	seed := newSeed(t)
	m, err := Join(t.Context(), line, station, seed)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// wire opens a member's wire and waits until it is up.
func wire(t *testing.T, m Member) *natslink.Wire {
	t.Helper()
	w, err := natslink.Open(natslink.Options{Team: m.Team, Station: m.Station, URLs: m.URLs, Pin: m.Pin, User: m.User})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	await(t, w, "up", func(s link.State) bool { return s.Up })
	return w
}

// await waits until a wire's state is as wanted.
func await(t *testing.T, w *natslink.Wire, what string, ok func(link.State) bool) {
	t.Helper()
	until(t, what, func() error {
		if s := w.State(); !ok(s) {
			return fmt.Errorf("state is %+v", s)
		}
		return nil
	})
}

// until asks again until there is no error, for half a minute.
func until(t *testing.T, what string, try func() error) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// inbox collects what a wire receives, acknowledged, until the test ends.
type inbox struct {
	mu  sync.Mutex
	got map[string]int
}

func receive(t *testing.T, w *natslink.Wire) *inbox {
	t.Helper()
	in := &inbox{got: map[string]int{}}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Receive(ctx, func(batch []link.Parcel) {
			var acks sync.WaitGroup
			for _, p := range batch {
				in.mu.Lock()
				in.got[p.From()+": "+string(p.Data())]++
				in.mu.Unlock()
				acks.Go(func() { p.Ack(ctx) })
			}
			acks.Wait()
		})
	}()
	t.Cleanup(func() { stop(); <-done })
	return in
}

func (in *inbox) has(text string) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.got[text] == 0 {
		return fmt.Errorf("has %v, not %q", in.got, text)
	}
	return nil
}

func TestTwoStations(t *testing.T) {
	t.Parallel()
	h := startHub(t, t.TempDir(), "127.0.0.1:0")
	ann, bob := joined(t, h, "ann"), joined(t, h, "bob")
	a, b := wire(t, ann), wire(t, bob)
	if err := <-a.Publish("bob", link.Mail, "1", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	in := receive(t, b)
	until(t, "mail", func() error { return in.has("ann: hello") })
	if err := a.PutCard(t.Context(), []byte("card of ann")); err != nil {
		t.Fatal(err)
	}
	if err := b.PutCard(t.Context(), []byte("card of bob")); err != nil {
		t.Fatal(err)
	}
	cards, err := b.Cards(t.Context())
	if err != nil || len(cards) != 2 || string(cards["ann"].Data) != "card of ann" || cards["ann"].Revoked {
		t.Fatalf("cards are %v, %v", cards, err)
	}
	if err := h.Revoke(t.Context(), "ann"); err != nil {
		t.Fatal(err)
	}
	await(t, a, "down", func(s link.State) bool { return !s.Up })
	if err := <-a.Publish("bob", link.Mail, "2", []byte("me again")); err != link.ErrRevoked {
		t.Fatalf("a revoked station publishes: %v, want ErrRevoked", err)
	}
	cards, err = b.Cards(t.Context())
	if err != nil || !cards["ann"].Revoked || string(cards["ann"].Data) != "card of ann" {
		t.Fatalf("cards are %v, %v", cards, err)
	}
	if cards["bob"].Revoked {
		t.Fatal("bob is marked as revoked")
	}
}

// The disk is fuller than when the hub was new: it starts all the same.
func TestHubStartsOnFullerDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	startHub(t, dir, "127.0.0.1:0").Close()
	if err := os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 8<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	startHub(t, dir, "127.0.0.1:0").Close()
}
