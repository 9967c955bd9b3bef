package serve

import (
	"fmt"
	"testing"
	"time"
)

func TestTodo(t *testing.T) {
	t.Parallel()
	var td todo
	if !td.empty() {
		t.Fatal("not empty")
	}
	td.add("a")
	td.add("b")
	td.add("a")
	seen := map[string]int{}
	for !td.empty() {
		opt := td.next()
		seen[opt.Own]++
		if opt.All {
			t.Fatal("two outboxes are no reason to look at all")
		}
	}
	if len(seen) != 2 || seen["a"] != 1 || seen["b"] != 1 {
		t.Fatal(seen)
	}
	for i := range maxTags + 1 {
		td.add(fmt.Sprint(i))
	}
	if opt := td.next(); !opt.All || !td.empty() {
		t.Fatalf("%+v", opt)
	}
	td.back(td.next())
	td.add("a")
	opt := td.next()
	td.back(opt)
	if td.empty() {
		t.Fatal("what did not take place is forgotten")
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 30, 14, 0, 0, 0, time.UTC)
	pause := func(p pace) time.Duration { return max(0, p.from.Sub(now)) }
	var p pace
	for i := range 20 {
		p.taken(now)
		if got := pause(p); got < busyPause || got > busyMax {
			t.Fatal(i, got)
		}
	}
	p.failed(now)
	if pause(p) != failPause || !p.busy.IsZero() {
		t.Fatalf("%+v", p)
	}
	for range 20 {
		p.failed(now)
	}
	if pause(p) != failMax {
		t.Fatal(pause(p))
	}
	p.done(now, 1)
	if pause(p) != 0 || p.failures != 0 {
		t.Fatalf("%+v", p)
	}
	for i := range 30 { // somebody touches files in an outbox without end
		p.done(now, 0)
		if got := pause(p); i < 3 && got != 0 || got > idleMax {
			t.Fatal(i, got)
		}
	}
	if pause(p) != idleMax {
		t.Fatal(pause(p))
	}
	now = now.Add(5 * time.Second) // a quiet time: the next event is served at once
	p.done(now, 0)
	if pause(p) != 0 {
		t.Fatal(pause(p))
	}
	p.done(now, load)
	if p.linger(now) != lingers || p.linger(now.Add(loadLast)) != 0 {
		t.Fatal("it lingers under load, and only then")
	}
	p.done(now, load-1)
	if p.linger(now) != 0 {
		t.Fatal("it lingers without load")
	}
}
