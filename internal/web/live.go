package web

import (
	"bytes"
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"time"
)

// listener is one browser that listens.
type listener struct {
	queue chan event // closed when it is cut off
}

// ServeHTTP is Stream for who may always listen.
func (l *Live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.Stream(w, r, func() bool { return true })
}

// Stream streams events (text/event-stream) until the browser leaves, is cut off
// or may not listen any more. Last-Event-ID, or at first the parameter "after",
// is the number of the last record that the page knows of, "beside" the number
// of the last event that is not the journal's.
func (l *Live) Stream(w http.ResponseWriter, r *http.Request, may func() bool) {
	b, first, ok := l.join(knownOf(r))
	if !ok {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many pages listen already; close some", http.StatusServiceUnavailable)
		return
	}
	defer l.leave(b)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy in between must not gather events
	out := &stream{w: w, rc: http.NewResponseController(w), patience: l.pace.write, may: may}
	if out.send(append([]byte("retry: 700\n"), encode(first...)...)) != nil {
		return
	}
	out.pump(r, b, l.pace.beat)
}

// known is what a browser says that it knows of.
type known struct {
	n       uint64 // of the journal's record
	ok      bool   // it knows of something
	beside  uint64 // of the event that is not the journal's, if hasSeen
	hasSeen bool
}

func knownOf(r *http.Request) (k known) {
	q := r.URL.Query()
	var err error
	k.n, err = strconv.ParseUint(cmp.Or(r.Header.Get("Last-Event-ID"), q.Get("after")), 10, 64)
	k.ok = err == nil
	k.beside, err = strconv.ParseUint(q.Get("beside"), 10, 64)
	k.hasSeen = err == nil && r.Header.Get("Last-Event-ID") == ""
	return k
}

// join lets a browser listen and returns what it has to be told first.
func (l *Live) join(k known) (b *listener, first []event, ok bool) {
	l.mu.Lock()
	if l.closed || len(l.listeners) >= l.pace.listeners {
		l.mu.Unlock()
		return nil, nil, false
	}
	b = &listener{queue: make(chan event, l.pace.queue)}
	l.listeners[b] = true
	looked := l.touch()
	l.mu.Unlock()
	<-looked // what comes meanwhile is in the queue
	l.mu.Lock()
	defer l.mu.Unlock()
	return b, l.welcome(b, k), true
}

// welcome is what a browser is told first: what it has missed, or that nobody
// knows what that was. The caller holds l.mu.
func (l *Live) welcome(b *listener, k known) []event {
	first := []event{{n: l.last, name: onBeat, data: []byte("{}")}}
	var beside []event
	for range len(b.queue) { // what is the journal's is in the ring, too
		if e, ok := <-b.queue; ok && e.n == 0 {
			beside = append(beside, e)
		}
	}
	switch {
	case k.ok && (k.n < l.covered || k.n > l.last || k.hasSeen && k.beside != l.beside):
		first[0].name = onReset
	case k.ok:
		first[0].n = k.n
		for _, e := range l.ring {
			if e.n > k.n {
				first = append(first, e)
			}
		}
	}
	return append(first, beside...)
}

func (l *Live) leave(b *listener) {
	l.mu.Lock()
	l.cut(b)
	l.touched = time.Now()
	l.mu.Unlock()
	select {
	case l.left <- struct{}{}:
	default:
	}
}

// stream writes to one browser.
type stream struct {
	w        http.ResponseWriter
	rc       *http.ResponseController
	patience time.Duration
	may      func() bool // may the browser still listen
}

var errShutOut = errors.New("this browser may not listen any more")

// send writes and flushes, or gives up on a browser that does not take it.
func (s *stream) send(data []byte) error {
	if !s.may() {
		return errShutOut
	}
	s.rc.SetWriteDeadline(time.Now().Add(s.patience)) // where that is not supported, the queue bounds it
	if _, err := s.w.Write(data); err != nil {
		return err
	}
	return s.rc.Flush()
}

// pump sends what is queued, as much as there is at once.
func (s *stream) pump(r *http.Request, b *listener, beat time.Duration) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		var batch []event
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
			batch = []event{{name: onBeat, data: []byte("{}")}}
		case e, ok := <-b.queue:
			if !ok {
				return
			}
			batch = append(batch, e)
			for range len(b.queue) {
				if e, ok := <-b.queue; ok {
					batch = append(batch, e)
				}
			}
		}
		if s.send(encode(batch...)) != nil {
			return
		}
	}
}

// encode is events as they go over the wire.
func encode(list ...event) []byte {
	var b bytes.Buffer
	for _, e := range list {
		if e.n > 0 {
			b.WriteString("id: " + strconv.FormatUint(e.n, 10) + "\n")
		}
		b.WriteString("event: " + e.name + "\ndata: ")
		b.Write(e.data)
		b.WriteString("\n\n")
	}
	return b.Bytes()
}
