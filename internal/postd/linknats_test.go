package postd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// TestLinkByServer: a server that is no hub of ours.
func TestLinkByServer(t *testing.T) {
	t.Parallel()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
		Username: "team", Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(20 * time.Second) {
		t.Fatal("it does not start")
	}
	a, b := newPlace(t, "ann"), newPlace(t, "bob")
	for p, name := range map[*place]string{a: "one", b: "two"} {
		creds := filepath.Join(p.root, "creds")
		if err := os.WriteFile(creds, []byte("team:secret\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if out := p.ok("post", "link", "--nats", "nats://"+srv.Addr().String(), "--creds", creds, "--team", "crew", "--station", name); !strings.Contains(out, "station "+name+" of team crew") {
			t.Error(out)
		}
		p.serve()
	}
	b.linkUp("two sees one", func(s linkStatus) bool { return s.Link.Up && len(s.Link.Peers) == 1 })
	a.linkUp("one sees two", func(s linkStatus) bool { return s.Link.Up && len(s.Link.Peers) == 1 })
	a.drop("ann", "hello", "bob@two")
	eventually(t, "bob has it", func() bool { return b.bodies("bob")["hello"] == 1 })
	if code, _, say := a.run("post", "link", "rotate"); code != 5 || !strings.Contains(say, "admin") {
		t.Errorf("exit %d, %s", code, say)
	}
	if out := a.ok("post", "link", "leave"); !strings.Contains(out, "it was one") {
		t.Error(out)
	}
}
