package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// deadline is how long anything here may take on a machine that is busy.
const deadline = 30 * time.Second

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen: ", what)
		}
	}
}

// buffer is a log that may be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// desk is an office on the real file system and perhaps a server.
type desk struct {
	t     *testing.T
	dir   string
	state string
	sys   office.System
	log   *buffer
	addr  string
	stop  context.CancelFunc
	ended chan struct{}
	err   error // of Run, when it ended
}

func newDesk(t *testing.T, agents ...string) *desk {
	t.Helper()
	d := &desk{t: t, dir: filepath.Join(t.TempDir(), "office"), state: t.TempDir(), log: &buffer{}}
	d.sys = office.System{Now: time.Now, OpenFS: func(dir string) (vfs.FS, error) { return vfs.OpenReal(dir) },
		Machine: func() string { return "m-test" }, Boot: func() (string, time.Duration, bool) { return "", 0, false },
		Host: "test", PID: os.Getpid(), Version: "post test", Parallel: 4}
	if _, _, err := office.Create(d.dir, d.sys, office.CreateOptions{PersonCheck: config.PersonCheckOff}); err != nil {
		t.Fatal(err)
	}
	for _, a := range agents {
		d.join(a)
	}
	return d
}

func (d *desk) office() *office.Office {
	d.t.Helper()
	o, err := office.Open(d.dir, d.sys)
	if err != nil {
		d.t.Fatal(err)
	}
	return o
}

// lease takes the lease as soon as it is free.
func (d *desk) lease(o *office.Office) *spool.Lease {
	d.t.Helper()
	var lease *spool.Lease
	eventually(d.t, "the lease is free", func() bool {
		l, err := spool.AcquireLease(o.FS, spool.Holder{PID: 1, Host: "other"})
		lease = l
		return err == nil
	})
	return lease
}

