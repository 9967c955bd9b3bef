//go:build e2e && linux

package links

import (
	"net"
	"sync"
	"testing"
	"time"
)

// proxy stands between one station and the hub where there are no namespaces.
// It delays bytes and stops them, in either direction; it cannot lose any, since
// TCP is on both of its sides.
type proxy struct {
	listener net.Listener
	target   string

	mu       sync.Mutex
	out, in  weather // towards the hub, and back
	changed  chan bool
	sessions map[net.Conn]bool
	quit     bool
}

func newProxy(t *testing.T, listen, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", listen)
	must(t, err)
	p := &proxy{listener: l, target: target, changed: make(chan bool), sessions: map[net.Conn]bool{}}
	go p.serve()
	t.Cleanup(func() {
		p.mu.Lock()
		p.quit = true
		close(p.changed)
		p.mu.Unlock()
		l.Close()
		p.reset()
	})
	return p
}

func (p *proxy) serve() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			far, err := net.DialTimeout("tcp", p.target, 5*time.Second)
			if err != nil {
				near.Close()
				return
			}
			p.mu.Lock()
			p.sessions[near], p.sessions[far] = true, true
			p.mu.Unlock()
			go p.pump(far, near, &p.out)
			p.pump(near, far, &p.in)
		}()
	}
}

// pump copies one direction.
func (p *proxy) pump(to, from net.Conn, w *weather) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !p.hold(w) {
			return
		}
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			p.mu.Lock()
			delete(p.sessions, to)
			delete(p.sessions, from)
			p.mu.Unlock()
			return
		}
	}
}

// hold waits as long as the weather says; false is the end.
func (p *proxy) hold(w *weather) bool {
	for {
		p.mu.Lock()
		now, changed, quit := *w, p.changed, p.quit
		p.mu.Unlock()
		switch {
		case quit:
			return false
		case !now.cut:
			time.Sleep(now.delay) // the way takes as long
			return true
		}
		<-changed
	}
}

func (p *proxy) set(out, in *weather) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.quit {
		return
	}
	if out != nil {
		p.out = *out
	}
	if in != nil {
		p.in = *in
	}
	close(p.changed)
	p.changed = make(chan bool)
}

// reset breaks all connections.
func (p *proxy) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.sessions {
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
	clear(p.sessions)
}
