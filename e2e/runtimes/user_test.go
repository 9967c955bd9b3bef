//go:build e2e && linux

package runtimes

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postroom/postroom/e2e/stubmodel"
)

// limit is how long anything may take before it counts as hung. It is generous:
// where it matters how long something takes, the scenario says so.
const limit = 2 * time.Minute

// user is a person with a home, an office and a model.
type user struct {
	t      *testing.T
	root   string // everything below belongs to the scenario; short, for the sake of sockets
	home   string
	office string
	env    []string
	model  *stubmodel.Server
	script stubmodel.Script    // may be set until the first prompt, by a scenario that has to know the paths
	places map[string][]string // the repositories of each CLI
}

// newUser makes a home with an empty office, and starts the model.
func newUser(t *testing.T, script stubmodel.Script) *user {
	t.Helper()
	u := bareUser(t, script)
	u.ok("init", u.office)
	return u
}

// bareUser has a home and a model, and no office yet.
func bareUser(t *testing.T, script stubmodel.Script) *user {
	t.Helper()
	base := ""
	if given.Alone {
		base = desks
	}
	root, err := os.MkdirTemp(base, "u")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	u := &user{t: t, root: root, home: root + "/home", office: root + "/office", places: map[string][]string{}}
	for _, sub := range []string{"home", "tmp", "work", "run"} {
		must(t, os.Mkdir(filepath.Join(root, sub), 0o700))
	}
	u.env = []string{"PATH=" + given.Programs + ":" + nodeDir() + ":/usr/local/bin:/usr/bin:/bin", "HOME=" + u.home, "TMPDIR=" + root + "/tmp",
		"XDG_RUNTIME_DIR=" + root + "/run", "LANG=C.UTF-8", "TERM=xterm-256color", "SHELL=/bin/bash", "USER=e2e"}
	// Codex starts a login shell for each command, and /etc/profile sets PATH anew.
	write(t, "export PATH="+given.Programs+":$PATH\n", u.home, ".profile")
	u.script = script
	u.model, err = stubmodel.Start(func(r stubmodel.Request) stubmodel.Reply { return u.script(r) })
	must(t, err)
	t.Cleanup(func() { u.endModel() })
	return u
}

// endModel stops the model. What it could not do fails the scenario; if the
// scenario failed, the last requests are shown.
func (u *user) endModel() {
	for _, fault := range u.model.Faults() {
		u.t.Errorf("model: %v", fault)
	}
	if u.t.Failed() {
		u.t.Log(transcript(u.model.Requests("")))
	}
	_ = u.model.Close()
}

// transcript shows requests briefly.
func transcript(requests []stubmodel.Request) string {
	var b strings.Builder
	for _, r := range requests[max(0, len(requests)-8):] {
		b.WriteString(r.At.Format("05.000 ") + "request " + r.Agent + " " + string(r.API) + " " + string(r.Sort) + "\n")
		for _, e := range r.Newest() {
			b.WriteString("    " + string(e.Role) + " " + string(e.Kind) + " " + e.Tool + ": " + clipped(e.Text) + "\n")
		}
	}
	return b.String()
}

func clipped(s string) string {
	if len(s) > 400 {
		s = s[:400] + "…"
	}
	return strings.ReplaceAll(s, "\n", "\n      ")
}

// nodeDir is where node is: two of the CLIs are scripts.
func nodeDir() string {
	path, err := exec.LookPath("node")
	if err != nil {
		return "/usr/bin"
	}
	return filepath.Dir(path)
}

// ran is what one program did.
type ran struct {
	args     []string
	out, err string
	exit     int // -1: it was killed
	took     time.Duration
}

func (r ran) String() string {
	return strings.Join(r.args, " ") + "\nexit " + exitText(r.exit) + " after " + r.took.Round(time.Millisecond).String() + "\n" + r.out + r.err
}

func exitText(code int) string {
	if code < 0 {
		return "by a signal"
	}
	return string(rune('0'+code/100%10)) + string(rune('0'+code/10%10)) + string(rune('0'+code%10))
}

// run runs a program to its end, in a session of its own, and kills its whole
// group if it takes too long.
func (u *user) run(dir string, env []string, argv ...string) ran {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	start := time.Now()
	err := cmd.Run()
	r := ran{args: argv, out: out.String(), err: errs.String(), took: time.Since(start)}
	if cmd.ProcessState == nil {
		u.t.Fatalf("%v: %v", argv, err)
	}
	r.exit = cmd.ProcessState.ExitCode()
	if ctx.Err() != nil {
		u.t.Fatalf("hung:\n%v", r)
	}
	return r
}

// post runs post as the person at a terminal of their own would.
func (u *user) post(args ...string) ran {
	u.t.Helper()
	return u.run(u.root+"/work", u.env, append([]string{given.Programs + "/post"}, args...)...)
}

// ok runs post, which must succeed.
func (u *user) ok(args ...string) ran {
	u.t.Helper()
	r := u.post(args...)
	if r.exit != 0 {
		u.t.Fatalf("%v", r)
	}
	return r
}

// mail delivers a message to an agent, awake or not, from the agent "ann", which has no CLI.
func (u *user) mail(to, subject, body string, more ...string) {
	u.t.Helper()
	ann := filepath.Join(u.root, "work", "ann")
	if _, err := os.Stat(ann); err != nil {
		must(u.t, os.Mkdir(ann, 0o755))
		u.ok("join", "ann", "--office", u.office, "--workspace", ann)
	}
	r := u.post(append([]string{"send", to, "--as", "ann", "--office", u.office, "-s", subject, "-m", body}, more...)...)
	if r.exit != 0 && r.exit != 3 { // 3: in the inbox, and nobody is awake to see it
		u.t.Fatalf("%v", r)
	}
	u.t.Logf("mail: %s", firstLine(r.out))
}

// await waits for a request to the model.
func (u *user) await(what string, fits func(stubmodel.Request) bool) stubmodel.Request {
	u.t.Helper()
	r, err := u.model.Await(limit, fits)
	if err != nil {
		u.t.Fatalf("waiting for %s: %v", what, err)
	}
	return r
}

// until polls for something that announces itself in no other way.
func until(t *testing.T, what string, ready func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !ready(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain for %s", limit, what)
		}
	}
}

func must(t *testing.T, err ...error) {
	t.Helper()
	for _, e := range err {
		if e != nil {
			t.Fatal(e)
		}
	}
}
