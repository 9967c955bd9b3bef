//go:build e2e && linux

package links

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"
)

// talk is a connection from one host to an echo on another.
func talk(t *testing.T, n network, from, to int) net.Conn {
	t.Helper()
	var l net.Listener
	var c net.Conn
	var err error
	n.in(to, func() { l, err = net.Listen("tcp", n.addr(to)+":0") })
	must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				for s := bufio.NewScanner(c); s.Scan(); {
					fmt.Fprintln(c, s.Text())
				}
			}()
		}
	}()
	where := n.reach(t, from, to, l.Addr().(*net.TCPAddr).Port)
	n.in(from, func() { c, err = net.DialTimeout("tcp", where, patience) })
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// says sends a line and reports whether it came back within a time.
func says(c net.Conn, within time.Duration) (time.Duration, bool) {
	start := time.Now()
	fmt.Fprintln(c, start)
	c.SetReadDeadline(start.Add(within))
	line, err := bufio.NewReader(c).ReadString('\n')
	return time.Since(start), err == nil && line == fmt.Sprintln(start)
}

// The weather does what it is said to do, in its direction only.
func TestWeather(t *testing.T) {
	t.Parallel()
	n := newNetwork()
	a, b := n.plug(t, "a"), n.plug(t, "b")
	c := talk(t, n, a, b)
	if _, ok := says(c, patience); !ok {
		t.Fatal("nothing came back")
	}
	n.set(a, b, weather{delay: 60 * time.Millisecond})
	if took, ok := says(c, patience); !ok || took < 60*time.Millisecond {
		t.Fatalf("a delay of 60 ms: %v %v", took, ok)
	}
	for _, way := range [][2]int{{a, b}, {b, a}} {
		n.set(a, b, weather{})
		n.set(way[0], way[1], weather{cut: true})
		c := c
		if _, ok := says(c, 300*time.Millisecond); ok {
			t.Fatalf("%v is cut, and it came back", way)
		}
		n.set(way[0], way[1], weather{})
		c.SetReadDeadline(time.Now().Add(patience))
		if line, err := bufio.NewReader(c).ReadString('\n'); err != nil {
			t.Fatalf("what was cut off never came: %q %v", line, err)
		}
	}
}

// Packets are lost below TCP, which mends it.
func TestLoss(t *testing.T) {
	t.Parallel()
	if !alone {
		t.Skip("no namespaces: no packet can be lost")
	}
	n := &ether{}
	a, b := n.plug(t, "a"), n.plug(t, "b")
	c := talk(t, n, a, b)
	n.set(a, b, weather{loss: 0.1})
	for i := range 200 {
		if _, ok := says(c, patience); !ok {
			t.Fatalf("line %d never came back", i)
		}
	}
	passed, dropped := n.count(a, b)
	if dropped == 0 || dropped > passed {
		t.Fatalf("%d packets passed, %d were lost", passed, dropped)
	}
	n.carrier(a, false)
	if _, ok := says(c, 300*time.Millisecond); ok {
		t.Fatal("the cable is out, and it came back")
	}
	n.carrier(a, true)
}
