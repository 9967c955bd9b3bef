//go:build e2e && linux

package links

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// network is what stations and hub stand on.
type network interface {
	// plug makes a host and returns its number, from 1.
	plug(t *testing.T, name string) int
	// addr is where a host listens.
	addr(host int) string
	// reach is where a host reaches another one's port.
	reach(t *testing.T, from, to int, port int) string
	// in runs f where the host stands.
	in(host int, f func())
	// set makes the weather in one direction.
	set(from, to int, w weather)
	// carrier takes a host's device up or down, as the cable in a laptop.
	carrier(host int, up bool)
}

// worlds counts the networks on loopback, so that each has addresses of its own.
var worlds atomic.Int32

// newNetwork is a switch of ours where namespaces are allowed, else loopback.
func newNetwork() network {
	if alone {
		return &ether{}
	}
	return &loopback{net: worlds.Add(1), proxies: map[int]*proxy{}}
}

func (e *ether) addr(host int) string { return fmt.Sprintf("%s%d", subnet, host) }

func (e *ether) reach(_ *testing.T, _, to, port int) string {
	return fmt.Sprintf("%s:%d", e.addr(to), port)
}

func (e *ether) carrier(host int, up bool) {
	e.in(host, func() { ip("link", "set", "tap0", map[bool]string{true: "up", false: "down"}[up]) })
}

// loopback gives each host an address of 127.0.0.0/8, and each pair that talks a
// proxy.
type loopback struct {
	net     int32
	hosts   int
	proxies map[int]*proxy // by the number of the host that calls
}

func (l *loopback) plug(*testing.T, string) int { l.hosts++; return l.hosts }

func (l *loopback) addr(host int) string { return fmt.Sprintf("127.77.%d.%d", l.net, host) }

func (l *loopback) reach(t *testing.T, from, to, port int) string {
	if l.proxies[from] == nil {
		l.proxies[from] = newProxy(t, l.addr(from)+":0", fmt.Sprintf("%s:%d", l.addr(to), port))
	}
	return l.proxies[from].listener.Addr().String()
}

func (l *loopback) in(_ int, f func()) { f() }

func (l *loopback) set(from, to int, w weather) {
	if p := l.proxies[from]; p != nil {
		p.set(&w, nil)
	} else if p := l.proxies[to]; p != nil {
		p.set(nil, &w)
	}
}

func (l *loopback) carrier(host int, up bool) {
	if p := l.proxies[host]; p != nil {
		p.set(&weather{cut: !up}, &weather{cut: !up})
		p.reset()
	}
}
