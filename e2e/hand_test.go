//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// grace is how long a hand-written file may be unreadable (design §3).
const grace = 5 * time.Second

// age makes a file look as if its author had left it alone for a while.
func age(t *testing.T, path string) {
	t.Helper()
	then := time.Now().Add(-2 * grace)
	ts := []unix.Timespec{unix.NsecToTimespec(then.UnixNano()), unix.NsecToTimespec(then.UnixNano())}
	must(t, unix.UtimesNanoAt(unix.AT_FDCWD, path, ts, unix.AT_SYMLINK_NOFOLLOW))
}

// Every hand-written file is either delivered or failed aloud; none is dropped.
func TestHandWritten(t *testing.T) {
	t.Parallel()
	const delivered, failed = "delivered", "failed"
	for name, c := range map[string]struct{ text, want, say string }{
		"plain":           {`{"to":"bob","act":"request","subject":"s","body":"b"}`, delivered, ""},
		"least":           {`{"to":"bob","body":"b"}`, delivered, ""},
		"alias":           {`{"to":"agent.bob","subject":"s","body":"b"}`, delivered, ""},
		"raw newline":     {"{\"to\":\"bob\",\"subject\":\"s\",\"body\":\"one\ntwo\"}", delivered, ""},
		"BOM":             {"\ufeff" + `{"to":"bob","subject":"s","body":"b"}`, delivered, ""},
		"unknown field":   {`{"to":"bob","subject":"s","body":"b","mood":{"x":[1,2]}}`, delivered, ""},
		"claims a sender": {`{"to":"bob","from":"human","subject":"s","body":"b","hops":0,"requires_reply":false}`, delivered, ""},
		"claims an id":    {`{"to":"bob","id":"../../registry","subject":"s","body":"b"}`, delivered, ""},
		"garbage":         {"\xff\xfe\x00 nothing", failed, ""},
		"bad UTF-8":       {"{\"to\":\"bob\",\"subject\":\"s\",\"body\":\"a\xffb\"}", "either", ""},
		"empty":           {"", failed, ""},
		"half":            {`{"to":"bob","subj`, failed, ""},
		"two":             {`{"to":"bob","body":"a"}{"to":"bob","body":"b"}`, failed, ""},
		"array":           {`[{"to":"bob","body":"a"}]`, failed, ""},
		"unknown act":     {`{"to":"bob","act":"shout","subject":"s","body":"b"}`, failed, "act"},
		"wrong type":      {`{"to":7,"subject":"s","body":"b"}`, failed, ""},
		"nobody":          {`{"to":"bobb","subject":"s","body":"b"}`, failed, "bob"},
		"no recipient":    {`{"subject":"s","body":"b"}`, failed, ""},
		"path":            {`{"to":"../../x","subject":"s","body":"b"}`, failed, ""},
		"attachments":     {`{"to":"bob","subject":"s","body":"b","attachments":["x"]}`, failed, ""},
		"too large":       {`{"to":"bob","subject":"s","body":"` + strings.Repeat("x", 1<<20) + `"}`, failed, "1048576 are allowed"},
		"false parent":    {`{"to":"bob","in_reply_to":"2026-05-30T14-03-11-123Z-0004-a1b2c3d4","subject":"s","body":"b"}`, failed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, "ann", "bob")
			d.drop("ann", "note.json", c.text)
			age(t, d.box("ann", "outbox", "note.json"))
			d.ok("route")
			s := d.whole()
			bob, ann := s.boxes["bob"], s.boxes["ann"]
			got := failed
			if len(bob.inbox) == 1 {
				got = delivered
			}
			if got != c.want && c.want != "either" {
				t.Fatalf("%s, want %s: inbox %v, failed %v", got, c.want, keys(bob.inbox), keys(ann.failed))
			}
			if got == delivered {
				for _, m := range bob.inbox {
					if m.From != "ann" || len(ann.sent) != 1 || len(ann.failed) != 0 {
						t.Fatalf("%s", m.raw)
					}
				}
				return
			}
			d.failedAloud("ann", c.say)
		})
	}
}

// failedAloud: the file is kept, the reason stands beside it, and a bounce
// says it, too.
func (d *desk) failedAloud(agent, say string) {
	d.t.Helper()
	kept := names(d.t, d.box(agent, "outbox", ".failed"))
	why := ""
	for _, n := range kept {
		if strings.HasSuffix(n, ".why.json") {
			why = read(d.t, d.box(agent, "outbox", ".failed", n))
		}
	}
	if len(kept) != 2 || !strings.Contains(why, `"reason"`) || !strings.Contains(why, say) {
		d.t.Fatalf("in .failed: %v\n%s", kept, why)
	}
	bounces := d.look().boxes[agent].inbox
	if len(bounces) != 1 {
		d.t.Fatalf("bounces: %v", keys(bounces))
	}
	for _, m := range bounces {
		if m.From != "postroom" || m.Act != "inform" || !strings.Contains(m.Body, say) {
			d.t.Fatalf("%s", m.raw)
		}
	}
	d.ok("route") // a bounce never bounces
	d.whole()
}

