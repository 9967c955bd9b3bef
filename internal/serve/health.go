package serve

import (
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/spool"
)

// Health is what /healthz answers. The status is 200 if ok, else 503.
type Health struct {
	V       int       `json:"v"`
	OK      bool      `json:"ok"`
	Version string    `json:"version"`
	Office  string    `json:"office"` // id
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Pass    PassState `json:"last_pass"`
	Error   *Trouble  `json:"last_error,omitempty"`
	// Queue counts messages in outboxes, Waiting hand-written files that do not
	// parse yet, Wakes the wakes under way.
	Queue   int            `json:"queue"`
	Waiting int            `json:"waiting"`
	Wakes   int            `json:"wakes"`
	Lease   LeaseState     `json:"lease"`
	Sides   map[string]any `json:"sides,omitempty"`
}

// PassState is the last pass. Error is its kind of error, "" if it went well;
// Partial says that it is of single mailboxes.
type PassState struct {
	At      time.Time `json:"at,omitzero"`
	TookMS  int64     `json:"took_ms"`
	Count   uint64    `json:"count"`
	Error   mail.Kind `json:"error,omitempty"`
	Partial bool      `json:"partial,omitempty"`
}

// Trouble is the last pass that failed.
type Trouble struct {
	At   time.Time `json:"at"`
	Kind mail.Kind `json:"kind"`
	Text string    `json:"text"`
}

// LeaseState says whether this process could take the lease when it last tried:
// free or busy. Holder is who signed it last.
type LeaseState struct {
	State  string        `json:"state"`
	Since  time.Time     `json:"since,omitzero"` // busy since
	Holder *spool.Holder `json:"holder,omitempty"`
}

// late is how old the last pass may be before something is wrong.
const late = 30 * time.Second

// pulse is what the loop tells the web page. Any goroutine may use it.
type pulse struct {
	started time.Time

	mu        sync.Mutex
	office    *office.Office
	boxes     []spool.Box
	last      PassState
	trouble   *Trouble
	waiting   int
	busySince time.Time
	queue     int
	counted   time.Time
}

func (p *pulse) serves(o *office.Office, reg *registry.Registry) {
	boxes := []spool.Box{o.SystemBox(office.Human), o.SystemBox(office.Postroom)}
	for e := range reg.All() {
		if b, err := o.Box(e); err == nil {
			boxes = append(boxes, b)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.office, p.boxes = o, boxes
}

func (p *pulse) pass(began, now time.Time, rep router.Report, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busySince = time.Time{}
	p.last = PassState{At: began.UTC(), TookMS: now.Sub(began).Milliseconds(), Count: p.last.Count + 1, Error: mail.KindOf(err),
		Partial: err != nil && rep.Complete}
	p.waiting = rep.Waiting
	if err != nil {
		p.trouble = &Trouble{At: now.UTC(), Kind: mail.KindOf(err), Text: mail.Neutralise(err.Error(), false)}
	}
}

func (p *pulse) busy(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busySince.IsZero() {
		p.busySince = now
	}
}

// passed reports whether there was a pass, or somebody else's kept us from it.
func (p *pulse) passed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last.Count > 0 || !p.busySince.IsZero()
}

// health is the state now. The queue is counted at most once a second.
func (p *pulse) health(now time.Time) Health {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.counted) >= time.Second {
		p.queue, p.counted = 0, now
		for _, b := range p.boxes {
			ids, others, _ := b.Pending(nil) // a mailbox that is away has no queue that we could see
			p.queue += len(ids) + len(others)
		}
	}
	h := Health{V: 1, Office: p.office.Config.ID, Version: p.office.Sys.Version, PID: p.office.Sys.PID, Started: p.started.UTC(),
		Pass: p.last, Error: p.trouble, Queue: p.queue, Waiting: p.waiting, Lease: LeaseState{State: "free"}}
	if !p.busySince.IsZero() {
		h.Lease = LeaseState{State: "busy", Since: p.busySince.UTC()}
	}
	if holder, ok := spool.ReadHolder(p.office.FS); ok {
		h.Lease.Holder = &holder
	}
	h.OK = (p.last.Error == "" || p.last.Partial) && now.Sub(p.last.At) < late
	return h
}

// handler serves /healthz and the page to this machine. A Host that is no loopback name comes
// from a web page that had its name point here.
func (r *run) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, req *http.Request) {
		h := r.pulse.health(time.Now())
		h.Wakes = r.wakes.under()
		for _, side := range r.Sides {
			if h.Sides == nil {
				h.Sides = map[string]any{}
			}
			h.Sides[side.Name()] = side.State()
		}
		data, err := json.MarshalIndent(h, "", "  ")
		if err != nil {
			http.Error(w, "cannot say", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if !h.OK {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		w.Write(append(data, '\n'))
	})
	if r.Page != nil {
		mux.Handle("/", r.Page)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !loopbackHost(req.Host) {
			http.Error(w, "only by a loopback name", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, req)
	})
}

func loopbackHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return slices.Contains([]string{"localhost", ""}, host) || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}
