//go:build e2e && linux

package links

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// weather is how packets fare in one direction between two hosts.
type weather struct {
	delay, jitter time.Duration // jitter is added, evenly distributed; order is kept
	loss          float64       // of packets, 0 to 1
	cut           bool
}

// ether is a switch of ours: each host has a network namespace with one tap
// device, and its frames come to this process, which carries them. So a packet
// that is lost is lost below TCP, as netem would do it, which many kernels lack.
type ether struct {
	mu    sync.Mutex
	ports []*port // by the last byte of the address
	seed  uint64
}

type port struct {
	name string
	tap  *os.File
	to   map[int]*lane
	do   chan func() // run on a thread that stands in the namespace
}

// lane carries frames from one port to one other.
type lane struct {
	mu                sync.Mutex
	w                 weather
	rng               *rand.Rand
	last              time.Time
	queue             chan frame
	passed, dropped   int
	droppedInOverflow int
}

type frame struct {
	data []byte
	at   time.Time
}

const subnet = "10.77.0."

// plug makes a host and returns its number; its address is subnet + number.
func (e *ether) plug(t *testing.T, name string) int {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(e.ports) + 1
	p := &port{name: name, to: map[int]*lane{}, do: make(chan func())}
	ready := make(chan error)
	go p.live(n, ready)
	must(t, <-ready)
	for i, q := range e.ports {
		p.to[i+1] = e.lane(q)
		q.to[n] = e.lane(p)
	}
	e.ports = append(e.ports, p)
	go e.carry(p)
	t.Cleanup(func() { p.tap.Close(); close(p.do) })
	return n
}

func (e *ether) lane(to *port) *lane {
	e.seed++
	l := &lane{rng: rand.New(rand.NewPCG(e.seed, 77)), queue: make(chan frame, 4096)}
	go func() {
		for f := range l.queue {
			if wait := time.Until(f.at); wait > 0 {
				time.Sleep(wait) // the way takes as long
			}
			to.tap.Write(f.data) // gone or full: lost, as on any wire
		}
	}()
	return l
}

// live makes the namespace and runs in it what has to. Its thread is never given
// back, so that it ends with the goroutine, and the namespace with it.
func (p *port) live(n int, ready chan<- error) {
	runtime.LockOSThread()
	err := unix.Unshare(unix.CLONE_NEWNET)
	if err == nil {
		p.tap, err = openTap()
	}
	for _, args := range [][]string{
		{"link", "set", "lo", "up"},
		{"link", "set", "tap0", "address", fmt.Sprintf("02:00:00:00:00:%02x", n), "up"},
		{"addr", "add", fmt.Sprintf("%s%d/24", subnet, n), "dev", "tap0"},
	} {
		if err == nil {
			err = ip(args...)
		}
	}
	ready <- err
	for f := range p.do {
		f()
	}
}

// in runs f on the host's network and waits for it.
func (e *ether) in(n int, f func()) {
	done := make(chan bool)
	e.ports[n-1].do <- func() { f(); close(done) }
	<-done
}

func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %v: %w: %s", args, err, out)
	}
	return nil
}

func openTap() (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w", err)
	}
	req, err := unix.NewIfreq("tap0")
	if err == nil {
		req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("tap device: %w", err)
	}
	return os.NewFile(uintptr(fd), "tap0"), nil
}

// tryTap says why hosts cannot have networks of their own here.
func tryTap() error {
	f, err := openTap()
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		_, err = exec.LookPath("ip")
	}
	return err
}

// carry takes what a host sends, until it is gone.
func (e *ether) carry(p *port) {
	buf := make([]byte, 4096)
	for {
		n, err := p.tap.Read(buf)
		if err != nil {
			return
		}
		if n < 14 {
			continue
		}
		data := append([]byte(nil), buf[:n]...)
		e.mu.Lock()
		if data[0]&1 == 1 { // to all
			for _, l := range p.to {
				l.send(data)
			}
		} else if l := p.to[int(data[5])]; l != nil {
			l.send(data)
		}
		e.mu.Unlock()
	}
}

func (l *lane) send(data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.w.cut || l.w.loss > 0 && l.rng.Float64() < l.w.loss {
		l.dropped++
		return
	}
	at := time.Now().Add(l.w.delay)
	if l.w.jitter > 0 {
		at = at.Add(time.Duration(l.rng.Int64N(int64(l.w.jitter))))
	}
	if at.Before(l.last) {
		at = l.last
	}
	l.last = at
	select {
	case l.queue <- frame{data, at}:
		l.passed++
	default:
		l.droppedInOverflow++
	}
}

// set makes the weather from one host to another, in that direction.
func (e *ether) set(from, to int, w weather) {
	e.mu.Lock()
	l := e.ports[from-1].to[to]
	e.mu.Unlock()
	l.mu.Lock()
	l.w = w
	l.mu.Unlock()
}

// count says how many packets went from one host to another, and how many did not.
func (e *ether) count(from, to int) (passed, dropped int) {
	e.mu.Lock()
	l := e.ports[from-1].to[to]
	e.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.passed, l.dropped + l.droppedInOverflow
}
