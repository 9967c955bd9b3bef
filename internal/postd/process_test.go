package postd

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/notify/acptest"
	"github.com/postroom/postroom/internal/notify/notifytest"
)

// TestMain makes the test binary be post, postd and a worker's program when it is
// called so.
func TestMain(m *testing.M) {
	acptest.Main()
	var table cli.Table
	switch filepath.Base(os.Args[0]) {
	case "post":
		table = cli.Commands()
	case "postd":
		table = Commands()
	default:
		os.Exit(m.Run())
	}
	os.Exit(cli.Main(context.Background(), cli.SystemEnv("0.0.0-test"), table, os.Args[1:]))
}

const deadline = 60 * time.Second

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !ok(); time.Sleep(3 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen: ", what)
		}
	}
}

// place is a user's home with an office and both programs on PATH.
type place struct {
	t    *testing.T
	root string
	env  []string
	dir  string // of the office
}

func newPlace(t *testing.T, agents ...string) *place {
	t.Helper()
	p := &place{t: t, root: t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"bin", "home", "w"} {
		if err := os.Mkdir(filepath.Join(p.root, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"post", "postd"} {
		if err := os.Symlink(self, filepath.Join(p.root, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	p.dir = filepath.Join(p.root, "office")
	p.env = []string{"HOME=" + filepath.Join(p.root, "home"), "PATH=" + filepath.Join(p.root, "bin") + ":/usr/bin:/bin", "POSTROOM_OFFICE=" + p.dir}
	p.ok("post", "init", p.dir, "--person-check", "off")
	for _, a := range agents {
		p.join(a)
	}
	return p
}

func (p *place) join(name string, more ...string) {
	p.t.Helper()
	w := filepath.Join(p.root, "w", name)
	if err := os.Mkdir(w, 0o700); err != nil {
		p.t.Fatal(err)
	}
	p.ok("post", append([]string{"join", name, "--workspace", w}, more...)...)
}

func (p *place) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(p.root, "bin", program), args...)
	cmd.Env, cmd.Dir = p.env, filepath.Join(p.root, "home")
	return cmd
}

// run returns the exit code and both outputs.
func (p *place) run(program string, args ...string) (code int, out, said string) {
	p.t.Helper()
	var o, e bytes.Buffer
	cmd := p.command(program, args...)
	cmd.Stdout, cmd.Stderr = &o, &e
	cmd.Run()
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}

func (p *place) ok(program string, args ...string) string {
	p.t.Helper()
	code, out, said := p.run(program, args...)
	if code != 0 {
		p.t.Fatalf("%s %v: exit %d\n%s%s", program, args, code, out, said)
	}
	return out
}

// served is a serve that runs as a process.
type served struct {
	cmd   *exec.Cmd
	addr  string
	log   *lines
	ended chan struct{}
}

// lines is an output that may be read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (p *place) serve(args ...string) *served {
	p.t.Helper()
	s := &served{cmd: p.command("post", append([]string{"serve", "--json"}, args...)...), log: &lines{}, ended: make(chan struct{})}
	out := &lines{}
	s.cmd.Stdout, s.cmd.Stderr = out, s.log
	if err := s.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		defer close(s.ended)
		s.cmd.Wait()
	}()
	p.t.Cleanup(func() {
		s.cmd.Process.Kill()
		<-s.ended
	})
	eventually(p.t, "it serves: "+s.log.String(), func() bool {
		var said struct{ Addr string }
		json.Unmarshal([]byte(out.String()), &said)
		s.addr = said.Addr
		return s.addr != ""
	})
	return s
}

func (s *served) end(t *testing.T, sig os.Signal) int {
	t.Helper()
	s.cmd.Process.Signal(sig)
	select {
	case <-s.ended:
	case <-time.After(deadline):
		t.Fatal("it does not end: ", s.log)
	}
	return s.cmd.ProcessState.ExitCode()
}

func (p *place) drop(from, name, to string) {
	p.t.Helper()
	text := fmt.Sprintf(`{"to":%q,"act":"inform","subject":%q,"body":%q}`, to, name, name)
	if err := os.WriteFile(filepath.Join(p.dir, "agents", from, "outbox", name+".json"), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// bodies counts what stands in an inbox, by body.
func (p *place) bodies(name string) map[string]int {
	got := map[string]int{}
	files, _ := filepath.Glob(filepath.Join(p.dir, "agents", name, "inbox", "*.json"))
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		var m struct{ Body, From string }
		json.Unmarshal(data, &m)
		if m.From != "postroom" {
			got[m.Body]++
		}
	}
	return got
}

func TestServeProcess(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder", "tester")
	s := p.serve("--log", "json")
	p.drop("coder", "one", "tester")
	eventually(t, "delivery", func() bool { return p.bodies("tester")["one"] == 1 })
	code, _, said := p.run("post", "serve")
	if code != mail.ExitRefused || !strings.Contains(said, "served already") {
		t.Fatalf("a second serve: %d %s", code, said)
	}
	p.drop("coder", "two", "tester")
	eventually(t, "delivery", func() bool { return p.bodies("tester")["two"] == 1 })
	if code := s.end(t, syscall.SIGTERM); code != 0 {
		t.Fatalf("exit %d: %s", code, s.log)
	}
	for line := range strings.Lines(s.log.String()) {
		var entry struct {
			Time time.Time
			Msg  string
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Msg == "" || entry.Time.Location() != time.UTC {
			t.Errorf("a log line: %q %v", line, err)
		}
	}
	if !strings.Contains(s.log.String(), `"msg":"stopped"`) {
		t.Fatal(s.log)
	}
	s = p.serve()
	if code := s.end(t, syscall.SIGINT); code != 0 {
		t.Fatalf("exit %d: %s", code, s.log)
	}
}

// TestSendWhileServing: senders get their true answer while a serve routes beside
// them, and each message arrives once.
func TestSendWhileServing(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder", "tester")
	p.serve()
	const n = 12
	for i := range n {
		out := p.ok("post", "send", "tester", "--as", "coder", "-s", "s", "-m", fmt.Sprintf("m%d", i))
		if !strings.HasPrefix(out, "delivered ") {
			t.Fatal(out)
		}
	}
	got := p.bodies("tester")
	if len(got) != n {
		t.Fatal(got)
	}
	for body, times := range got {
		if times != 1 {
			t.Errorf("%s arrived %d times", body, times)
		}
	}
}

// TestKilled: a serve that is killed in the middle of its work, again and again,
// loses nothing and delivers nothing twice.
func TestKilled(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder", "tester")
	const rounds, each = 4, 25
	for r := range rounds {
		s := p.serve()
		for i := range each {
			p.drop("coder", fmt.Sprintf("r%d-%d", r, i), "tester")
		}
		eventually(t, "some arrive", func() bool { return len(p.bodies("tester")) > r*each })
		s.end(t, syscall.SIGKILL)
	}
	p.serve()
	eventually(t, "all arrive", func() bool { return len(p.bodies("tester")) == rounds*each })
	for body, n := range p.bodies("tester") {
		if n != 1 {
			t.Errorf("%s arrived %d times", body, n)
		}
	}
	eventually(t, "all are archived", func() bool {
		sent, _ := filepath.Glob(filepath.Join(p.dir, "agents", "coder", "outbox", ".sent", "*.json"))
		return len(sent) == rounds*each
	})
}

// TestWebhook: an agent that joined with --notify webhook:URL is woken by serve
// directly, and by `postd notify webhook` for post.
func TestWebhook(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	hang := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Agent string }
		json.NewDecoder(r.Body).Decode(&body)
		mu.Lock()
		got = append(got, body.Agent)
		mu.Unlock()
		if r.URL.Path == "/hang" {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		}
	}))
	t.Cleanup(web.Close)
	t.Cleanup(func() { close(hang) })
	asked := func(name string) bool {
		mu.Lock()
		defer mu.Unlock()
		return strings.Contains(strings.Join(got, " "), name)
	}
	p := newPlace(t, "coder", "quick")
	p.join("hooked", "--notify", "webhook:"+web.URL+"/wake")
	p.join("stuck", "--notify", "webhook:"+web.URL+"/hang")
	s := p.serve()
	p.drop("coder", "a", "stuck")
	eventually(t, "the hook that hangs is asked", func() bool { return asked("stuck") })
	p.drop("coder", "b", "quick")
	p.drop("coder", "c", "hooked")
	eventually(t, "the other mail moves", func() bool { return p.bodies("quick")["b"] == 1 && asked("hooked") })
	eventually(t, "both are logged", func() bool {
		return strings.Contains(s.log.String(), "msg=woken agent=hooked") && strings.Contains(s.log.String(), `msg="not woken" agent=stuck`)
	})
	if code := s.end(t, syscall.SIGTERM); code != 0 {
		t.Fatalf("exit %d: %s", code, s.log)
	}

	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	ask := notify.NewPostd("webhook", func() (string, error) { return filepath.Join(p.root, "bin", "postd"), nil })
	agent := notify.Agent{Name: "coder", AID: "a-1", Notify: []string{"webhook", web.URL + "/wake"}}
	out, err := ask.Notify(ctx, agent, notifytest.Pointer(t, "coder"))
	if err != nil || out.State != notify.Notified || !asked("coder") {
		t.Fatalf("%+v %v", out, err)
	}
}

