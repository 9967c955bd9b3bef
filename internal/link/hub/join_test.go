package hub

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/link/natslink"
	"github.com/postroom/postroom/internal/mail"
)

// TestJoinLines: each is good once, for a while, by the hub's clock.
func TestJoinLines(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	ahead := time.Duration(0)
	now := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return time.Now().Add(ahead)
	}
	h, err := Start(t.Context(), Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", Now: now})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	invite := func(good time.Duration) Line {
		line, err := h.Invite(good)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseLine("  " + line.String()[:30] + "\n" + line.String()[30:] + "\r\n")
		if err != nil || again.String() != line.String() {
			t.Fatalf("%v, %v", again, err)
		}
		return again
	}
	no := func(line Line, station, seed, want string) {
		t.Helper()
		if _, err := Join(t.Context(), line, station, seed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
	line, ann := invite(0), newSeed(t)
	if _, err := Join(t.Context(), line, "ann", ann); err != nil {
		t.Fatal(err)
	}
	if _, err := Join(t.Context(), line, "ann", ann); err != nil {
		t.Errorf("its answer was lost, and it may not ask again: %v", err)
	}
	no(line, "bob", newSeed(t), "has been used, by ann")
	no(line, "ann", newSeed(t), "has been used, by ann")
	no(invite(0), "ann", newSeed(t), "there is a station ann already")
	if _, err := Join(t.Context(), invite(0), "ann", ann); err != nil {
		t.Errorf("the same station with the same key, and a new line: %v", err)
	}
	short, used := invite(time.Minute), invite(time.Minute)
	if _, err := Join(t.Context(), used, "cyn", newSeed(t)); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	ahead = time.Hour
	mu.Unlock()
	no(short, "bob", newSeed(t), "expired at")
	forged := invite(0)
	forged.Invite = make([]byte, inviteBytes)
	no(forged, "bob", newSeed(t), "not one of this hub's")
	wrong := invite(0)
	wrong.Pin = strings.Repeat("ab", 32)
	no(wrong, "bob", newSeed(t), "another key")
	no(invite(0), "Bob", newSeed(t), "upper-case")
	if err := h.Revoke(t.Context(), "ann"); err != nil {
		t.Fatal(err)
	}
	no(invite(0), "ann", ann, "this key was revoked")
	if m, err := Join(t.Context(), invite(0), "ann", newSeed(t)); err != nil {
		t.Errorf("another machine may take the name: %v", err)
	} else {
		wire(t, m)
	}
}

func TestParseLine(t *testing.T) {
	t.Parallel()
	good := Line{Addrs: []string{"10.0.0.5:4222", "[fe80::1]:4222"}, Pin: strings.Repeat("0f", 32), Team: "crew", Invite: make([]byte, inviteBytes)}.String()
	if _, err := ParseLine(good); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "hello", linePrefix, good[:len(good)-5], linePrefix + "e30", good + "x",
		Line{Addrs: []string{"10.0.0.5"}, Pin: strings.Repeat("0f", 32), Team: "crew", Invite: make([]byte, inviteBytes)}.String(),
		Line{Addrs: []string{"a@b:4222"}, Pin: strings.Repeat("0f", 32), Team: "crew", Invite: make([]byte, inviteBytes)}.String(),
		Line{Addrs: []string{"h:1"}, Pin: "0f", Team: "crew", Invite: make([]byte, inviteBytes)}.String(),
		Line{Addrs: []string{"h:1"}, Pin: strings.Repeat("0f", 32), Team: "a.b", Invite: make([]byte, inviteBytes)}.String(),
		Line{Addrs: []string{"h:1"}, Pin: strings.Repeat("0f", 32), Team: "crew", Invite: []byte("short")}.String()} {
		if l, err := ParseLine(bad); mail.KindOf(err) != mail.KindInvalid {
			t.Errorf("%q is %v, %v", bad, l, err)
		} else if len(bad) > 40 && strings.Contains(err.Error(), bad[20:40]) {
			t.Errorf("the error holds the line: %v", err)
		}
	}
}