func (d *desk) join(name string, wake ...string) {
	d.t.Helper()
	o := d.office()
	defer d.lease(o).Release()
	reg, err := o.Registry()
	if err == nil {
		err = o.SystemBox(name).Make()
	}
	if err == nil {
		err = reg.Add(registry.Entry{Name: name, AID: "a-" + name, InboxPath: d.path("agents", name, "inbox"),
			Transcript: "_inbox_" + name + ".md", Notify: append([]string{}, wake...), Joined: time.Now()})
	}
	if err == nil {
		err = reg.Save(o.FS)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) path(elem ...string) string { return filepath.Join(append([]string{d.dir}, elem...)...) }

func (d *desk) server() *Server {
	return &Server{Dir: d.dir, Sys: d.sys, Table: notify.NewTable(notify.None{}), Program: "post",
		Log: slog.New(slog.NewTextHandler(d.log, nil)), Listen: "127.0.0.1:0", StateDir: d.state}
}

// serve runs s until the test ends.
func (d *desk) serve(s *Server) {
	d.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	d.stop, d.ended = cancel, ended
	ready := make(chan string, 1)
	s.Ready = func(addr string) { ready <- addr }
	go func() {
		defer close(ended)
		d.err = s.Run(ctx)
	}()
	d.t.Cleanup(func() {
		cancel()
		<-ended
	})
	select {
	case d.addr = <-ready:
	case <-ended:
		d.t.Fatal("it ended: ", d.err)
	case <-time.After(deadline):
		d.t.Fatal("it is not ready: ", d.log)
	}
}

func (d *desk) wait() error {
	d.t.Helper()
	select {
	case <-d.ended:
		return d.err
	case <-time.After(deadline):
		d.t.Fatal("it does not end")
		return nil
	}
}

func (d *desk) drop(from, file, text string) {
	d.t.Helper()
	if err := os.WriteFile(d.path("agents", from, "outbox", file), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func message(to string, n int) string {
	return fmt.Sprintf(`{"to":%q,"act":"inform","subject":"Private subject %d","body":"private body %d"}`, to, n, n)
}

func (d *desk) count(elem ...string) int {
	names, _ := filepath.Glob(d.path(append(elem, "*.json")...))
	return len(names)
}

func (d *desk) arrives(to string, n int) {
	d.t.Helper()
	eventually(d.t, fmt.Sprintf("%d messages for %s", n, to), func() bool { return d.count("agents", to, "inbox") == n })
}

func (d *desk) get(path, host string) (int, string) {
	d.t.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://"+d.addr+path, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	if host != "" {
		req.Host = host
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

func (d *desk) health() (h Health, code int) {
	d.t.Helper()
	code, body := d.get("/healthz", "")
	if err := json.Unmarshal([]byte(body), &h); err != nil {
		d.t.Fatal(err, body)
	}
	return h, code
}

// TestEventsAlone: mail written by hand moves on the event, without a look.
func TestEventsAlone(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "coder", "tester")
	s := d.server()
	s.Rescan, s.Full = time.Hour, time.Hour
	d.serve(s)
	for i := range 3 {
		d.drop("coder", fmt.Sprintf("m%d.json", i), message("tester", i))
		d.arrives("tester", i+1)
	}
	eventually(t, "the outbox is empty", func() bool { return d.count("agents", "coder", "outbox") == 0 })
}

// TestLookAlone: without events it is found by looking.
func TestLookAlone(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "coder", "tester")
	s := d.server()
	s.Rescan, s.Full, s.noEvents = 5*time.Millisecond, time.Hour, true
	d.serve(s)
	for i := range 3 {
		d.drop("coder", fmt.Sprintf("m%d.json", i), message("tester", i))
		d.arrives("tester", i+1)
	}
}

// TestJoinWhileServing: an agent that joins later is served, wherever its
// mailbox is; so is one whose outbox was replaced.
func TestJoinWhileServing(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "coder")
	s := d.server()
	s.Rescan = 5 * time.Millisecond
	d.serve(s)
	d.join("late")
	d.drop("late", "m.json", message("coder", 1))
	d.arrives("coder", 1)
	out := d.path("agents", "late", "outbox")
	if err := os.Rename(out, out+"-old"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", ".sent", ".failed", ".keys"} {
		if err := os.MkdirAll(filepath.Join(out, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d.drop("late", "n.json", message("coder", 2))
	d.arrives("coder", 2)
}

// TestHalfWritten: a file that is still being written is left alone, then taken.
func TestHalfWritten(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "coder", "tester")
	d.serve(d.server())
	text := message("tester", 1)
	d.drop("coder", "m.json", text[:20])
	eventually(t, "it was seen", func() bool { h, _ := d.health(); return h.Waiting == 1 })
	d.drop("coder", "m.json", text)
	d.arrives("tester", 1)
}

// TestSendersBeside: senders with dispatchers of their own deliver while a serve
// runs; each message arrives once.
func TestSendersBeside(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "coder", "tester", "boss")
	d.serve(d.server())
	const each = 10
	var wg sync.WaitGroup
	for _, from := range []string{"coder", "boss"} {
		wg.Go(func() {
			for i := range each {
				o := d.office()
				m, err := mailbox.Open(o, from)
				if err != nil {
					t.Error(err)
					return
				}
				sent, err := m.Send(mailbox.Draft{To: []string{"tester"}, Act: mail.Inform, Subject: "s", Body: fmt.Sprint(from, i)})
				if err != nil || sent[0].Err != nil {
					t.Error(err, sent)
					return
				}
				ctx, cancel := context.WithTimeout(context.Background(), deadline)
				res, _, err := dispatch.New(o, notify.NewTable(notify.None{}), "post").Deliver(ctx, m.Author, []*mail.Message{sent[0].Msg}, nil)
				cancel()
				if err != nil || len(res) != 1 || res[0].Fates[0].State != router.Delivered {
					t.Errorf("%+v %v", res, err)
				}
			}
		})
	}
	wg.Wait()
	d.arrives("tester", 2*each)
	if rep, err := journal.Verify(d.office().FS); err != nil || rep.Break != nil {
		t.Fatalf("%+v %v", rep, err)
	}
}

// slow is an adapter that hangs until it is released.
type slow struct {
	mu      sync.Mutex
	calls   int
	at      int // at once
	most    int
	release chan struct{}
}

func (*slow) Kind() string { return "slow" }

func (s *slow) Notify(ctx context.Context, a notify.Agent, p notify.Pointer) (notify.Outcome, error) {
	s.mu.Lock()
	s.calls++
	s.at++
	s.most = max(s.most, s.at)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.at--
		s.mu.Unlock()
	}()
	select {
	case <-s.release:
		return notify.Outcome{State: notify.Notified, Evidence: "slow: told"}, nil
	case <-ctx.Done():
		return notify.Fail("slow", a, "too slow", "")
	}
}

// TestSlowWake: a recipient whose wake hangs delays nobody's mail, its own
// neither, and is woken once at a time. The evidence is journalled.
func TestSlowWake(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "coder", "quick")
	d.join("snail", "slow")
	hang := &slow{release: make(chan struct{})}
	s := d.server()
	s.Table = notify.NewTable(notify.None{}, hang)
	d.serve(s)
	d.drop("coder", "a.json", message("snail", 1))
	eventually(t, "a wake is under way", func() bool { h, _ := d.health(); return h.Wakes == 1 })
	began := time.Now()
	for i := range 5 {
		d.drop("coder", fmt.Sprintf("q%d.json", i), message("quick", i))
		d.arrives("quick", i+1)
	}
	d.drop("coder", "b.json", message("snail", 2))
	d.arrives("snail", 2)
	if took := time.Since(began); took > dispatch.Budget {
		t.Logf("six deliveries took %v on this machine", took) // the calls below tell whether the wake was waited for
	}
	close(hang.release)
	eventually(t, "the evidence is in the journal", func() bool {
		told := 0
		journal.Each(d.office().FS, time.Time{}, time.Time{}, func(r journal.Record) error {
			if r.Event == journal.Notified && r.Detail["state"] == "notified" {
				told++
			}
			return nil
		})
		return told >= 2
	})
	hang.mu.Lock()
	defer hang.mu.Unlock()
	if hang.most != 1 {
		t.Fatalf("%d wakes of one agent at once", hang.most)
	}
}

