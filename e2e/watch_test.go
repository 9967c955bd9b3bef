//go:build e2e && linux

package e2e

import (
	"bufio"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// running is a command that goes on, with its lines as they come.
type running struct {
	pid   int
	lines chan string
	stop  func()
}

func (d *desk) running(args ...string) *running {
	d.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := d.command(ctx, args...)
	out, err := cmd.StdoutPipe()
	must(d.t, err, cmd.Start())
	r := &running{pid: cmd.Process.Pid, lines: make(chan string, 10_000)}
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			r.lines <- s.Text()
		}
		close(r.lines)
	}()
	r.stop = func() { cancel(); cmd.Wait() }
	d.t.Cleanup(r.stop)
	return r
}

// next is the next line, within a second of time on the wall.
func (r *running) next(t *testing.T, within time.Duration) string {
	t.Helper()
	select {
	case line, ok := <-r.lines:
		if !ok {
			t.Fatal("it ended")
		}
		return line
	case <-time.After(within):
		t.Fatalf("no line within %v", within)
	}
	return ""
}

// A message shows in post watch as soon as it is delivered, by file events.
func TestWatch(t *testing.T) {
	d := newDesk(t, "ann", "bob")
	first := d.send("ann", "bob", "there before")
	w := d.running("watch", "--as", "bob")
	if line := w.next(t, limit); !strings.Contains(line, first) {
		t.Fatalf("%s", line)
	}
	var took []time.Duration
	for n := range 15 {
		start := time.Now()
		id := d.send("ann", "bob", "watched "+itoa(n))
		if line := w.next(t, limit); !strings.Contains(line, id) || !strings.Contains(line, "inform from ann") {
			t.Fatalf("%s", line)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	t.Logf("send to line: median %v, worst %v", took[len(took)/2], took[len(took)-1])
	if took[len(took)/2] > time.Second {
		t.Error("slower than the rescan: events do not work")
	}
	// By hand, and with no other process than the watcher to move it.
	d.drop("ann", "hand.json", `{"to":"bob","subject":"s","body":"by hand"}`)
	if line := w.next(t, limit); !strings.Contains(line, "inform from ann") {
		t.Fatalf("%s", line)
	}
	d.ok("route")
	d.whole()
}

// wait answers at once if the reply is there, read or not, and says so if
// nothing comes.
func TestWait(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	id := d.send("ann", "bob", "a question", "--act", "query")
	d.post("wait", "--as", "ann", "--reply-to", id, "--timeout", "300ms").want(6, "post: wait: nothing came")
	w := d.running("wait", "--as", "ann", "--reply-to", id, "--timeout", "60s")
	d.ok("reply", id, "--as", "bob", "-m", "an answer")
	if line := w.next(t, limit); !strings.Contains(line, "inform from bob") {
		t.Fatalf("%s", line)
	}
	for range 2 {
		r := d.post("wait", "--as", "ann", "--reply-to", id, "--timeout", "60s").want(0, "inform from bob")
		if r.took > 5*time.Second {
			t.Fatalf("took %v", r.took)
		}
		d.ok("read", "last", "--as", "ann")
	}
	d.whole()
}

// A reader whose output fails leaves the message unread.
func TestBrokenPipe(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	id := d.send("ann", "bob", "for a reader who is there")
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	must(t, err)
	defer full.Close()
	broken := func() *os.File {
		r, w, err := os.Pipe()
		must(t, err, r.Close())
		return w
	}
	for _, args := range [][]string{{"read", id}, {"read", "next"}, {"read", id, "--json"}, {"inbox"}, {"wait", "--timeout", "10s"}, {"watch"}} {
		for _, to := range []*os.File{full, broken()} {
			cmd := d.command(context.Background(), append(args, "--as", "bob")...)
			cmd.Stdout = to
			if err := cmd.Run(); err == nil {
				t.Errorf("post %v wrote to nowhere and says it is well", args)
			}
			if to != full {
				to.Close()
			}
			if text := read(t, d.box("bob", "receipts.jsonl")); strings.Contains(text, id) {
				t.Fatalf("post %v: a receipt for what nobody saw: %s", args, text)
			}
		}
		cmd := d.command(context.Background(), append(args, "--as", "bob")...)
		cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `exec "$@" >&-`, "sh", cmd.Path}, cmd.Args[1:]...)
		if err := cmd.Run(); err == nil {
			t.Errorf("post %v has no output and says it is well", args)
		}
		if text := read(t, d.box("bob", "receipts.jsonl")); strings.Contains(text, id) {
			t.Fatalf("post %v without an output: a receipt for what nobody saw: %s", args, text)
		}
	}
	d.ok("read", "next", "--as", "bob")
	d.whole()
}

// Two processes of one agent never get the same message from read next.
func TestReadNextOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	const messages, readers = 30, 6
	for n := range messages {
		d.send("ann", "bob", "number <"+itoa(n)+">")
	}
	got := make(chan string, messages*2)
	done := make(chan bool)
	for range readers {
		go func() {
			defer func() { done <- true }()
			for {
				r := d.post("read", "next", "--as", "bob")
				if r.exit != 0 {
					return
				}
				got <- anyID.FindString(r.out)
			}
		}()
	}
	for range readers {
		<-done
	}
	close(got)
	seen := map[string]bool{}
	for id := range got {
		if seen[id] {
			t.Errorf("%s was given twice", id)
		}
		seen[id] = true
	}
	if len(seen) != messages {
		t.Errorf("%d of %d", len(seen), messages)
	}
	d.ok("route")
	d.whole()
}
