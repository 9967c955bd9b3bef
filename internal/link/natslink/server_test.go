package natslink_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/link/natslink"
	"github.com/postroom/postroom/internal/mail"
)

// otherServer is a NATS server that is no hub of ours. ann may do everything, eve
// only what docs/links.md has for a station.
func otherServer(t *testing.T) (at, nkeySeed string) {
	t.Helper()
	key, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	pub, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := key.Seed()
	if err != nil {
		t.Fatal(err)
	}
	account := server.NewAccount("crew")
	opts := &server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(), Accounts: []*server.Account{account},
		Users: []*server.User{{Username: "ann", Password: "secret", Account: account}, {Username: "eve", Password: "hers", Account: account, Permissions: documented(t, "eve")}},
		Nkeys: []*server.NkeyUser{{Nkey: pub, Account: account}}}
	srv, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(10 * time.Second) {
		t.Fatal("it does not start")
	}
	registered, err := srv.LookupAccount("crew")
	if err == nil {
		err = registered.EnableJetStream(nil, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return srv.ClientURL(), string(seed)
}

// documented is what docs/links.md tells an admin to permit, read from there.
func documented(t *testing.T, station string) *server.Permissions {
	t.Helper()
	data, err := os.ReadFile("../../../docs/links.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(data), "```permissions\n")
	text, _, end := strings.Cut(rest, "```")
	if !ok || !end {
		t.Fatal("docs/links.md has no block of permissions")
	}
	p := &server.Permissions{Publish: &server.SubjectPermission{}, Subscribe: &server.SubjectPermission{}}
	for line := range strings.Lines(text) {
		what, subject, ok := strings.Cut(strings.TrimSpace(line), " ")
		subject = strings.NewReplacer("TEAM", "team", "STATION", station).Replace(strings.TrimSpace(subject))
		switch {
		case ok && what == "publish":
			p.Publish.Allow = append(p.Publish.Allow, subject)
		case ok && what == "subscribe":
			p.Subscribe.Allow = append(p.Subscribe.Allow, subject)
		default:
			t.Fatalf("what is %q?", line)
		}
	}
	return p
}

func credsFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "creds")
	if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func openOther(t *testing.T, at, station, creds string) *natslink.Wire {
	t.Helper()
	w, err := natslink.Open(natslink.Options{Team: "team", Station: station, URLs: []string{at}, Creds: credsFile(t, creds), Manage: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	for late := time.After(20 * time.Second); !w.State().Up; {
		select {
		case <-w.Changed():
		case <-late:
			t.Fatalf("%+v", w.State())
		}
	}
	return w
}

// TestOtherServer: streams and consumer are made by who may; who may not is told
// what to ask for, and works with the documented permissions once it is there.
func TestOtherServer(t *testing.T) {
	t.Parallel()
	at, seed := otherServer(t)
	eve := openOther(t, at, "eve", "eve:hers")
	missing, err := eve.Ensure(t.Context())
	if err != nil || len(missing) != 3 {
		t.Fatalf("%q, %v", missing, err)
	}
	for i, want := range []string{"nats stream add POST_team ", "nats consumer add POST_team eve ", "nats stream add POST_team_DIR "} {
		if !strings.Contains(missing[i], want) {
			t.Errorf("%q has no %q", missing[i], want)
		}
	}
	ann := openOther(t, at, "ann", "ann:secret")
	if missing, err := ann.Ensure(t.Context()); err != nil || len(missing) > 0 {
		t.Fatalf("%q, %v", missing, err)
	}
	if missing, err = eve.Ensure(t.Context()); err != nil || len(missing) != 1 || !strings.Contains(missing[0], "consumer add POST_team eve") {
		t.Fatalf("%q, %v", missing, err)
	}
	admin := openOther(t, at, "eve", seed) // makes the consumer that is called eve
	if missing, err := admin.Ensure(t.Context()); err != nil || len(missing) > 0 {
		t.Fatalf("%q, %v", missing, err)
	}
	if missing, err = eve.Ensure(t.Context()); err != nil || len(missing) > 0 {
		t.Fatalf("%q, %v", missing, err)
	}
	talk(t, ann, eve)
	talk(t, eve, ann)
	if err := eve.PutCard(t.Context(), []byte("eve's")); err != nil {
		t.Fatal(err)
	}
	if cards, err := eve.Cards(t.Context()); err != nil || string(cards["eve"].Data) != "eve's" {
		t.Errorf("%v, %v", cards, err)
	}
}

// talk sends one envelope and takes it.
func talk(t *testing.T, from, to *natslink.Wire) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := <-from.Publish(to.Station(), link.Mail, from.Station()+to.Station(), []byte("hello")); err != nil {
		t.Fatal(err)
	}
	var got string
	to.Receive(ctx, func(ps []link.Parcel) {
		for _, p := range ps {
			got = p.From() + ": " + string(p.Data())
			if err := p.Ack(ctx); err != nil {
				t.Error(err)
			}
		}
		cancel()
	})
	if got != from.Station()+": hello" {
		t.Fatalf("%s got %q", to.Station(), got)
	}
}

// TestWhy: what is wrong is said in plain words.
func TestWhy(t *testing.T) {
	t.Parallel()
	at, _ := otherServer(t)
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ url, creds, want string }{
		{at, "ann:wrong", "does not accept these credentials"},
		{"nats://127.0.0.1:1", "ann:secret", "nobody listens there"},
		{"nats://no-such-host.invalid:4222", "ann:secret", "no-such-host.invalid"},
		{"tls://127.0.0.1:" + u.Port(), "ann:secret", "secure connection"},
	} {
		w, err := natslink.Open(natslink.Options{Team: "team", Station: "ann", URLs: []string{c.url}, Creds: credsFile(t, c.creds)})
		if err != nil {
			t.Fatal(err)
		}
		for late := time.After(20 * time.Second); !strings.Contains(w.State().Why, c.want); {
			select {
			case <-w.Changed():
			case <-late:
				t.Fatalf("%s: %+v, not %q", c.url, w.State(), c.want)
			}
		}
		if s := w.State(); s.Up || strings.Contains(s.Why+s.Hub, "secret") {
			t.Errorf("%+v", s)
		}
		if err := <-w.Publish("bob", link.Mail, "1", nil); err == nil {
			t.Error("published")
		}
		w.Close()
	}
	for _, creds := range []string{"", "nothing that we know"} {
		if _, err := natslink.Open(natslink.Options{Team: "team", Station: "ann", URLs: []string{at}, Creds: credsFile(t, creds)}); mail.KindOf(err) != mail.KindInvalid {
			t.Errorf("%q: %v", creds, err)
		}
	}
}
