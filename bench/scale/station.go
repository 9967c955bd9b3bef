package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/link/hub"
	"github.com/postroom/postroom/internal/link/natslink"
)

// station is one that is simulated: a real member of the team without an office.
type station struct {
	name   string
	key    nkeys.KeyPair
	curve  string
	member hub.Member
	wire   *natslink.Wire
	sim    *sim

	known  atomic.Int64 // cards
	read   atomic.Int64 // times that cards were asked for
	newest atomic.Int64 // the time on s0's card, as it knows it
	mu     sync.Mutex
	wait   map[string]chan struct{} // by message: closed when its receipt is here
}

func newStation(s *sim, i int) (*station, error) {
	st := &station{name: fmt.Sprintf("s%d", i), sim: s, wait: map[string]chan struct{}{}}
	var err error
	if st.key, err = nkeys.CreateUser(); err != nil {
		return nil, err
	}
	curve, err := nkeys.CreateCurveKeys()
	if err != nil {
		return nil, err
	}
	st.curve, err = curve.PublicKey()
	return st, err
}

func (st *station) join(ctx context.Context, line hub.Line) error {
	seed, err := st.key.Seed()
	if err == nil {
		st.member, err = hub.Join(ctx, line, st.name, string(seed))
	}
	return err
}

// open connects, and receives until ctx ends.
func (st *station) open(ctx context.Context) (err error) {
	m := st.member
	if st.wire, err = natslink.Open(natslink.Options{Team: m.Team, Station: st.name, URLs: m.URLs, Pin: m.Pin, User: m.User}); err != nil {
		return err
	}
	go st.wire.Receive(ctx, st.take)
	for !st.wire.State().Up {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// follow reads cards as the link's engine does: when told that some changed,
// and again after a time.
func (st *station) follow(ctx context.Context) {
	again := time.NewTicker(cardsEvery)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-st.wire.Changed():
		case <-again.C:
		}
		if !st.wire.State().Up {
			continue
		}
		cards, err := st.wire.Cards(ctx)
		st.read.Add(1)
		if err != nil {
			st.sim.failed(err)
			select {
			case <-time.After(cardsRetry):
				st.again(ctx)
			case <-ctx.Done():
			}
			continue
		}
		st.see(cards)
	}
}

// failed counts cards that could not be read, and keeps a reason.
func (s *sim) failed(err error) {
	s.failures.Add(1)
	s.why.Store(err.Error())
}

// again is for what was not read.
func (st *station) again(ctx context.Context) {
	if cards, err := st.wire.Cards(ctx); err == nil {
		st.see(cards)
	} else {
		st.sim.failed(err)
	}
}

func (st *station) see(cards map[string]link.Card) {
	st.known.Store(int64(len(cards)))
	line, _, _ := bytes.Cut(cards["s0"].Data, []byte("\n"))
	var a link.About
	if json.Unmarshal(line, &a) == nil {
		st.newest.Store(a.At.UnixNano())
	}
}

// The engine's times (internal/link).
const (
	cardsEvery = 10 * time.Minute
	cardsRetry = 2 * time.Second
)

// card is what a station of so many agents publishes.
func (st *station) card(agents int, at time.Time) ([]byte, error) {
	a := link.About{V: 1, Team: string(st.member.Team), Station: st.name, Office: "o-" + st.name, Curve: st.curve, At: at}
	var err error
	if a.Key, err = st.key.PublicKey(); err != nil {
		return nil, err
	}
	for i := range agents {
		a.Agents = append(a.Agents, link.Agent{Name: fmt.Sprintf("agent%d", i), AID: fmt.Sprintf("a-%x%04x", []byte(st.name), i), Role: "coder", Runtime: "claude"})
	}
	data, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	sig, err := st.key.Sign(append([]byte("postroom link card 1\n"), data...))
	return append(append(data, '\n'), base64.StdEncoding.EncodeToString(sig)...), err
}

// take is the other end: a receipt for each message, then the acknowledgements.
func (st *station) take(ps []link.Parcel) {
	var wg sync.WaitGroup
	for _, p := range ps {
		id, _, _ := strings.Cut(string(p.Data()), "\n")
		kind, id, _ := strings.Cut(id, " ")
		if kind == string(link.Receipt) {
			st.mu.Lock()
			if done := st.wait[id]; done != nil {
				close(done)
				delete(st.wait, id)
			}
			st.mu.Unlock()
		}
		wg.Go(func() {
			if kind == string(link.Mail) {
				<-st.wire.Publish(p.From(), link.Receipt, "r-"+id, fill(link.Receipt, id, 500))
			}
			p.Ack(context.Background())
		})
	}
	wg.Wait()
}

func fill(kind link.Kind, id string, size int) []byte {
	head := string(kind) + " " + id + "\n"
	return append([]byte(head), bytes.Repeat([]byte("x"), size-len(head))...)
}

// send carries one message to another station and waits for its receipt.
func (st *station) send(ctx context.Context, to string) error {
	id := rand.Text()
	done := make(chan struct{})
	st.mu.Lock()
	st.wait[id] = done
	st.mu.Unlock()
	if err := <-st.wire.Publish(to, link.Mail, id, fill(link.Mail, id, 1900)); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-time.After(time.Minute):
		return fmt.Errorf("no receipt of %s after a minute", to)
	case <-ctx.Done():
		return ctx.Err()
	}
}
