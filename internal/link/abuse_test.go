package link_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/link/linktest"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
)

// forger is a station of the team, with its keys in the hands of somebody who
// writes envelopes by himself.
type forger struct {
	lab  *lab
	wire link.Wire
	keys link.Keys
	n    int
}

// forge makes c a station that is known, and takes its link away from it.
func forge(t *testing.T, hub *linktest.Hub, knows *lab) *forger {
	t.Helper()
	c := newLab(t, hub, "c", "eve")
	knows.knows("eve@c")
	c.halt()
	keys, err := link.OpenKeys(c.office().FS)
	if err != nil {
		t.Fatal(err)
	}
	return &forger{lab: c, wire: hub.Wire("c"), keys: keys}
}

// envelope sends a message of eve's with any place in the sequence.
func (f *forger) envelope(epoch string, seq uint64, subject string) mail.ID {
	f.lab.t.Helper()
	f.n++
	id := mail.ID(time.Now().UTC().Format("2006-01-02T15-04-05-000Z") + fmt.Sprintf("-%04d-0123abcd", f.n))
	text := fmt.Sprintf(`{"schema":1,"id":%q,"conversation":"conv-7f3a91","in_reply_to":null,"from":"eve","to":"bob@b","cc":[],"act":"inform","subject":%q,"body":"x",`+
		`"hops":0,"requires_reply":false,"needs_human":false,"deadline":null,"created_at":%q,"office":"o-c","station":"c","sent_with":"test"}`,
		id, subject, id.Time().Format("2006-01-02T15:04:05.000Z"))
	f.raw(link.Header{Team: "t", Kind: link.Mail, From: "c", To: "b", Epoch: epoch, Seq: seq, ID: id},
		[]byte(`{"aid":"a-eve-c","recipients":["a-bob-b"]}`+"\n"+text))
	return id
}

func (f *forger) raw(h link.Header, body []byte) {
	f.lab.t.Helper()
	data, err := link.Forge(f.keys, h, body)
	if err == nil {
		f.n++
		err = <-f.wire.Publish(h.To, h.Kind, fmt.Sprint("forged ", f.n), data)
	}
	if err != nil {
		f.lab.t.Fatal(err)
	}
}

// TestHeaderIsNoPath: what an envelope's header says becomes no path.
func TestHeaderIsNoPath(t *testing.T) {
	t.Parallel()
	hub, _, b := pair(t)
	c := forge(t, hub, b)
	for i, epoch := range []string{"../../agents/x", "../x", "a/b", ".hidden", "e-1", "zzz"} {
		c.envelope(epoch, uint64(i)+3, "Escaped")
	}
	c.envelope("e-0123456789ab-01234567", 1, "Honest")
	b.gets("bob", "Honest")
	b.until("all were answered", func() bool { return hub.Waiting("b") == 0 })
	filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.Contains(d.Name(), ".00000000000") && !d.IsDir() {
			t.Errorf("it wrote %s", path)
		}
		return nil
	})
	b.until("it is told", func() bool { return strings.Contains(strings.Join(b.alarms(), "\n"), "its number is none") })
}

// TestGapOfAnEpochThatIsOver: what was held behind a gap when a new sequence
// began is delivered, and holds up nothing.
func TestGapOfAnEpochThatIsOver(t *testing.T) {
	t.Parallel()
	hub, _, b := pair(t)
	c := forge(t, hub, b)
	const old, young = "e-0123456789ab-01234567", "e-0123456789ac-01234567"
	c.envelope(old, 1, "first")
	c.envelope(old, 3, "third")
	b.until("the third is held", func() bool {
		names, _ := os.ReadDir(filepath.Join(b.dir, "link", "held", "c"))
		return len(names) == 1
	})
	c.envelope(young, 1, "anew")
	b.gets("bob", "anew")
	b.gets("bob", "third")
	c.envelope(young, 2, "on")
	b.gets("bob", "on")
	if names, _ := os.ReadDir(filepath.Join(b.dir, "link", "held", "c")); len(names) != 0 {
		t.Errorf("still held: %v", names)
	}
}

// TestTwoEpochsBehindGaps: the same number of two sequences is two messages.
func TestTwoEpochsBehindGaps(t *testing.T) {
	t.Parallel()
	hub, _, b := pair(t)
	c := forge(t, hub, b)
	const old, young = "e-0123456789ab-01234567", "e-0123456789ac-01234567"
	c.envelope(old, 1, "first")
	b.gets("bob", "first")
	c.envelope(young, 5, "young five")
	b.until("it is held", func() bool {
		names, _ := os.ReadDir(filepath.Join(b.dir, "link", "held", "c"))
		return len(names) == 1
	})
	c.envelope(old, 5, "old five")
	b.gets("bob", "old five")
	b.gets("bob", "young five")
}

// TestGivenUpAndThenCome: what was no longer waited for comes after all; that is
// no sign of a station that was set back.
func TestGivenUpAndThenCome(t *testing.T) {
	t.Parallel()
	hub, _, b := pair(t)
	c := forge(t, hub, b)
	const epoch = "e-0123456789ab-01234567"
	c.envelope(epoch, 1, "first")
	c.envelope(epoch, 3, "third")
	b.gets("bob", "third") // after Hold
	before := hub.Waiting("c")
	c.envelope(epoch, 2, "second")
	b.gets("bob", "second")
	b.until("it is answered", func() bool { return hub.Waiting("c") > before })
	for _, name := range waitingFor(t, hub, "c") {
		if strings.Contains(name, `"clash":true`) {
			t.Errorf("c is told that it was set back: %s", name)
		}
	}
}