// A file whose author is slow is left alone until it parses, however often
// somebody routes meanwhile.
func TestSlowWriter(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	text, err := json.Marshal(map[string]string{"to": "bob", "subject": "slow", "body": strings.Repeat("word ", 2000)})
	must(t, err)
	f, err := os.Create(d.box("ann", "outbox", "slow.json"))
	must(t, err)
	for n := 0; n < len(text); n += 500 {
		_, err := f.Write(text[n:min(len(text), n+500)])
		must(t, err)
		if n+500 < len(text) {
			d.ok("route")
			if s := d.look(); len(s.boxes["bob"].inbox) > 0 || len(s.boxes["ann"].failed) > 0 {
				t.Fatal("taken before it was whole")
			}
		}
	}
	must(t, f.Close())
	d.ok("route")
	d.once(strings.Repeat("word ", 2000), "bob")
	d.whole()
}

// A file that failed and is mended where it lies is sent after all.
func TestMendedFile(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	d.drop("ann", "note.json", `{"to":"bob","body":"mend`)
	age(t, d.box("ann", "outbox", "note.json"))
	d.ok("route")
	d.failedAloud("ann", "")
	must(t, os.WriteFile(d.box("ann", "outbox", ".failed", "note.json"), []byte(`{"to":"bob","body":"mended"}`), 0o600))
	d.ok("route")
	d.once("mended", "bob")
	if left := names(t, d.box("ann", "outbox", ".failed")); len(left) != 0 {
		t.Fatalf("left: %v", left)
	}
	d.whole()
}

// What is no file, and what is somebody else's, is never opened as mail.
func TestHostileOutbox(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob", "eve")
	secret := filepath.Join(d.root, "secret")
	must(t, os.WriteFile(secret, []byte(`{"to":"eve","subject":"s","body":"SECRET"}`), 0o600))
	out := d.box("eve", "outbox")
	must(t, os.Symlink(secret, out+"/link.json"), os.Symlink("/dev/zero", out+"/zero.json"),
		os.Symlink(d.box("ann", "outbox"), out+"/away.json"), unix.Mkfifo(out+"/fifo.json", 0o600), os.Mkdir(out+"/dir.json", 0o700),
		os.WriteFile(out+"/note", []byte(`{"to":"bob","body":"without an ending"}`), 0o600))
	for _, n := range []string{"link.json", "zero.json", "away.json", "fifo.json", "dir.json"} {
		age(t, out+"/"+n)
	}
	if r := d.ok("route"); r.took > 10*time.Second {
		t.Fatalf("took %v", r.took)
	}
	d.ok("route")
	s := d.look()
	for id, m := range s.messages {
		if strings.Contains(m.Body, "SECRET") || m.From == "eve" {
			t.Fatalf("%s went out: %s", id, m.raw)
		}
	}
	if left := names(t, out); len(left) != 1 || left[0] != "note" {
		t.Fatalf("left in the outbox: %v", left)
	}
	d.send("ann", "bob", "nobody else is held up")
	// Directories swapped for links that lead elsewhere are not followed.
	must(t, os.RemoveAll(out), os.Symlink(d.box("ann", "outbox"), out))
	d.drop("ann", "mine.json", `{"to":"bob","subject":"s","body":"ann's own"}`)
	d.post("route")
	if got := d.look().messages[d.once("ann's own", "bob")]; got.From != "ann" {
		t.Fatalf("from %s", got.From)
	}
	must(t, os.Remove(out), os.MkdirAll(out+"/.sent", 0o700), os.Mkdir(out+"/.failed", 0o700), os.Mkdir(out+"/.keys", 0o700))
	d.ok("route")
	d.whole()
}

// An id that another agent has in use, or could be given, is nobody else's.
func TestStolenIDs(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob", "eve")
	readOnlyFor(t, filepath.Join(d.office, "lease"), func() {
		d.post("send", "bob", "--as", "ann", "-s", "s", "-m", "the real one").want(4, "stored")
	})
	pending := keys(d.look().boxes["ann"].outbox)[0]
	d.drop("eve", pending+".json", `{"id":"`+pending+`","to":"bob","subject":"s","body":"the thief's"}`)
	d.ok("route")
	d.ok("route")
	if id := d.once("the real one", "bob"); id != pending {
		t.Fatalf("ann's message became %s", id)
	}
	if id := d.once("the thief's", "bob"); id == pending {
		t.Fatal("eve got ann's id")
	}
	d.drop("eve", pending+".json", `{"id":"`+pending+`","to":"bob","subject":"s","body":"once more"}`)
	d.ok("route")
	d.once("once more", "bob")
	if m := d.whole().messages[pending]; m.Body != "the real one" {
		t.Fatalf("%s", m.raw)
	}
}

// readOnlyFor makes a file read-only while fn runs.
func readOnlyFor(t *testing.T, path string, fn func()) {
	t.Helper()
	must(t, unix.Mount(path, path, "", unix.MS_BIND, ""), unix.Mount("", path, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	defer unix.Unmount(path, unix.MNT_DETACH)
	fn()
}
