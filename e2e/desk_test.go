//go:build e2e && linux

package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// limit is how long one command may take before it counts as hung.
const limit = 60 * time.Second

// desk is one office under test, and the user who runs commands in it.
type desk struct {
	t      *testing.T
	root   string // everything below belongs to the scenario
	office string
	env    []string
}

// newDesk makes an office with agents, each with a workspace of its own.
func newDesk(t *testing.T, agents ...string) *desk {
	t.Helper()
	d := bareDesk(t)
	d.ok("init", d.office, "--person-check", "env")
	for _, a := range agents {
		d.join(a)
	}
	return d
}

// bareDesk has a home and no office yet.
func bareDesk(t *testing.T) *desk {
	t.Helper()
	root := t.TempDir()
	d := &desk{t: t, root: root, office: filepath.Join(root, "office")}
	for _, sub := range []string{"home", "state", "tmp", "work"} {
		must(t, os.Mkdir(filepath.Join(root, sub), 0o755))
	}
	d.env = []string{"PATH=" + programs + ":/usr/bin:/bin", "HOME=" + root + "/home", "XDG_STATE_HOME=" + root + "/state",
		"TMPDIR=" + root + "/tmp", "LANG=C.UTF-8"}
	return d
}

// with is the same desk with more in its environment.
func (d *desk) with(env ...string) *desk {
	c := *d
	c.env = append(append([]string(nil), d.env...), env...)
	return &c
}

// at is the same user at another office.
func (d *desk) at(office string) *desk {
	c := *d
	c.office = office
	return &c
}

func (d *desk) join(name string, more ...string) {
	d.t.Helper()
	ws := filepath.Join(d.root, "work", name)
	must(d.t, os.MkdirAll(ws, 0o755))
	d.ok(append([]string{"join", name, "--workspace", ws}, more...)...)
}

// ran is what one command did.
type ran struct {
	t        *testing.T
	args     []string
	out, err string
	exit     int // -1: it was killed
	took     time.Duration
}

// line is the first line that it said.
func (r ran) line() string {
	text := r.out
	if text == "" {
		text = r.err
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func (r ran) String() string {
	return "post " + strings.Join(clip(r.args), " ") + "\nexit " + itoa(r.exit) + "\n" + clipped(r.out) + clipped(r.err)
}

// want checks the exit code and the first line, a regular expression.
func (r ran) want(exit int, line string) ran {
	r.t.Helper()
	if r.exit != exit || !regexp.MustCompile(`^(?:`+line+`)`).MatchString(r.line()) {
		r.t.Fatalf("want exit %d and %q, got:\n%v", exit, line, r)
	}
	return r
}

// anyID finds message ids in what a command said.
var anyID = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z-\d{4}-[0-9a-f]{8}`)

var approvalID = regexp.MustCompile(`ap-[0-9a-f]{10}`)

// id is the first message id that it said.
func (r ran) id() string {
	r.t.Helper()
	id := anyID.FindString(r.out)
	if id == "" {
		r.t.Fatalf("no message id in:\n%v", r)
	}
	return id
}

// command prepares one command line; --office is added.
func (d *desk) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "post"), d.args(args)...)
	cmd.Dir, cmd.Env = filepath.Join(d.root, "work"), d.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the terminal of whoever tests is nobody's session
	return cmd
}

func (d *desk) args(args []string) []string {
	for _, a := range args {
		if a == "--office" {
			return args
		}
	}
	if len(args) > 0 && args[0] == "init" {
		return args
	}
	return append(args[:len(args):len(args)], "--office", d.office)
}

// post runs a command to its end.
func (d *desk) post(args ...string) ran { d.t.Helper(); return d.feed("", args...) }

// feed runs a command with standard input.
func (d *desk) feed(stdin string, args ...string) ran {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := d.command(ctx, args...)
	cmd.Stdin = strings.NewReader(stdin)
	return d.wait(cmd, args)
}

func (d *desk) wait(cmd *exec.Cmd, args []string) ran {
	d.t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	start := time.Now()
	err := cmd.Run()
	r := ran{t: d.t, args: args, out: out.String(), err: errs.String(), took: time.Since(start)}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		r.exit = exit.ExitCode()
	case err != nil:
		d.t.Fatalf("post %v: %v", args, err)
	}
	if r.took >= limit {
		d.t.Fatalf("hung:\n%v", r)
	}
	if strings.Contains(r.err, "panic:") || strings.Contains(r.err, "goroutine ") {
		d.t.Fatalf("panic:\n%v", r)
	}
	return r
}

// ok runs a command that must succeed.
func (d *desk) ok(args ...string) ran {
	d.t.Helper()
	r := d.post(args...)
	if r.exit != 0 {
		d.t.Fatalf("%v", r)
	}
	return r
}

// send sends a short message and wants it delivered.
func (d *desk) send(from, to, body string, more ...string) string {
	d.t.Helper()
	return d.ok(append([]string{"send", to, "--as", from, "-s", "about " + clipped(body), "-m", body}, more...)...).id()
}

// box is a directory or file of an agent's mailbox.
func (d *desk) box(agent string, elem ...string) string {
	return filepath.Join(append([]string{d.office, "agents", agent}, elem...)...)
}

// drop writes a file into an outbox by hand, in one go.
func (d *desk) drop(agent, name, text string) {
	d.t.Helper()
	tmp := d.box(agent, "outbox", "."+name)
	must(d.t, os.WriteFile(tmp, []byte(text), 0o600), os.Rename(tmp, d.box(agent, "outbox", name)))
}