func TestAuditCommands(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder", "tester")
	if code, _, said := p.run("post", "audit", "now"); code != mail.ExitRefused || !strings.Contains(said, `audit = "git"`) {
		t.Fatalf("%d %s", code, said)
	}
	toml := filepath.Join(p.dir, "postroom.toml")
	text, err := os.ReadFile(toml)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(toml, bytes.Replace(text, []byte(`audit = "none"`), []byte(`audit = "git"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	s := p.serve()
	p.drop("coder", "one", "tester")
	eventually(t, "delivery", func() bool { return p.bodies("tester")["one"] == 1 })
	eventually(t, "serve commits", func() bool { return strings.Contains(s.log.String(), "msg=audited") })
	s.end(t, syscall.SIGTERM)
	p.ok("post", "audit", "now")
	var st struct {
		OK     bool `json:"ok"`
		Behind int  `json:"behind"`
		Last   struct {
			ID   string
			Head struct{ N int } `json:"journal_head"`
		}
	}
	if err := json.Unmarshal([]byte(p.ok("post", "audit", "status", "--json")), &st); err != nil || !st.OK || st.Behind != 0 || st.Last.Head.N == 0 {
		t.Fatalf("%+v %v", st, err)
	}
	if out := p.ok("post", "audit", "status", "--json"); strings.Count(out, `"v":`) != 1 || !strings.Contains(out, `"wrong":[]`) {
		t.Error(out)
	}
	if out := p.ok("post", "audit", "status"); !strings.Contains(out, st.Last.ID) || !strings.Contains(out, "remote add keep URL") {
		t.Fatal(out)
	}
	if out := p.ok("post", "audit", "now", "--full"); !strings.Contains(out, "nothing changed") {
		t.Fatal(out)
	}
	lock := filepath.Join(p.dir, "audit.git", "HEAD.lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := p.run("post", "audit", "status"); code != 1 || !strings.Contains(out, "HEAD.lock") {
		t.Fatalf("%d %s", code, out)
	}
}

func TestServiceCommands(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.env = append(p.env, "PATH="+filepath.Join(p.root, "bin")) // no manager
	code, out, said := p.run("post", "service", "install")
	if code != 1 || !strings.Contains(out, "ExecStart=") || !strings.Contains(said, "nothing was installed") {
		t.Fatalf("%d %s %s", code, out, said)
	}
	if err := os.WriteFile(filepath.Join(p.root, "bin", "systemctl"), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	out = p.ok("post", "service", "install")
	if !strings.Contains(out, "systemctl --user enable --now postroom-") {
		t.Fatal(out)
	}
	units, _ := filepath.Glob(filepath.Join(p.root, "home", ".config", "systemd", "user", "postroom-*.service"))
	if len(units) != 1 {
		t.Fatal(units)
	}
	written, err := os.ReadFile(units[0])
	if err != nil || p.ok("post", "service", "print") != string(written) || p.ok("post", "service", "install", "--print") != string(written) {
		t.Fatal("print and install disagree ", err)
	}
	if err := os.WriteFile(units[0], append(written, "# mine\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, said := p.run("post", "service", "uninstall"); code != mail.ExitRefused || !strings.Contains(said, "was changed") {
		t.Fatalf("%d %s", code, said)
	}
	if err := os.WriteFile(units[0], written, 0o600); err != nil {
		t.Fatal(err)
	}
	p.ok("post", "service", "uninstall")
	if _, err := os.Lstat(units[0]); err == nil {
		t.Fatal("still there")
	}
	if out := p.ok("post", "service", "uninstall"); !strings.Contains(out, "nothing to remove") {
		t.Fatal(out)
	}
}

func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"srve"}, 2, "did you mean serve?"},
		{[]string{"serve", "--listen", "0.0.0.0:80"}, 2, "loopback"},
		{[]string{"serve", "--log", "xml"}, 2, "say text or json"},
		{[]string{"serve", "extra"}, 2, "usage: post serve"},
		{[]string{"audit"}, 2, "now, status"},
		{[]string{"serve", "--office", "/nowhere"}, 5, "post init"},
		{[]string{"notify", "webhook"}, 5, "install post and postd of the same version"},
	} {
		code, out, said := p.run("postd", c.args...)
		if code != c.code || !strings.Contains(said+out, c.says) {
			t.Errorf("%v: exit %d %s%s", c.args, code, out, said)
		}
	}
	for _, args := range [][]string{{"help"}, {"serve", "--help"}, {"help", "audit", "now"}, {"version"}} {
		if out := p.ok("postd", args...); out == "" {
			t.Error(args, ": nothing is said")
		}
	}
}

var update = flag.Bool("update", false, "rewrite the manual pages")

func TestManGolden(t *testing.T) {
	t.Parallel()
	for name, text := range ManPages() {
		path := filepath.Join("../../docs/man", name)
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if kept, err := os.ReadFile(path); err != nil || string(kept) != text {
			t.Errorf("%s is not what the table says; run go test ./internal/postd -update", path)
		}
	}
}

// TestTablesAgree: whatever post hands over is there, with the same summary and
// usage, and has a manual page.
func TestTablesAgree(t *testing.T) {
	t.Parallel()
	own := map[string]cli.Command{}
	for _, c := range Commands().All() {
		own[c.Name] = c
	}
	pages := ManPages()
	for _, c := range cli.Commands().All() {
		if !c.Postd {
			continue
		}
		o, ok := own[c.Name]
		if !ok || o.Summary != c.Summary {
			t.Errorf("%s: %q in post, %q in postd", c.Name, c.Summary, o.Summary)
		}
		if !strings.Contains(pages["post-"+c.Name+".1"], ".SH DESCRIPTION") {
			t.Errorf("%s has no manual page", c.Name)
		}
	}
}
