package web

import (
	"context"
	"encoding/json"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
)

// The names of the events that browsers get.
const (
	onJournal   = "journal"   // something happened to a message, an agent or a channel
	onApprovals = "approvals" // something was put before a person, or decided
	onPresence  = "presence"  // an agent's session changed, or it used its mail
	onDebts     = "debts"     // a debt began, changed or ended
	onHealth    = "health"    // the doctor has looked
	onReset     = "reset"     // what was missed is not known any more: fetch everything
	onBeat      = "beat"      // nothing happened; the connection is fine
)

// event is one thing that browsers are told.
type event struct {
	n    uint64 // of the journal's record; 0: not from the journal
	name string
	data []byte // one JSON object on one line
}

// Move is the data of a journal, approvals or debts event.
type Move struct {
	Event        string    `json:"event"` // of the journal, or "many": Count of them, left out
	N            uint64    `json:"n"`
	At           time.Time `json:"at,omitzero"`
	ID           mail.ID   `json:"id,omitempty"`
	From         string    `json:"from,omitempty"`
	To           string    `json:"to,omitempty"`
	Act          string    `json:"act,omitempty"`
	As           string    `json:"as,omitempty"`
	Seq          uint64    `json:"seq,omitempty"`
	Conversation string    `json:"conversation,omitempty"`
	Approval     string    `json:"approval,omitempty"`
	Count        int       `json:"count,omitempty"`
}

// pace is how fast and how much; the zero value is not of use.
type pace struct {
	tick      time.Duration // how often the office is looked at whatever the file events say
	settle    time.Duration // how long events are gathered after the first
	linger    time.Duration // how long the hub runs on after the last browser left
	beat      time.Duration // how often a quiet connection is used
	write     time.Duration // how long a browser may take to accept what is written
	listeners int           // browsers at once
	queue     int           // events that a browser may be behind
	ring      int           // events kept for who reconnects
	burst     int           // events of one look that are told one by one
	reach     int64         // bytes of the journal that are read for what happened lately
}

func usualPace() pace {
	return pace{tick: time.Second, settle: 10 * time.Millisecond, linger: time.Minute, beat: 15 * time.Second,
		write: 5 * time.Second, listeners: 64, queue: 256, ring: 512, burst: 64, reach: 4 << 20}
}

// Live follows the office while anybody looks and tells every browser what
// happens. It has one goroutine, none while nobody looks, and keeps a bounded
// number of events: who is slow is cut off, and told on return to fetch anew.
type Live struct {
	office *office.Office
	log    *slog.Logger
	pace   pace

	mu        sync.Mutex
	listeners map[*listener]bool
	ring      []event // of the journal, oldest first
	covered   uint64  // every event after this record is in ring
	last      uint64  // the newest record
	beside    uint64  // how many events there were that are not the journal's
	lately    lately
	touched   time.Time
	stop      context.CancelFunc // nil: not running
	done      chan struct{}      // closed when it has stopped
	looked    chan struct{}      // closed when the first look is done
	left      chan struct{}      // a browser left
	closed    bool
}

// NewLive returns the hub of an office. Close it.
func NewLive(o *office.Office, log *slog.Logger) *Live {
	return &Live{office: o, log: log, pace: usualPace(), listeners: map[*listener]bool{}, left: make(chan struct{}, 1)}
}

// Close cuts every browser off and waits until nothing runs any more.
func (l *Live) Close() {
	l.mu.Lock()
	l.closed = true
	stop, done := l.stop, l.done
	for b := range l.listeners {
		l.cut(b)
	}
	l.mu.Unlock()
	if stop != nil {
		stop()
	}
	if done != nil {
		<-done
	}
}

// Tell sends an event that is not the journal's to every browser.
func (l *Live) Tell(name string, data any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.send(event{name: name, data: object(data)})
}

// object is v as JSON on one line.
func object(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return []byte("{}")
	}
	return data
}

// touch keeps the hub running, or starts it. The caller holds l.mu. It returns
// what is closed when the hub has looked once.
func (l *Live) touch() <-chan struct{} {
	l.touched = time.Now()
	if l.stop == nil && !l.closed {
		ctx, stop := context.WithCancel(context.Background())
		l.stop, l.done, l.looked = stop, make(chan struct{}), make(chan struct{})
		l.ring, l.covered, l.last, l.lately = nil, 0, 0, lately{}
		go l.run(ctx, l.done, l.looked)
	}
	return l.looked
}

