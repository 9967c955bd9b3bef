package natslink

import (
	"bytes"
	"context"
	"errors"
	"maps"
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
	allAgain   = 5 * time.Minute // what a lost announcement hides is seen by then
	healAfter  = 5 * time.Second // between two times of publishing one's own card again
)

// directory is what is known of the cards: which of them have changed since they
// were read is known by their announcement.
type directory struct {
	mu      sync.Mutex
	cards   map[string]link.Card
	stale   map[string]time.Time // when it was announced
	allAt   time.Time            // when all were read
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
	w.dir.own, w.dir.stale[w.o.Station] = bytes.Clone(data), time.Now()
	w.dir.mu.Unlock()
	return nil
}

// announced takes note of a card that was published. It may not be stored yet,
// so it is told of once more.
func (w *Wire) announced(m *nats.Msg) {
	station := strings.TrimPrefix(m.Subject, w.o.Team.CardSubject(""))
	if _, err := mail.ParseStation(station); err != nil {
		return
	}
	w.dir.mu.Lock()
	w.dir.stale[station] = time.Now()
	w.dir.mu.Unlock()
	w.tell()
	time.AfterFunc(settles, w.tell)
	if station == w.o.Station && !w.revoked(station, m) {
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

// forget has all cards read again: announcements may have been missed.
func (w *Wire) forget() {
	w.dir.mu.Lock()
	defer w.dir.mu.Unlock()
	w.dir.allAt = time.Time{}
}

// Cards is link.Wire's. Each card is asked for by its subject: what a message
// says of itself proves nothing, its headers are its author's.
func (w *Wire) Cards(ctx context.Context) (map[string]link.Card, error) {
	if !w.State().Up {
		return nil, w.down(nil)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	began := time.Now()
	names, all, err := w.toRead(ctx, began)
	if err != nil {
		return nil, w.refused(err)
	}
	cards, err := w.read(ctx, names)
	if err != nil {
		return nil, w.refused(err)
	}
	w.dir.mu.Lock()
	defer w.dir.mu.Unlock()
	if all {
		w.dir.cards, w.dir.allAt = map[string]link.Card{}, began
	}
	for name, c := range cards {
		w.dir.cards[name] = c
	}
	for _, name := range names {
		if at, ok := w.dir.stale[name]; ok && began.Sub(at) > settles {
			delete(w.dir.stale, name)
		}
	}
	return maps.Clone(w.dir.cards), nil
}

// toRead lists the stations whose cards are to be read.
func (w *Wire) toRead(ctx context.Context, now time.Time) (names []string, all bool, err error) {
	w.dir.mu.Lock()
	all = now.Sub(w.dir.allAt) > allAgain
	names = slices.Collect(maps.Keys(w.dir.stale))
	w.dir.mu.Unlock()
	if !all {
		return names, false, nil
	}
	stream, err := w.js.Stream(ctx, w.o.Team.CardStream())
	if err != nil {
		return nil, true, err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(w.o.Team.CardSubject("*")))
	if err != nil {
		return nil, true, err
	}
	names = names[:0]
	for subject := range info.State.Subjects {
		name := strings.TrimPrefix(subject, w.o.Team.CardSubject(""))
		if _, err := mail.ParseStation(name); err == nil {
			names = append(names, name)
		}
	}
	return names, true, nil
}

// read asks for cards, many at once.
func (w *Wire) read(ctx context.Context, names []string) (map[string]link.Card, error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	out := map[string]link.Card{}
	slots := make(chan struct{}, asksAtOnce)
	for _, name := range names {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			m, err := w.nc.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+w.o.Team.CardStream()+"."+w.o.Team.CardSubject(name), nil)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				failed = errors.Join(failed, err)
			case len(m.Data) > 0 || m.Header.Get(RevokedHeader) != "": // else there is none
				out[name] = link.Card{Data: m.Data, Revoked: w.revoked(name, m)}
			}
		})
	}
	wg.Wait()
	return out, failed
}