// waitingFor are the envelopes on the wire for a station.
func waitingFor(t *testing.T, hub *linktest.Hub, station string) (out []string) {
	t.Helper()
	names, err := os.ReadDir(filepath.Join(hub.Dir, "mail"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if strings.Contains(n.Name(), " "+station+" ") {
			data, err := os.ReadFile(filepath.Join(hub.Dir, "mail", n.Name()))
			if err == nil {
				out = append(out, string(data))
			}
		}
	}
	return out
}

// TestRefusalWithoutRoom: a refusal that cannot be written down for its author is
// not counted as told.
func TestRefusalWithoutRoom(t *testing.T) {
	t.Parallel()
	hub, a, _ := pair(t)
	c := forge(t, hub, a)
	a.knows("postroom@c")
	id := a.send("ann", mailbox.Draft{To: []string{"eve@c"}, Act: mail.Request, Subject: "Will you?", Body: "x"})
	a.until("it left", func() bool { return hub.Waiting("c") > 0 })
	outbox := filepath.Join(a.dir, "agents", "postroom@c", "outbox")
	if err := os.Rename(outbox, outbox+".away"); err != nil {
		t.Fatal(err)
	}
	c.raw(link.Header{Team: "t", Kind: link.Receipt, From: "c", To: "a"},
		[]byte(`{"events":[{"event":"refused","id":"`+string(id)+`","at":"2026-05-30T14:03:11Z","text":"no"}]}`))
	a.until("it cannot be told", func() bool { return strings.Contains(a.log.String(), "receipts could not be stored") })
	if err := os.Rename(outbox+".away", outbox); err != nil {
		t.Fatal(err)
	}
	a.gets("ann", "Not delivered: Will you?")
	a.nothingWaits("eve@c")
}

// TestRevokedWhileAway: what waited when this station ended goes back to its
// author although the revocation was noted before.
func TestRevokedWhileAway(t *testing.T) {
	t.Parallel()
	hub, a, b := pair(t)
	b.halt()
	id := a.send("ann", mailbox.Draft{To: []string{"bob@b"}, Act: mail.Request, Subject: "Too late", Body: "x"})
	a.until("it left", func() bool { return hub.Waiting("b") > 0 })
	a.halt()
	hub.Revoke("b")
	file := filepath.Join(a.dir, "link", "peers", "b.json")
	data, err := os.ReadFile(file)
	if err == nil {
		text := strings.TrimRight(string(data), "}\n \t") + ",\n  \"revoked\": true\n}\n"
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	a.start()
	a.says(id, "refused bob@b")
	a.gets("ann", "Not delivered: Too late")
}

// TestSpoiltPeer: one station whose file cannot be read stops no other, and its
// key is not learned anew.
func TestSpoiltPeer(t *testing.T) {
	t.Parallel()
	hub, a, b := pair(t)
	c := newLab(t, hub, "c", "eve")
	b.knows("eve@c")
	c.knows("bob@b")
	b.halt()
	file := filepath.Join(b.dir, "link", "peers", "c.json")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.start()
	c.send("eve", mailbox.Draft{To: []string{"bob@b"}, Act: mail.Inform, Subject: "From c", Body: "x"})
	a.send("ann", mailbox.Draft{To: []string{"bob@b"}, Act: mail.Inform, Subject: "From a", Body: "x"})
	b.gets("bob", "From a")
	b.until("it is said", func() bool { return strings.Contains(strings.Join(b.alarms(), "\n"), "cannot be read") })
	if data, err := os.ReadFile(file); err != nil || string(data) != "{" {
		t.Errorf("%s %v", data, err)
	}
	if got := b.has("bob", "From c"); len(got) > 0 {
		t.Errorf("its key was learned anew: %v", got)
	}
}

// TestManySequences: a station that says again and again that ours was set back
// makes no work of it.
func TestManySequences(t *testing.T) {
	t.Parallel()
	hub, a, _ := pair(t)
	c := forge(t, hub, a)
	a.send("ann", mailbox.Draft{To: []string{"eve@c"}, Act: mail.Inform, Subject: "x", Body: "x"})
	a.until("it left", func() bool { return hub.Waiting("c") > 0 })
	for i := range 50 {
		c.raw(link.Header{Team: "t", Kind: link.Receipt, From: "c", To: "a"},
			[]byte(fmt.Sprintf(`{"have":{"epoch":"e-ffffffffff%02x-01234567","upto":1,"at":1}}`, i)))
	}
	a.until("they were taken", func() bool { return strings.Contains(strings.Join(a.alarms(), "\n"), "set back") })
	a.until("the rest is put off", func() bool { return strings.Contains(a.log.String(), "a moment ago") })
	data, err := os.ReadFile(filepath.Join(a.dir, "link", "out", "c.jsonl"))
	if n := strings.Count(string(data), `"epoch"`); err != nil || n > 3 {
		t.Errorf("%d sequences, %v", n, err)
	}
}