// TestStopFinishes: a wake under way when the end comes is finished, and its
// evidence kept; the next serve starts at once.
func TestStopFinishes(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "coder")
	d.join("snail", "slow")
	hang := &slow{release: make(chan struct{})}
	s := d.server()
	s.Table = notify.NewTable(notify.None{}, hang)
	d.serve(s)
	where := filepath.Join(d.state, "serve", d.office().Config.ID+".json")
	if data, err := os.ReadFile(where); err != nil || !strings.Contains(string(data), d.addr) {
		t.Fatalf("%s %v", data, err)
	}
	d.drop("coder", "a.json", message("snail", 1))
	eventually(t, "a wake is under way", func() bool { h, _ := d.health(); return h.Wakes == 1 })
	d.stop()
	eventually(t, "it stops listening", func() bool {
		resp, err := http.Get("http://" + d.addr + "/healthz")
		if err == nil {
			resp.Body.Close()
		}
		return err != nil
	})
	close(hang.release)
	if err := d.wait(); err != nil {
		t.Fatal(err)
	}
	told := false
	journal.Each(d.office().FS, time.Time{}, time.Time{}, func(r journal.Record) error {
		told = told || r.Event == journal.Notified && r.Detail["state"] == "notified"
		return nil
	})
	if !told {
		t.Fatal("the wake's evidence is lost: ", d.log)
	}
	if _, err := os.Lstat(where); err == nil {
		t.Fatal("the address of a serve that ended is still announced")
	}
	d.serve(d.server())
}

func TestOneServe(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "coder")
	d.serve(d.server())
	err := d.server().Run(context.Background())
	if mail.KindOf(err) != mail.KindConflict || !strings.Contains(err.Error(), fmt.Sprint("pid ", os.Getpid())) || !strings.Contains(err.Error(), d.addr) {
		t.Fatal(err)
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:80", "localhost:0", "example.com:80", "127.0.0.1", ""} {
		s := d.server()
		s.Listen = addr
		if err := s.Run(context.Background()); mail.KindOf(err) != mail.KindUsage {
			t.Errorf("%q: %v", addr, err)
		}
	}
	d.serve(d.server())
	other := newDesk(t)
	s := other.server()
	s.Listen = d.addr
	if err := s.Run(context.Background()); mail.KindOf(err) != mail.KindConflict {
		t.Fatal(err)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "coder")
	s := d.server()
	s.Sides = []Side{side{}}
	d.serve(s)
	h, code := d.health()
	if code != 200 || !h.OK || h.V != 1 || h.Office != d.office().Config.ID || h.Version != "post test" || h.Pass.Count == 0 ||
		h.Lease.State != "free" || h.Lease.Holder == nil || h.Sides["side"] != "well" {
		t.Fatalf("%d %+v", code, h)
	}
	for host, want := range map[string]int{"localhost:1": 200, "127.0.0.1": 200, "[::1]:80": 200, "evil.example": 403, "127.0.0.1.evil.example": 403} {
		if code, _ := d.get("/healthz", host); code != want {
			t.Errorf("Host %s: %d, want %d", host, code, want)
		}
	}
	if code, _ := d.get("/", ""); code != 404 {
		t.Fatal(code)
	}
}

