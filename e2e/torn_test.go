//go:build e2e && linux

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A registry that ends early is an error for everybody and overwritten by
// nobody.
func TestTornRegistry(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob", "carl")
	path := filepath.Join(d.office, "registry.json")
	good, err := os.ReadFile(path)
	must(t, err)
	flipped := bytes.Clone(good)
	flipped[len(flipped)/2] ^= 1
	states := [][]byte{flipped, []byte("{}"), []byte("null\n"), bytes.Repeat([]byte{0}, len(good))}
	for n := 0; n < len(good)-1; n += 37 {
		states = append(states, good[:n])
	}
	for _, torn := range states {
		must(t, os.WriteFile(path, torn, 0o600))
		for _, args := range [][]string{{"send", "bob", "--as", "ann", "-m", "x"}, {"join", "dora"}, {"route"}, {"inbox", "--as", "bob"}, {"agents"}, {"agent", "archive", "bob"}} {
			r := d.post(args...)
			if r.exit != 1 || !strings.Contains(r.line(), "registry") {
				t.Fatalf("registry of %d bytes: %v", len(torn), r)
			}
		}
		if now := read(t, path); now != string(torn) {
			t.Fatalf("registry of %d bytes was written over", len(torn))
		}
		must(t, os.Remove(path))
		if r := d.post("join", "dora"); r.exit != 1 {
			t.Fatalf("without a registry: %v", r)
		}
	}
	must(t, os.WriteFile(path, good, 0o600))
	d.send("ann", "bob", "mended")
	d.whole()
}

// What a crash tears off the journal's end is set aside, and said in the chain.
func TestTornJournal(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	body := func(n int) string { return "journalled " + itoa(n) }
	for n, tail := range []string{"{", `{"n":99,"at":"2026-`, strings.Repeat("\x00", 4096), "garbage\n", strings.Repeat("x", 70_000), "\n\n", `{"n":1,"at":"2026-05-30T14:03:11Z","event":"joined","prev":""}` + "\n"} {
		d.send("ann", "bob", body(n))
		f, err := os.OpenFile(d.journal(), os.O_WRONLY|os.O_APPEND, 0)
		must(t, err)
		_, err = f.WriteString(tail)
		must(t, err, f.Close())
		d.send("bob", "ann", "after "+body(n))
		s := d.whole()
		recovered := 0
		for _, r := range s.journal {
			if r.Event == "recovered" {
				recovered++
			}
		}
		if recovered != n+1 {
			t.Fatalf("after %q: %d recovered records", clipped(tail), recovered)
		}
	}
	cutLastRecord(t, d, "parked")
	cutLastRecord(t, d, "settled")
}

func (d *desk) journal() string {
	d.t.Helper()
	files, err := filepath.Glob(filepath.Join(d.office, "journal", "*.jsonl"))
	must(d.t, err)
	return files[len(files)-1]
}

// cutLastRecord cuts the last record, which is never synced, at each place: of
// a sender's pass, or of one that files what senders have parked.
func cutLastRecord(t *testing.T, d *desk, event string) {
	for step := 0; ; step++ {
		d.send("ann", "bob", "cut "+event+" "+itoa(step))
		if event == "settled" {
			d.ok("route")
		}
		data := read(t, d.journal())
		last := strings.LastIndexByte(strings.TrimSuffix(data, "\n"), '\n') + 1
		if !strings.Contains(data[last:], `"event":"`+event+`"`) {
			t.Fatalf("the last record is %s", data[last:])
		}
		if last+step*17 >= len(data) {
			return
		}
		must(t, os.Truncate(d.journal(), int64(last+step*17)))
		d.ok("route")
		d.whole()
	}
}

// An index or receipts file whose last line is torn loses nothing.
func TestTornIndexAndReceipts(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	for n := range 5 {
		id := d.send("ann", "bob", "line "+itoa(n))
		d.ok("read", id, "--as", "bob")
		for _, name := range []string{"index.jsonl", "receipts.jsonl"} {
			f, err := os.OpenFile(d.box("bob", name), os.O_WRONLY|os.O_APPEND, 0)
			must(t, err)
			_, err = f.WriteString(`{"seq":12,"id":"20`)
			must(t, err, f.Close())
		}
		next := d.send("ann", "bob", "next "+itoa(n))
		out := d.ok("inbox", "--as", "bob", "--json").out
		if !strings.Contains(out, next) {
			t.Fatalf("not shown: %s", out)
		}
		d.ok("read", next, "--as", "bob")
		if r := d.post("read", "next", "--as", "bob"); r.exit != 6 {
			t.Fatalf("what was read is unread: %v", r)
		}
		d.whole()
	}
}