// TestRestart: the hub ends, and everything is as before when it is back: mail on
// its way, who is in, who is out. Stations connect again by themselves.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := startHub(t, dir, "127.0.0.1:0")
	at := h.Nearby()
	ann, bob, eve := joined(t, h, "ann"), joined(t, h, "bob"), joined(t, h, "eve")
	a, e := wire(t, ann), wire(t, eve)
	if err := <-a.Publish("bob", link.Mail, "1", []byte("before")); err != nil {
		t.Fatal(err)
	}
	if err := <-e.Publish("bob", link.Mail, "1", []byte("from who is out")); err != nil {
		t.Fatal(err)
	}
	if err := <-a.Publish("eve", link.Mail, "1", []byte("for who is out")); err != nil {
		t.Fatal(err)
	}
	if err := h.Revoke(t.Context(), "eve"); err != nil {
		t.Fatal(err)
	}
	await(t, e, "out", func(s link.State) bool { return !s.Up && strings.Contains(s.Why, "revoked") })
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	await(t, a, "down", func(s link.State) bool { return !s.Up && s.Why != "" })
	if err := <-a.Publish("bob", link.Mail, "2", []byte("nowhere")); err == nil {
		t.Error("published to nobody")
	}
	line, err := Control{dir, time.Now}.Invite(t.Context(), time.Hour)
	if err != nil || line.Addrs[0] != at {
		t.Fatalf("a hub that does not run invites: %v, %v", line, err)
	}
	startHub(t, dir, at)
	await(t, a, "up again", func(s link.State) bool { return s.Up })
	if err := <-a.Publish("bob", link.Mail, "2", []byte("after")); err != nil {
		t.Fatal(err)
	}
	in := receive(t, wire(t, bob))
	until(t, "all mail", func() error {
		if err := in.has("ann: before"); err != nil {
			return err
		}
		return in.has("ann: after")
	})
	if in.has("eve: from who is out") == nil {
		t.Error("what a revoked station sent, and nobody had fetched, is delivered")
	}
	if _, err := Join(t.Context(), line, "cyn", newSeed(t)); err != nil {
		t.Error(err)
	}
	if s := e.State(); s.Up {
		t.Error("a revoked station is in again after a restart")
	}
	w, err := natslink.Open(natslink.Options{Team: eve.Team, Station: "eve", URLs: eve.URLs, Pin: eve.Pin, User: eve.User})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	await(t, w, "refused", func(s link.State) bool { return strings.Contains(s.Why, "revoked") })
	if err := <-w.Publish("bob", link.Mail, "3", nil); err != link.ErrRevoked {
		t.Error(err)
	}
}