type side struct{}

func (side) Name() string            { return "side" }
func (side) State() any              { return "well" }
func (side) Run(ctx context.Context) { <-ctx.Done() }

// TestLeaseElsewhere: while somebody else routes nothing is lost, it is shown,
// and it goes on afterwards.
func TestLeaseElsewhere(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "coder", "tester")
	d.serve(d.server())
	lease := d.lease(d.office())
	d.drop("coder", "m.json", message("tester", 1))
	eventually(t, "it is busy", func() bool { h, _ := d.health(); return h.Lease.State == "busy" && h.Lease.Holder.Host == "other" })
	if n := d.count("agents", "tester", "inbox"); n != 0 {
		t.Fatal(n)
	}
	lease.Release()
	d.arrives("tester", 1)
	eventually(t, "it is free again", func() bool { h, _ := d.health(); return h.Lease.State == "free" })
}

// TestTrouble: what is wrong with the office is said and shown; when it is
// mended, mail moves.
func TestTrouble(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "coder", "tester")
	s := d.server()
	s.Rescan = 5 * time.Millisecond
	d.serve(s)
	good, err := os.ReadFile(d.path(registry.File))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.path(registry.File), good[:len(good)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is not well", func() bool { h, code := d.health(); return code == 503 && !h.OK && h.Error != nil })
	d.drop("coder", "m.json", message("tester", 1))
	if err := os.WriteFile(d.path(registry.File), good, 0o600); err != nil {
		t.Fatal(err)
	}
	d.arrives("tester", 1)
	eventually(t, "it is well", func() bool { _, code := d.health(); return code == 200 })
	if text := d.log.String(); !strings.Contains(text, "a pass failed") || !strings.Contains(text, "passes work again") {
		t.Fatal(text)
	}
}

func TestMovedAway(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "coder")
	s := d.server()
	s.Rescan, s.Full = 5*time.Millisecond, 5*time.Millisecond
	d.serve(s)
	if err := os.WriteFile(d.path(office.MovedFile), []byte("/elsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.wait(); mail.KindOf(err) != mail.KindForeign {
		t.Fatal(err)
	}
}

func TestSettingsReadAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "coder", "tester")
	s := d.server()
	s.Rescan = 5 * time.Millisecond
	d.serve(s)
	text, err := os.ReadFile(d.path(config.OfficeFile))
	if err != nil {
		t.Fatal(err)
	}
	next := strings.Replace(string(text), `copy_all = ""`, `copy_all = "tester"`, 1)
	if next == string(text) {
		t.Fatal("no such key: ", next)
	}
	if err := os.WriteFile(d.path(config.OfficeFile), []byte(next), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the settings were read", func() bool { return strings.Contains(d.log.String(), "settings were read again") })
	d.join("boss")
	d.drop("coder", "m.json", message("boss", 1))
	d.arrives("boss", 1)
	d.arrives("tester", 1)
}

// TestLogHoldsNoMail: one line for each thing that happened, and nothing that an
// author wrote.
func TestLogHoldsNoMail(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "coder", "tester")
	d.serve(d.server())
	d.drop("coder", "good.json", message("tester", 1))
	d.drop("coder", "unknown.json", message("private-name", 2))
	d.drop("coder", "asks.json", `{"to":"human","act":"request","subject":"Private subject","body":"private body"}`)
	eventually(t, "all is logged", func() bool {
		text := d.log.String()
		return strings.Contains(text, "msg=delivered") && strings.Contains(text, "msg=bounced") && strings.Contains(text, "put before a person")
	})
	d.stop()
	if err := d.wait(); err != nil {
		t.Fatal(err)
	}
	if text := strings.ToLower(d.log.String()); strings.Contains(text, "private") {
		t.Fatal(text)
	}
}
