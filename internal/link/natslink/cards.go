package natslink

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/mail"
)

const (
	askTimeout = 10 * time.Second
	asksAtOnce = 32
	settles    = time.Second     // by then a card that was announced is stored
	healAfter  = 5 * time.Second // between two times of publishing one's own card again
	allAgain   = 5 * time.Minute // what a lost announcement hides is seen by then; later in a large team
	// perCard keeps what a team asks of its hub in proportion to the team: every
	// station that reads all is the square of it.
	perCard = time.Second
	// spread is the time for each card over which the stations of a hub that came
	// back ask for all of them again.
	spread = 50 * time.Millisecond
)

// directory is what is known of the cards. An announcement brings the card
// itself; what may have been missed is asked for.
type directory struct {
	mu      sync.Mutex
	cards   map[string]link.Card
	told    map[string]time.Time // when it was announced
	taken   int64                // how many announcements were
	sub     *nats.Subscription   // to them
	due     map[string]bool      // to be read
	allAt   time.Time            // when all have to be read again
	own     []byte               // as it was put last
	healing time.Time
}

// PutCard is link.Wire's.
func (w *Wire) PutCard(ctx context.Context, data []byte) error {
	if !w.State().Up {
		return w.down(nil)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if _, err := w.js.PublishMsg(ctx, &nats.Msg{Subject: w.o.Team.CardSubject(w.o.Station), Data: data}); err != nil {
		return w.refused(err)
	}
	w.dir.mu.Lock()
	w.dir.own = bytes.Clone(data)
	w.dir.cards[w.o.Station], w.dir.told[w.o.Station] = link.Card{Data: w.dir.own}, time.Now()
	w.dir.mu.Unlock()
	return nil
}

// announced takes a card that was published: only its station can, as with what
// is stored.
func (w *Wire) announced(m *nats.Msg) {
	defer func() {
		w.dir.mu.Lock()
		w.dir.taken++
		w.dir.mu.Unlock()
	}()
	station := strings.TrimPrefix(m.Subject, w.o.Team.CardSubject(""))
	if _, err := mail.ParseStation(station); err != nil || len(m.Data) > maxCard {
		return
	}
	c := w.card(station, m)
	if len(m.Data) == 0 && !c.Revoked {
		return
	}
	w.dir.mu.Lock()
	w.dir.cards[station] = c
	w.dir.told[station] = time.Now()
	delete(w.dir.due, station)
	w.dir.mu.Unlock()
	w.tell()
	if station == w.o.Station && !c.Revoked {
		w.heal(m.Data)
	}
}

// heal publishes this station's card again where another one stands under its
// name: a hostile station can bring the server's answers there.
func (w *Wire) heal(stands []byte) {
	w.dir.mu.Lock()
	own, now := w.dir.own, time.Now()
	due := own != nil && !bytes.Equal(own, stands) && now.Sub(w.dir.healing) > healAfter
	if due {
		w.dir.healing = now
	}
	w.dir.mu.Unlock()
	if due {
		time.AfterFunc(settles, func() { w.PutCard(w.closing, own) })
	}
}

// missed has all cards read again: announcements may have been missed. Those who
// know a team already do it one after the other.
func (w *Wire) missed() {
	w.dir.mu.Lock()
	wait := time.Duration(0)
	if n := len(w.dir.cards); n > 0 {
		wait = rand.N(time.Duration(n) * spread)
	}
	w.dir.allAt = time.Now().Add(wait)
	w.dir.mu.Unlock()
	time.AfterFunc(wait, w.tell)
}

// settle waits until all that the hub has announced by now is taken in.
func (w *Wire) settle(ctx context.Context) error {
	if err := w.nc.FlushWithContext(ctx); err != nil {
		return err
	}
	for {
		w.dir.mu.Lock()
		sub, taken := w.dir.sub, w.dir.taken
		w.dir.mu.Unlock()
		came, err := sub.Delivered()
		waits, _, werr := sub.Pending()
		if err = errors.Join(err, werr); err != nil || waits == 0 && came <= taken {
			return err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Cards is link.Wire's. Each card is asked for by its subject: what a message
// says of itself proves nothing, its headers are its author's. What was read is
// kept if the rest cannot be.
func (w *Wire) Cards(ctx context.Context) (map[string]link.Card, error) {
	if !w.State().Up {
		return nil, w.down(nil)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if err := w.settle(ctx); err != nil {
		return nil, w.refused(err)
	}
	began := time.Now()
	names, err := w.toRead(ctx, began)
	if err != nil {
		return nil, w.refused(err)
	}
	cards, err := w.read(ctx, names)
	w.dir.mu.Lock()
	defer w.dir.mu.Unlock()
	for name, c := range cards {
		delete(w.dir.due, name)
		switch {
		case began.Sub(w.dir.told[name]) < settles: // what was announced may be newer
		case c != nil:
			w.dir.cards[name] = *c
		default:
			delete(w.dir.cards, name)
		}
	}
	if err != nil {
		return nil, w.refused(err)
	}
	return maps.Clone(w.dir.cards), nil
}

// toRead lists the stations whose cards are to be read.
func (w *Wire) toRead(ctx context.Context, now time.Time) ([]string, error) {
	w.dir.mu.Lock()
	all := !now.Before(w.dir.allAt)
	w.dir.mu.Unlock()
	var names []string
	if all {
		var err error
		if names, err = w.known(ctx); err != nil {
			return nil, err
		}
	}
	w.dir.mu.Lock()
	defer w.dir.mu.Unlock()
	if all {
		w.dir.due = map[string]bool{}
		for _, name := range names {
			w.dir.due[name] = true
		}
		maps.DeleteFunc(w.dir.cards, func(name string, _ link.Card) bool { return !w.dir.due[name] && now.Sub(w.dir.told[name]) > settles })
		again := max(allAgain, time.Duration(len(names))*perCard)
		w.dir.allAt = now.Add(again + rand.N(again/4))
	}
	return slices.Collect(maps.Keys(w.dir.due)), nil
}

// known asks which stations have a card.
func (w *Wire) known(ctx context.Context) (names []string, err error) {
	stream, err := w.js.Stream(ctx, w.o.Team.CardStream())
	if err != nil {
		return nil, err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(w.o.Team.CardSubject("*")))
	if err != nil {
		return nil, err
	}
	for subject := range info.State.Subjects {
		name := strings.TrimPrefix(subject, w.o.Team.CardSubject(""))
		if _, err := mail.ParseStation(name); err == nil {
			names = append(names, name)
		}
	}
	return names, nil
}

// read asks for cards, many at once. What is nil was asked for, and is not there.
func (w *Wire) read(ctx context.Context, names []string) (map[string]*link.Card, error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	out := map[string]*link.Card{}
	slots := make(chan struct{}, asksAtOnce)
	for _, name := range names {
		if ctx.Err() != nil {
			failed = errors.Join(failed, ctx.Err())
			break
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			m, err := w.nc.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+w.o.Team.CardStream()+"."+w.o.Team.CardSubject(name), nil)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				failed = errors.Join(failed, err)
			case len(m.Data) > 0 || m.Header.Get(RevokedHeader) != "":
				c := w.card(name, m)
				out[name] = &c
			case m.Header.Get("Status") == "404":
				out[name] = nil
			}
		})
	}
	wg.Wait()
	return out, failed
}
