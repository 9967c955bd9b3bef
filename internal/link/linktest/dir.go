// Package linktest has what tests of the link need: a wire that is a directory,
// and the contract that every wire has to keep.
package linktest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/postroom/postroom/internal/link"
)

// Hub is a directory as the wire of one team: its stations are in this process.
// Mail that was not acknowledged survives the Hub, as it does a hub's restart.
type Hub struct {
	Dir string
	// Again is how long a parcel may stay unanswered before it comes again; 0: 1 s.
	Again time.Duration

	mu      sync.Mutex
	changed *sync.Cond
	down    map[string]bool
	revoked map[string]bool
	seen    map[string]bool // dedup names
	next    int
	notify  map[string]chan struct{}
}

// NewHub opens a directory as a hub.
func NewHub(dir string) *Hub {
	h := &Hub{Dir: dir, down: map[string]bool{}, revoked: map[string]bool{}, seen: map[string]bool{}, notify: map[string]chan struct{}{}}
	h.changed = sync.NewCond(&h.mu)
	for _, d := range []string{"mail", "cards"} {
		os.MkdirAll(filepath.Join(dir, d), 0o700)
	}
	names, _ := os.ReadDir(filepath.Join(dir, "mail"))
	h.next = len(names)
	for _, n := range names {
		fmt.Sscanf(n.Name(), "%d", &h.next)
	}
	return h
}

// SetDown cuts a station off, or connects it again.
func (h *Hub) SetDown(station string, down bool) { h.set(h.down, station, down) }

// Revoke throws a station out.
func (h *Hub) Revoke(station string) { h.set(h.revoked, station, true) }

// Readmit lets a station in that was revoked.
func (h *Hub) Readmit(station string) { h.set(h.revoked, station, false) }

func (h *Hub) set(m map[string]bool, station string, to bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m[station] = to
	h.tell()
}

// tell wakes everybody. The caller holds mu.
func (h *Hub) tell() {
	h.changed.Broadcast()
	for _, c := range h.notify {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Wire connects a station.
func (h *Hub) Wire(name string) link.Wire {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := make(chan struct{}, 1)
	h.notify[name] = c
	return &dirWire{hub: h, name: name, since: time.Now(), signal: c, taken: map[string]time.Time{}}
}

// Waiting counts what is on the wire for a station.
func (h *Hub) Waiting(station string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.waiting(station))
}

// Lose throws away what is on the wire for a station, as a power cut may, and
// returns how much it was.
func (h *Hub) Lose(station string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := h.waiting(station)
	for _, n := range names {
		os.Remove(filepath.Join(h.Dir, "mail", n))
	}
	return len(names)
}

// waiting lists the files for a station: "000012 from to kind".
func (h *Hub) waiting(station string) (out []string) {
	names, _ := os.ReadDir(filepath.Join(h.Dir, "mail"))
	for _, n := range names {
		if parts := strings.Fields(n.Name()); len(parts) == 4 && parts[2] == station {
			out = append(out, n.Name())
		}
	}
	slices.Sort(out)
	return out
}

type dirWire struct {
	hub    *Hub
	name   string
	since  time.Time
	signal chan struct{}

	mu    sync.Mutex
	taken map[string]time.Time // until when a parcel is out
}

func (w *dirWire) Publish(to string, kind link.Kind, dedup string, data []byte) <-chan error {
	done := make(chan error, 1)
	done <- w.publish(to, kind, dedup, data)
	return done
}

func (w *dirWire) publish(to string, kind link.Kind, dedup string, data []byte) error {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.revoked[w.name]:
		return link.ErrRevoked
	case h.down[w.name]:
		return link.ErrDown
	case h.seen[w.name+" "+to+" "+dedup]:
		return nil
	}
	h.seen[w.name+" "+to+" "+dedup] = true
	h.next++
	err := os.WriteFile(filepath.Join(h.Dir, "mail", fmt.Sprintf("%09d %s %s %s", h.next, w.name, to, kind)), data, 0o600)
	h.tell()
	return err
}

func (w *dirWire) Receive(ctx context.Context, take func([]link.Parcel)) error {
	h := w.hub
	again := h.Again
	if again == 0 {
		again = time.Second
	}
	stop := context.AfterFunc(ctx, func() { h.mu.Lock(); h.changed.Broadcast(); h.mu.Unlock() })
	defer stop()
	tick := time.NewTicker(again / 4)
	defer tick.Stop()
	go func() { // what was put off comes again without an event
		for range tick.C {
			if ctx.Err() != nil {
				return
			}
			h.mu.Lock()
			h.changed.Broadcast()
			h.mu.Unlock()
		}
	}()
	for {
		h.mu.Lock()
		batch := w.fetch(again)
		for len(batch) == 0 && ctx.Err() == nil {
			h.changed.Wait()
			batch = w.fetch(again)
		}
		h.mu.Unlock()
		if ctx.Err() != nil {
			return nil
		}
		take(batch)
	}
}

// fetch takes what is due. The caller holds the hub's mu.
func (w *dirWire) fetch(again time.Duration) (batch []link.Parcel) {
	if w.hub.down[w.name] || w.hub.revoked[w.name] {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.hub.waiting(w.name) {
		if len(batch) == 64 || time.Now().Before(w.taken[n]) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(w.hub.Dir, "mail", n))
		if err != nil {
			continue
		}
		w.taken[n] = time.Now().Add(again)
		batch = append(batch, &dirParcel{w: w, name: n, from: strings.Fields(n)[1], data: data})
	}
	return batch
}

func (w *dirWire) PutCard(_ context.Context, data []byte) error {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down[w.name] {
		return link.ErrDown
	}
	err := os.WriteFile(filepath.Join(h.Dir, "cards", w.name), data, 0o600)
	h.tell()
	return err
}

func (w *dirWire) Cards(context.Context) (map[string]link.Card, error) {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down[w.name] {
		return nil, link.ErrDown
	}
	out := map[string]link.Card{}
	names, err := os.ReadDir(filepath.Join(h.Dir, "cards"))
	for _, n := range names {
		data, rerr := os.ReadFile(filepath.Join(h.Dir, "cards", n.Name()))
		err = errors.Join(err, rerr)
		out[n.Name()] = link.Card{Data: data}
	}
	for n, revoked := range h.revoked {
		c := out[n]
		c.Revoked = revoked
		out[n] = c
	}
	return out, err
}

func (w *dirWire) Changed() <-chan struct{} { return w.signal }

func (w *dirWire) State() link.State {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	s := link.State{Up: !h.down[w.name] && !h.revoked[w.name], Since: w.since, Hub: "dir:" + h.Dir}
	if !s.Up {
		s.Why = "cut off by the test"
	}
	return s
}

// Close gives back what was taken.
func (w *dirWire) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.taken)
	return nil
}

type dirParcel struct {
	w          *dirWire
	name, from string
	data       []byte
}

func (p *dirParcel) Data() []byte { return p.data }
func (p *dirParcel) From() string { return p.from }

func (p *dirParcel) Ack(context.Context) error {
	h := p.w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down[p.w.name] {
		return link.ErrDown
	}
	err := os.Remove(filepath.Join(h.Dir, "mail", p.name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func (p *dirParcel) Nak(delay time.Duration) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.w.taken[p.name] = time.Now().Add(delay)
}

func (p *dirParcel) Term(string) { p.Ack(context.Background()) }
