//go:build e2e && linux

package links

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long anything may take on a machine that is busy.
const patience = 60 * time.Second

// world is a network, a hub and stations.
type world struct {
	t        *testing.T
	net      network
	hub      *hub
	stations []*station
}

// machine is a host with a user: a home of its own, and an environment in which
// nothing else decides.
type machine struct {
	t    *testing.T
	w    *world
	name string
	host int
	root string
	env  []string
}

func (w *world) machine(name string) *machine {
	w.t.Helper()
	m := &machine{t: w.t, w: w, name: name, host: w.net.plug(w.t, name), root: filepath.Join(w.t.TempDir(), name)}
	must(w.t, os.MkdirAll(m.root, 0o755))
	if alone { // a disk of its own, which can be full
		must(w.t, unix.Mount("none", m.root, "tmpfs", 0, "size=256m,mode=0755"))
		w.t.Cleanup(func() { unix.Unmount(m.root, unix.MNT_DETACH) })
	}
	w.t.Cleanup(m.show)
	for _, sub := range []string{"home", "state", "tmp", "work"} {
		must(w.t, os.MkdirAll(filepath.Join(m.root, sub), 0o755))
	}
	m.env = []string{"PATH=" + programs + ":/usr/bin:/bin:/usr/sbin", "HOME=" + m.root + "/home", "XDG_STATE_HOME=" + m.root + "/state",
		"XDG_CONFIG_HOME=" + m.root + "/home/.config", "TMPDIR=" + m.root + "/tmp", "LANG=C.UTF-8"}
	return m
}

// logShown is how much of a log's end is shown.
const logShown = 4000

// show shows what servers said, when a scenario failed.
func (m *machine) show() {
	if !m.t.Failed() {
		return
	}
	for _, glob := range []string{"*.log", "office/link/status.json"} {
		files, _ := filepath.Glob(filepath.Join(m.root, glob))
		for _, f := range files {
			text, _ := os.ReadFile(f)
			m.t.Logf("%s of %s:\n%s", filepath.Base(f), m.name, text[max(0, len(text)-logShown):])
		}
	}
}

// ran is what one command did.
type ran struct {
	t        *testing.T
	on       string
	args     []string
	out, err string
	exit     int // -1: it was killed
}

func (r ran) line() string {
	text := r.out
	if text == "" {
		text = r.err
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func (r ran) String() string {
	return fmt.Sprintf("on %s: post %.300q\nexit %d\n%.2000s%.2000s", r.on, r.args, r.exit, r.out, r.err)
}

// want checks the exit code and the first line, a regular expression.
func (r ran) want(exit int, line string) ran {
	r.t.Helper()
	if r.exit != exit || !regexp.MustCompile(`^(?:`+line+`)`).MatchString(r.line()) {
		r.t.Fatalf("want exit %d and %q, got:\n%v", exit, line, r)
	}
	return r
}

var anyID = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z-\d{4}-[0-9a-f]{8}`)

// id is the first message id that it said.
func (r ran) id() string {
	r.t.Helper()
	id := anyID.FindString(r.out)
	if id == "" {
		r.t.Fatalf("no message id in:\n%v", r)
	}
	return id
}

// feed runs a command of post where the machine stands, to its end.
func (m *machine) feed(stdin string, args ...string) ran {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "post"), args...)
	cmd.Dir, cmd.Env, cmd.Stdin = filepath.Join(m.root, "work"), m.env, strings.NewReader(stdin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the terminal of whoever tests is nobody's session
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var err error
	m.w.net.in(m.host, func() { err = cmd.Start() })
	if err == nil {
		err = cmd.Wait()
	}
	r := ran{t: m.t, on: m.name, args: args, out: out.String(), err: errs.String()}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		r.exit = exit.ExitCode()
	case err != nil:
		m.t.Errorf("post %v: %v", args, err)
		r.exit = -1
	}
	if ctx.Err() != nil {
		m.t.Errorf("hung:\n%v", r)
	}
	if strings.Contains(r.err, "panic:") || strings.Contains(r.err, "goroutine ") {
		m.t.Errorf("panic:\n%v", r)
	}
	return r
}

// process is a program that runs until it is stopped.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan bool
}

// start starts a command of post in the background; what it says is appended to
// a file.
func (m *machine) start(log string, args ...string) *process {
	m.t.Helper()
	return m.startProgram(log, filepath.Join(programs, "post"), args...)
}

func (m *machine) startProgram(log, program string, args ...string) *process {
	m.t.Helper()
	p := &process{log: filepath.Join(m.root, log), done: make(chan bool)}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(m.t, err)
	defer out.Close()
	p.cmd = exec.Command(program, args...)
	p.cmd.Dir, p.cmd.Env = filepath.Join(m.root, "work"), m.env
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	m.w.net.in(m.host, func() { err = p.cmd.Start() })
	must(m.t, err)
	go func() { p.cmd.Wait(); close(p.done) }()
	m.t.Cleanup(p.kill)
	return p
}

// kill is kill -9.
func (p *process) kill() { p.signal(syscall.SIGKILL); <-p.done }

// end asks it to end.
func (p *process) end() { p.signal(syscall.SIGTERM); <-p.done }

func (p *process) signal(s syscall.Signal) { p.cmd.Process.Signal(s) }

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *process) said() string { data, _ := os.ReadFile(p.log); return string(data) }

// until waits for what has no way to announce itself.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	untilWithin(t, patience, what, ok)
}

func untilWithin(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// together runs what may run at the same time.
func together(list ...func()) {
	var wg sync.WaitGroup
	for _, f := range list {
		wg.Go(f)
	}
	wg.Wait()
}
