package link

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/station"
)

// Station is the link of one office, beside its router (serve.Side). It waits
// until the office is linked, and ends its connection when that changes.
type Station struct {
	// Open opens the office for the link alone.
	Open func() (*office.Office, error)
	// Dial connects; it does not wait for the connection.
	Dial func(id Identity, k Keys, jwt string) (Wire, error)
	Log  *slog.Logger
	// Start says when this process began, for the status; "" if that is unknown.
	Start string
	// Times are for tests; zero values are the real ones.
	Times Times

	mu    sync.Mutex
	state any
}

// Times are how long the link waits for what.
type Times struct {
	Resend time.Duration // for a receipt, then twice as long, up to a day; default 10 min
	Hold   time.Duration // for what is missing in a sequence; default 1 min
	Ask    time.Duration // before it asks for that, and between; default 500 ms and 10 s
	Look   time.Duration // between looks at the journal without events; default 250 ms
	Scan   time.Duration // between scans of all far mailboxes; default 1 min
}

func (t Times) withDefaults() Times {
	for _, d := range []struct {
		at  *time.Duration
		def time.Duration
	}{{&t.Resend, 10 * time.Minute}, {&t.Hold, time.Minute}, {&t.Ask, 500 * time.Millisecond}, {&t.Look, 250 * time.Millisecond}, {&t.Scan, time.Minute}} {
		if *d.at <= 0 {
			*d.at = d.def
		}
	}
	return t
}

const (
	cardsEvery = 10 * time.Minute // cards are read again, and the own one published again
	cardsRetry = 2 * time.Second
	lookAgain  = time.Second // whether the office is linked by now, or still
)

// Name implements serve.Side.
func (*Station) Name() string { return "link" }

// State implements serve.Side.
func (s *Station) State() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil {
		return map[string]bool{"linked": false}
	}
	return s.state
}

func (s *Station) setState(v any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = v
}

// Run implements serve.Side.
func (s *Station) Run(ctx context.Context) {
	said := ""
	for ; ctx.Err() == nil; pause(ctx, lookAgain) {
		err := s.once(ctx)
		switch kind := mail.KindOf(err); {
		case err == nil || kind == mail.KindNotFound:
			s.setState(nil)
			said = ""
		case err.Error() != said:
			said = err.Error()
			s.setState(map[string]string{"error": line(err)})
			s.Log.Error("the link is not at work", "error", line(err))
		}
	}
}

// once works as long as the office's identity on the link stays the same.
func (s *Station) once(ctx context.Context) error {
	o, err := s.Open()
	if err != nil {
		return err
	}
	defer closeFS(o)
	id, err := LoadIdentity(o.FS, o.Config.ID)
	if err != nil {
		return err
	}
	if err := o.CheckWritable(); err != nil {
		return err
	}
	keys, err := OpenKeys(o.FS)
	if err != nil {
		return err
	}
	jwt, _ := ReadJWT(o.FS)
	wire, err := s.Dial(id, keys, jwt)
	if err != nil {
		return err
	}
	defer wire.Close()
	e := newEngine(s, o, id, jwt, keys, wire)
	return e.run(ctx)
}

func closeFS(o *office.Office) {
	if c, ok := o.FS.(interface{ Close() error }); ok {
		c.Close()
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// line is an error as one line of text.
func line(err error) string { return mail.Neutralise(err.Error(), false) }

// statusEvery is how often the status is written at most, and statusOld how old
// it may become.
const (
	statusEvery = 200 * time.Millisecond
	statusOld   = 30 * time.Second
)

func (e *engine) writeStatus() {
	now := e.mono()
	w := e.wire.State()
	if w != e.wireWas {
		e.wireWas, e.statusDue = w, true
		if w.Up {
			e.log.Info("the link is up", "hub", w.Hub)
		} else {
			e.log.Warn("the link is down", "why", w.Why)
		}
	}
	if !e.statusDue && now.Sub(e.statusAt) < statusOld || now.Sub(e.statusAt) < statusEvery {
		return
	}
	e.statusAt, e.statusDue = now, false
	st := station.Status{V: 1, At: e.now(), PID: e.office.Sys.PID, Start: e.Start, Station: e.id.Station, Team: e.id.Team,
		Hub: w.Hub, Up: w.Up, Since: w.Since, Why: w.Why, Alarms: e.alarms}
	for _, p := range e.sorted() {
		q := station.Peer{Station: p.Station, Fingerprint: Fingerprint(p.Key), Agents: len(p.Agents), Waiting: len(p.queue),
			Heard: p.heard, Revoked: p.Revoked, Trouble: p.trouble}
		if len(p.queue) > 0 {
			q.Oldest = p.queue[0].id.Time()
		}
		if p.Offered != "" {
			q.Trouble = "it offers another key, " + Fingerprint(p.Offered)
		}
		st.Peers = append(st.Peers, q)
	}
	e.setState(st)
	if err := station.Write(e.fs(), st); err != nil {
		e.log.Warn("the status cannot be written", "error", line(err))
	}
}
