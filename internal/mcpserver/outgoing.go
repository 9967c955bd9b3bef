package mcpserver

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"sync"
	"time"
)

// markKey is where a result's _meta holds the mark by which its bytes are
// known when they go out.
const markKey = "postroom/receipt"

// unsentAfter is when a result that no transport took is given up.
const unsentAfter = time.Minute

var errUnsent = errors.New("the client did not take it")

// outgoing knows the results that are on their way, and tells when their bytes
// are out.
type outgoing struct {
	// busy is held for reading while bytes go out and what follows from that is
	// recorded.
	busy sync.RWMutex

	mu      sync.Mutex
	waiting map[string]*onItsWay
}

type onItsWay struct {
	then func(error)
	late *time.Timer
}

func newOutgoing() *outgoing { return &outgoing{waiting: map[string]*onItsWay{}} }

// expect returns the mark for a result. then is called once: with nil when the
// transport took the bytes, or with the reason why it did not.
func (o *outgoing) expect(then func(error)) (mark string) {
	mark = rand.Text()
	w := &onItsWay{then: then}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting[mark] = w
	w.late = time.AfterFunc(unsentAfter, func() {
		if w := o.take(mark); w != nil {
			w.then(errUnsent)
		}
	})
	return mark
}

func (o *outgoing) take(mark string) *onItsWay {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.waiting[mark]
	delete(o.waiting, mark)
	return w
}

// settle waits until what went out has been recorded, so that a client that
// got a result and asks again does not meet the time before it.
func (o *outgoing) settle() {
	o.busy.Lock()
	defer o.busy.Unlock()
}

// marks lists the marks that the bytes of a message hold.
func marks(p []byte) []string {
	var out []string
	key := []byte(`"` + markKey + `":"`)
	for {
		_, rest, ok := bytes.Cut(p, key)
		if !ok {
			return out
		}
		mark, after, ok := bytes.Cut(rest, []byte{'"'})
		if !ok {
			return out
		}
		out, p = append(out, string(mark)), after
	}
}

// write lets a message go out by way of send, and calls what waits for it.
func (o *outgoing) write(p []byte, send func([]byte) (int, error)) (int, error) {
	found := marks(p)
	if len(found) == 0 {
		return send(p)
	}
	o.busy.RLock()
	defer o.busy.RUnlock()
	n, err := send(p)
	for _, mark := range found {
		if w := o.take(mark); w != nil {
			w.late.Stop()
			w.then(err)
		}
	}
	return n, err
}

// wrap makes a writer tell what it took.
func (o *outgoing) wrap(w io.WriteCloser) io.WriteCloser { return toldWriter{o, w} }

type toldWriter struct {
	out *outgoing
	io.WriteCloser
}

// Write is called once for each message (mcp.IOTransport).
func (t toldWriter) Write(p []byte) (int, error) { return t.out.write(p, t.WriteCloser.Write) }
