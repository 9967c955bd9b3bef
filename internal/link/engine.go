package link

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/station"
	"github.com/postroom/postroom/internal/vfs"
)

// engine is a Station at work. All of it belongs to the goroutine of run.
type engine struct {
	*Station
	office *office.Office
	id     Identity
	jwt    string
	keys   Keys
	wire   Wire
	log    *slog.Logger
	times  Times

	peers    map[string]*peer
	rotated  []Rotated
	follower journal.Follower
	origins  origins
	suspects suspects
	off      map[string]offs           // by station
	broken   map[string]bool           // stations of which what is known cannot be read
	sents    map[string][]mail.Receipt // to be written into far mailboxes
	answers  chan published
	place    placeMark

	cardDue   bool
	cardSaid  string
	haveAt    int64     // the time of the last Have
	cardAt    time.Time // of the newest card of our own
	cardAgain time.Time
	cardsAt   time.Time // when cards are read again
	cardsRead time.Time // when they were
	bookAt    time.Time
	scanAt    time.Time
	alarms    []station.Alarm
	untold    map[string]untold    // alarms that a person was not told of yet, by station
	toldAt    map[string]time.Time // when a person was told about a station
	newsAt    time.Time            // nobody is told before this
	statusDue bool
	statusAt  time.Time
	wireWas   State
}

func newEngine(s *Station, o *office.Office, id Identity, jwt string, k Keys, w Wire) *engine {
	return &engine{Station: s, office: o, id: id, jwt: jwt, keys: k, sents: map[string][]mail.Receipt{}, wire: w, log: s.Log.With("side", "link"), times: s.Times.withDefaults(),
		peers: map[string]*peer{}, untold: map[string]untold{}, toldAt: map[string]time.Time{}, off: map[string]offs{}, broken: map[string]bool{}, answers: make(chan published, 1024), cardDue: true, statusDue: true}
}

func (e *engine) fs() vfs.FS     { return e.office.FS }
func (e *engine) now() time.Time { return e.office.Sys.Now().UTC() }

// mono is a time for intervals: no jump of the wall clock touches it.
func (e *engine) mono() time.Time { return time.Now() }

func (e *engine) sorted() []*peer {
	out := make([]*peer, 0, len(e.peers))
	for _, p := range e.peers {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *peer) int { return strings.Compare(a.Station, b.Station) })
	return out
}

// registry is the address book as it is now.
func (e *engine) registry() (*registry.Registry, error) { return e.office.Book() }

// withLease runs fn while this process is the router.
func (e *engine) withLease(ctx context.Context, fn func() error) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return dispatch.Patience{Op: "bring the address book up to date", For: 5 * time.Second}.WithLease(ctx, e.office, fn)
}

// batch is what came in at once, and where to say that it was taken.
type batch struct {
	parcels []Parcel
	done    chan struct{}
}

// run works until ctx ends or the office's identity changes.
func (e *engine) run(ctx context.Context) error {
	if err := e.load(); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	in := make(chan batch)
	ended := make(chan error, 1)
	go func() {
		ended <- e.wire.Receive(ctx, func(ps []Parcel) {
			b := batch{ps, make(chan struct{})}
			select {
			case in <- b:
				<-b.done
			case <-ctx.Done():
			}
		})
	}()
	events, closeEvents := e.watchJournal()
	defer closeEvents()
	look := time.NewTicker(e.times.Look)
	defer look.Stop()
	for {
		e.turn(ctx)
		select {
		case <-ctx.Done():
			e.saveMark()
			return nil
		case err := <-ended:
			if err != nil && ctx.Err() == nil {
				return err
			}
			ended = nil
		case b := <-in:
			e.take(ctx, b.parcels)
			close(b.done)
		case a := <-e.answers:
			e.answered(a)
			e.drainAnswers()
		case <-e.wire.Changed():
			e.cardsAt = time.Time{}
		case <-events:
		case <-look.C:
			if changed, err := e.changed(); changed || err != nil {
				return err
			}
		}
	}
}

func (e *engine) drainAnswers() {
	for {
		select {
		case a := <-e.answers:
			e.answered(a)
		default:
			return
		}
	}
}

// turn does all that is due.
func (e *engine) turn(ctx context.Context) {
	up := e.wire.State().Up
	e.follow()
	if up && !e.mono().Before(e.cardsAt) {
		e.readCards(ctx)
	}
	e.syncBook(ctx)
	if up && !e.cardsRead.IsZero() && (e.cardDue || !e.mono().Before(e.cardAgain)) {
		e.cardDue = false
		e.putCard(ctx)
	}
	if !e.mono().Before(e.scanAt) {
		e.scan()
	}
	for _, p := range e.sorted() {
		e.release(p)
		if up {
			e.ship(p)
			e.report(p)
		}
		e.writeLines(p, e.mono())
	}
	e.flushSents()
	e.tellPerson(ctx)
	e.saveMark()
	e.writeStatus()
}

// changed reports whether the office's identity on the link is another one, or
// a person trusted a key.
func (e *engine) changed() (bool, error) {
	id, err := LoadIdentity(e.fs(), e.office.Config.ID)
	if err != nil {
		return true, err
	}
	jwt, _ := ReadJWT(e.fs())
	if id.Joined != e.id.Joined || jwt != e.jwt {
		return true, nil
	}
	for _, p := range e.peers {
		if p.Offered == "" {
			continue
		}
		if now, err := readPeer(e.fs(), p.Station); err == nil && now.Key != p.Key {
			p.pinned, p.sayHave, p.sayAgain = now, true, true
			e.settleAlarms(p.Station)
			e.cardsAt = time.Time{}
		}
	}
	return false, nil
}

// watchJournal tells of changes in the journal. Without events there is the
// ticker.
func (e *engine) watchJournal() (<-chan struct{}, func()) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, func() {}
	}
	w.Add(e.fs().Path(journal.Dir))
	out := make(chan struct{}, 1)
	go func() {
		for {
			select {
			case _, ok := <-w.Events:
				if !ok {
					return
				}
			case _, ok := <-w.Errors:
				if !ok {
					return
				}
			}
			select {
			case out <- struct{}{}:
			default:
			}
		}
	}()
	return out, func() { w.Close() }
}