// TestControl: commands beside the hub, and that it says its own directory is taken.
func TestControl(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := Control{dir, time.Now}
	if _, err := c.Status(t.Context()); mail.KindOf(err) != mail.KindNotFound {
		t.Errorf("there is no hub: %v", err)
	}
	h := startHub(t, dir, "127.0.0.1:0")
	if _, err := Start(t.Context(), Options{Dir: dir, Listen: "127.0.0.1:0"}); mail.KindOf(err) != mail.KindConflict {
		t.Errorf("two hubs on one directory: %v", err)
	}
	line, err := c.Invite(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Join(t.Context(), line, "ann", newSeed(t))
	if err != nil {
		t.Fatal(err)
	}
	w := wire(t, m)
	s, err := c.Status(t.Context())
	if err != nil || len(s.Stations) != 1 || !s.Stations[0].Connected || s.Team != "crew" {
		t.Fatalf("%+v, %v", s, err)
	}
	if err := c.Revoke(t.Context(), "nobody"); mail.KindOf(err) != mail.KindNotFound {
		t.Error(err)
	}
	for range 2 { // it may be repeated
		if err := c.Revoke(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
	}
	await(t, w, "out", func(s link.State) bool { return !s.Up })
	if err := m.Leave(t.Context()); mail.KindOf(err) != mail.KindIdentity || !strings.Contains(err.Error(), "--forget") {
		t.Errorf("who is out leaves: %v", err)
	}
	if s, err = c.Status(t.Context()); err != nil || len(s.Stations) != 0 || len(s.Revoked) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	h.Close()
	if _, err := c.Status(t.Context()); mail.KindOf(err) != mail.KindNotFound || !strings.Contains(err.Error(), "does not run") {
		t.Error(err)
	}
	if _, err := Start(t.Context(), Options{Dir: dir, Listen: "127.0.0.1:0", Team: "others"}); mail.KindOf(err) != mail.KindConflict {
		t.Errorf("another team's hub: %v", err)
	}
}

// TestServerStartsAnew: what the hub does when its server takes no mail any more.
func TestServerStartsAnew(t *testing.T) {
	t.Parallel()
	h := startHub(t, t.TempDir(), "127.0.0.1:0")
	ann, bob := joined(t, h, "ann"), joined(t, h, "bob")
	a := wire(t, ann)
	if err := <-a.Publish("bob", link.Mail, "1", []byte("before")); err != nil {
		t.Fatal(err)
	}
	if ill := h.engine.ill(); ill != "" {
		t.Errorf("it is ill: %s", ill)
	}
	h.state.mu.Lock()
	h.engine.srv.Shutdown()
	if h.engine.ill() == "" {
		t.Error("a server that has stopped is well")
	}
	err := h.restart(t.Context())
	h.state.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	until(t, "ann publishes again", func() error { return <-a.Publish("bob", link.Mail, "2", []byte("after")) })
	in := receive(t, wire(t, bob))
	until(t, "all mail", func() error {
		if err := in.has("ann: before"); err != nil {
			return err
		}
		return in.has("ann: after")
	})
	joined(t, h, "cyn")
}

// TestGuestsGo: who shows no key may not stay.
func TestGuestsGo(t *testing.T) {
	t.Parallel()
	h := startHub(t, t.TempDir(), "127.0.0.1:0")
	a := wire(t, joined(t, h, "ann"))
	x := attack(t, h)
	h.engine.showOut(0)
	until(t, "the guest is out", func() error {
		if !x.nc.IsClosed() {
			return errors.New("it stays")
		}
		return nil
	})
	if !a.State().Up || h.nc.IsClosed() {
		t.Error("others are out, too")
	}
	if _, err := Start(t.Context(), Options{Dir: t.TempDir(), Listen: h.Nearby()}); mail.KindOf(err) != mail.KindConflict {
		t.Errorf("two on one address: %v", err)
	}
}

// TestLeave: a station that leaves is out; what it has sent is delivered.
func TestLeave(t *testing.T) {
	t.Parallel()
	h := startHub(t, t.TempDir(), "127.0.0.1:0")
	ann, bob := joined(t, h, "ann"), joined(t, h, "bob")
	a := wire(t, ann)
	if err := <-a.Publish("bob", link.Mail, "1", []byte("my last")); err != nil {
		t.Fatal(err)
	}
	if err := ann.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, a, "out", func(s link.State) bool { return !s.Up })
	in := receive(t, wire(t, bob))
	until(t, "its mail", func() error { return in.has("ann: my last") })
}

// TestRotate: between asking for the next key and retiring the one before, both
// let the station in; then only the new one does.
func TestRotate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := startHub(t, dir, "127.0.0.1:0")
	at := h.Nearby()
	ann, bob := joined(t, h, "ann"), joined(t, h, "bob")
	a := wire(t, ann)
	first := newSeed(t)
	if _, err := ann.Next(t.Context(), first); err != nil { // its answer is lost
		t.Fatal(err)
	}
	seed := newSeed(t)
	user, err := ann.Next(t.Context(), seed)
	if err != nil {
		t.Fatal(err)
	}
	next := ann
	next.User = user
	if err := a.Use(user); err != nil {
		t.Fatal(err)
	}
	await(t, a, "up as the new one", func(s link.State) bool { return s.Up })
	wire(t, ann)
	h.Close() // a crash between the two steps
	startHub(t, dir, at)
	for range 2 {
		if err := next.Retire(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := ann.Leave(t.Context()); err == nil {
		t.Error("the key before is let in")
	}
	await(t, a, "up", func(s link.State) bool { return s.Up })
	if err := <-a.Publish("bob", link.Mail, "1", []byte("as ever")); err != nil {
		t.Fatal(err)
	}
	in := receive(t, wire(t, bob))
	until(t, "mail", func() error { return in.has("ann: as ever") })
	if cards, err := a.Cards(t.Context()); err != nil || cards["ann"].Revoked {
		t.Errorf("%v, %v", cards, err)
	}
}

// TestNoSecrets: nothing that is secret leaves the files that are for it.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := startHub(t, dir, "127.0.0.1:0")
	line, err := h.Invite(0)
	if err != nil {
		t.Fatal(err)
	}
	var k map[string]any
	data, err := os.ReadFile(filepath.Join(dir, keysFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &k); err != nil {
		t.Fatal(err)
	}
	ledger, err := os.ReadFile(filepath.Join(dir, ledgerFile))
	if err != nil {
		t.Fatal(err)
	}
	if s := string(ledger); strings.Contains(s, "SU") || strings.Contains(s, "SA") || strings.Contains(s, string(line.Invite)) {
		t.Errorf("the list of stations holds a secret: %s", s)
	}
	if s := line.String(); len(s) > 300 {
		t.Errorf("a join line has %d characters", len(s))
	}
	err = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err == nil && fi.Mode().Perm()&0o077 != 0 && !strings.HasPrefix(p, filepath.Join(dir, "store")+"/") {
			t.Errorf("%s is %v", p, fi.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFull: a destination that takes nothing holds up itself alone.
func TestFull(t *testing.T) {
	t.Parallel()
	h := startHub(t, t.TempDir(), "127.0.0.1:0")
	ann := joined(t, h, "ann")
	joined(t, h, "bob")
	joined(t, h, "cyn")
	stream, err := h.js.Stream(t.Context(), h.Team().Stream())
	if err != nil {
		t.Fatal(err)
	}
	c := stream.CachedInfo().Config
	c.MaxMsgsPerSubject = 3
	if _, err := h.js.UpdateStream(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	a := wire(t, ann)
	for i, want := range []error{nil, nil, nil, link.ErrFull, link.ErrFull} {
		if err := <-a.Publish("bob", link.Mail, string(rune('a'+i)), []byte("x")); err != want {
			t.Errorf("%d: %v, not %v", i, err, want)
		}
	}
	if err := <-a.Publish("cyn", link.Mail, "z", []byte("x")); err != nil {
		t.Errorf("who is beside it: %v", err)
	}
	if err := <-a.Publish("bob", link.Receipt, "y", []byte("x")); err != nil {
		t.Errorf("receipts have a limit of their own: %v", err)
	}
	if err := <-a.Publish("no.such", link.Mail, "q", nil); mail.KindOf(err) != mail.KindInvalid {
		t.Errorf("a name that is none: %v", err)
	}
}