// Last is the number of the newest record that was told, and of the newest event
// beside the journal; false if nobody looks.
func (l *Live) Last() (n, beside uint64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last, l.beside, l.stop != nil
}

// Lately is what was delivered lately. It waits for the first look, or for ctx.
func (l *Live) Lately(ctx context.Context) []Delivery {
	l.mu.Lock()
	looked := l.touch()
	closed := l.closed
	l.mu.Unlock()
	if !closed {
		select {
		case <-looked:
		case <-ctx.Done():
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lately.list()
}

// run looks whenever something may have changed, until nobody is interested.
func (l *Live) run(ctx context.Context, done, looked chan struct{}) {
	defer close(done)
	eyes := newEyes(l.office, l.log)
	defer eyes.close()
	var f journal.Follower
	if err := f.Back(l.office.FS, l.pace.reach); err != nil {
		l.log.Warn("the page cannot follow the journal", "error", err.Error())
	}
	l.follow(&f, true)
	eyes.changed() // what stands there now is no news
	close(looked)
	tick := time.NewTicker(l.pace.tick)
	defer tick.Stop()
	for !l.idle() {
		select {
		case <-ctx.Done():
		case <-l.left:
		case <-tick.C:
			l.look(&f, eyes)
		case <-eyes.errors(): // events were lost, perhaps
			l.look(&f, eyes)
		case <-eyes.events():
			eyes.settle(l.pace.settle)
			l.look(&f, eyes)
		}
	}
}

// idle ends the hub if nobody is interested any more.
func (l *Live) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed && (len(l.listeners) > 0 || time.Since(l.touched) < l.pace.linger) {
		return false
	}
	l.stop()
	l.stop = nil
	go debug.FreeOSMemory() // what the pages needed: back to an idle router's size
	return true
}

func (l *Live) look(f *journal.Follower, eyes *eyes) {
	l.follow(f, false)
	names, agents := eyes.changed()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range names {
		l.send(event{name: name, data: object(Move{Event: "changed"})})
	}
	if len(agents) > l.pace.burst {
		l.send(event{name: onPresence, data: object(Move{Event: "many", Count: len(agents)})})
		return
	}
	for _, name := range agents {
		l.send(event{name: onPresence, data: object(Move{Event: "presence", From: name})})
	}
}

// follow takes in what the journal has, and unless it is old, tells it.
func (l *Live) follow(f *journal.Follower, old bool) {
	n := news{burst: l.pace.burst}
	if err := f.Next(l.office.FS, n.take); err != nil {
		l.log.Warn("the page cannot follow the journal", "error", err.Error())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lately.add(n.deliveries...)
	if n.last == 0 {
		return
	}
	l.last = n.last
	if old {
		l.covered = n.last
		return
	}
	l.publish(n.fresh, n.skipped)
}

// publish tells the records, and how many were left out before them. The caller
// holds l.mu.
func (l *Live) publish(fresh []journal.Record, skipped int) {
	if skipped > 0 {
		before := fresh[0].N - 1
		l.ring, l.covered = nil, before
		l.send(event{n: before, name: onJournal, data: object(Move{Event: "many", N: before, Count: skipped})})
		l.send(event{name: onApprovals, data: object(Move{Event: "many"})})
		l.send(event{name: onDebts, data: object(Move{Event: "many"})})
	}
	for _, r := range fresh {
		data := object(moveOf(r))
		for _, name := range namesOf(r.Event) {
			l.keep(event{n: r.N, name: name, data: data})
		}
	}
}

// keep sends an event and remembers it for who reconnects.
func (l *Live) keep(e event) {
	if len(l.ring) >= l.pace.ring {
		l.covered = l.ring[0].n
		l.ring = append(l.ring[:0], l.ring[1:]...)
	}
	l.ring = append(l.ring, e)
	l.send(e)
}

// send queues an event for everybody. Whose queue is full is cut off: the
// browser comes back by itself.
func (l *Live) send(e event) {
	if e.n == 0 {
		l.beside++
	}
	for b := range l.listeners {
		select {
		case b.queue <- e:
		default:
			l.cut(b)
		}
	}
}

// cut ends a browser's stream after what is queued. The caller holds l.mu.
func (l *Live) cut(b *listener) {
	if l.listeners[b] {
		delete(l.listeners, b)
		close(b.queue)
	}
}
