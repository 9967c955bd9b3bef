//go:build e2e && linux

package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What the lease says of its holder decides nothing.
func TestLeaseOfTheDead(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	path := filepath.Join(d.office, "lease")
	for n, text := range []string{`{"pid":1,"host":"h","since":"2026-01-01T00:00:00Z","version":"x"}`, `{"pid":999999}`, "", "\x00\x00", strings.Repeat("x", 5000)} {
		must(t, os.WriteFile(path, []byte(text), 0o600))
		d.send("ann", "bob", "past the dead "+itoa(n))
	}
	for _, odd := range []func() error{
		func() error { return os.Remove(path) },
		func() error { must(t, os.Remove(path)); return os.Mkdir(path, 0o700) },
		func() error { must(t, os.Remove(path)); return unix.Mkfifo(path, 0o600) },
		func() error { must(t, os.Remove(path)); return os.Symlink("/etc/passwd", path) },
	} {
		must(t, odd())
		r := d.post("send", "bob", "--as", "ann", "-m", "an odd lease "+time.Now().String())
		if s := d.look(); r.exit == 0 && !s.has("bob", r.id()) || r.exit == 4 && s.boxes["ann"].outbox[r.id()].raw == "" || r.exit != 0 && r.exit != 4 {
			t.Fatalf("%v", r)
		}
	}
	must(t, os.Remove(path))
	d.ok("route")
	d.whole()
}

// halted is a router that was stopped before its n-th call on the office.
type halted struct {
	call   string
	goOn   chan bool // true kills it
	result chan traced
}

// halt runs a command up to its n-th call; nil if it made fewer.
func (d *desk) halt(n int, args ...string) *halted {
	d.t.Helper()
	h := &halted{goOn: make(chan bool), result: make(chan traced, 1)}
	there := make(chan string)
	tr := &tracer{path: filepath.Join(programs, "post"), argv: d.args(args), env: d.env, dir: d.root, roots: []string{d.office}}
	tr.at = func(i int, call string) bool {
		if i != n {
			return false
		}
		there <- call
		return <-h.goOn
	}
	go func() { h.result <- tr.run() }()
	select {
	case h.call = <-there:
		return h
	case res := <-h.result:
		if res.err != nil || res.exit != 0 {
			d.t.Fatalf("post %v: %+v", args, res)
		}
		return nil
	}
}

// end lets it go on, or kills it.
func (h *halted) end(kill bool) traced {
	h.goOn <- kill
	return <-h.result
}

// A router that is stopped anywhere delays mail, and nothing else: whoever sends
// meanwhile says only what is true, and the mail moves once it goes on or dies.
func TestHolderStopped(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	points := 0
	for n := 1; ; n += 5 {
		body := "while stopped at " + itoa(n)
		d.drop("bob", "hand.json", `{"to":"ann","subject":"s","body":"by hand `+itoa(n)+`"}`)
		h := d.halt(n, "route")
		if h == nil {
			break
		}
		points++
		args := []string{"send", "bob", "--as", "ann", "-s", "s", "-m", body, "--wait", "50ms"}
		r := d.post(args...)
		switch s := d.look(); {
		case r.exit == 0 && s.has("bob", r.id()):
		case r.exit == 4 && s.boxes["ann"].outbox[r.id()].raw != "":
			r.want(4, "stored, not yet delivered: .* is routing since .* Do not resend.")
		default:
			t.Fatalf("stopped before %s:\n%v", h.call, r)
		}
		if n%2 == 0 { // somebody tidies up
			os.Remove(filepath.Join(d.office, "lease"))
			second := d.post("send", "bob", "--as", "ann", "-s", "s", "-m", "tidied at "+itoa(n), "--wait", "50ms")
			if r.exit == 4 && second.exit != 4 {
				t.Fatalf("two routers, while one is stopped before %s: %v", h.call, second)
			}
		}
		h.end(n%3 == 0)
		d.ok("route")
		d.post(args...).want(0, "already sent: .* state delivered")
		d.once(body, "bob")
		d.once("by hand "+itoa(n), "ann")
		d.whole()
	}
	t.Logf("%d points", points)
}

// A sender that waits gets its mail delivered as soon as the router goes on: no
// poke is missed.
func TestSenderOutwaitsRouter(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	for n := 8; ; n += 9 {
		d.drop("bob", "hand.json", `{"to":"ann","subject":"s","body":"by hand `+itoa(n)+`"}`)
		h := d.halt(n, "route")
		if h == nil {
			return
		}
		sent := make(chan ran)
		go func() { sent <- d.post("send", "bob", "--as", "ann", "-m", "waiting "+itoa(n)) }()
		until(t, "the message in the outbox, or delivered", func() bool {
			return len(names(t, d.box("ann", "outbox")))+len(names(t, d.box("bob", "inbox"))) > 0
		})
		h.end(n%2 == 0)
		r := <-sent
		r.want(0, "delivered")
		d.ok("route")
		d.once("waiting "+itoa(n), "bob")
		d.whole()
		d.ok("done", r.id(), "--as", "bob")
	}
}

// A notifier's child that lives on holds nothing of ours.
func TestLeaseNotInherited(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann")
	pidFile := filepath.Join(d.root, "pid")
	waker := filepath.Join(d.root, "waker")
	must(t, os.WriteFile(waker, []byte("#!/bin/sh\nsleep 300 </dev/null >/dev/null 2>&1 &\necho $! > "+pidFile+".tmp && mv "+pidFile+".tmp "+pidFile+"\n"), 0o755))
	d.join("bob", "--notify", "exec:"+waker)
	r := d.post("send", "bob", "--as", "ann", "-m", "wake up").want(0, `delivered .* to bob \(notified: exec\)`)
	d.whole()
	pid, err := strconv.Atoi(strings.TrimSpace(read(t, pidFile)))
	must(t, err)
	defer unix.Kill(pid, unix.SIGKILL)
	fds, err := filepath.Glob("/proc/" + itoa(pid) + "/fd/*")
	must(t, err)
	if len(fds) == 0 {
		t.Fatal("the child is gone")
	}
	for _, fd := range fds {
		if to, _ := os.Readlink(fd); strings.HasPrefix(to, d.root) {
			t.Errorf("the child holds %s", to)
		}
	}
	if r.took > 5*time.Second {
		t.Errorf("the sender waited %v for a child that lives on", r.took)
	}
	r = d.post("send", "ann", "--as", "bob", "-m", "past the child").want(0, "delivered")
	d.once("past the child", "ann")
}
