//go:build e2e

package web

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postroom/postroom/e2e/demooffice"
)

// place is an office, a person's home, and a postd that serves the page.
type place struct {
	t    *testing.T
	root string
	dir  string // of the office
	port string
	serv *exec.Cmd
}

// newPlace makes an office with about so many messages of the demo's agents; 0
// leaves it without any. It is not served yet.
func newPlace(t *testing.T, messages int) *place {
	t.Helper()
	if tools.missing != "" {
		t.Skip(tools.missing)
	}
	p := &place{t: t, root: t.TempDir()}
	p.dir = filepath.Join(p.root, "shop", "office")
	for _, d := range []string{filepath.Dir(p.dir), p.home()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	opt := demooffice.Options{Dir: p.dir, Messages: messages, Seed: 1, Version: version, Now: time.Now(), Empty: messages == 0}
	if _, err := demooffice.Fill(opt); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *place) home() string { return filepath.Join(p.root, "home") }

// environ is all that the programs see: nothing of who runs the tests.
func (p *place) environ() []string {
	return []string{"PATH=" + tools.programs + ":/usr/bin:/bin", "HOME=" + p.home(), "XDG_STATE_HOME=" + filepath.Join(p.home(), "state"),
		"TMPDIR=" + p.root, "LANG=C.UTF-8", "NO_COLOR=1", "POSTROOM_OFFICE=" + p.dir}
}

// try runs post and returns what it says, and its exit code.
func (p *place) try(stdin string, args ...string) (string, int) {
	p.t.Helper()
	cmd := exec.Command(filepath.Join(tools.programs, "post"), args...)
	cmd.Env, cmd.Dir, cmd.Stdin = p.environ(), p.root, strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if exit, ok := err.(*exec.ExitError); ok {
		return string(out), exit.ExitCode()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return string(out), 0
}

// post runs a command that has to succeed.
func (p *place) post(stdin string, args ...string) string {
	p.t.Helper()
	out, code := p.try(stdin, args...)
	if code != 0 {
		p.t.Fatalf("post %s exits %d: %s", strings.Join(args, " "), code, out)
	}
	return out
}

// send sends a message in a shell, and returns its id.
func (p *place) send(from, to, act, subject, body string) string {
	p.t.Helper()
	var sent struct{ ID string }
	out := p.post(body, "send", to, "--act", act, "-s", subject, "--as", from, "--json", "--again")
	first, _, _ := strings.Cut(out, "\n") // one line for each recipient
	if err := json.Unmarshal([]byte(first), &sent); err != nil || sent.ID == "" {
		p.t.Fatalf("%v: %s", err, out)
	}
	return sent.ID
}

// serve starts postd, on the same port each time, and waits until it serves.
func (p *place) serve() {
	p.t.Helper()
	if p.port == "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			p.t.Fatal(err)
		}
		_, p.port, _ = net.SplitHostPort(l.Addr().String())
		l.Close()
	}
	p.serv = exec.Command(filepath.Join(tools.programs, "postd"), "serve", "--listen", "127.0.0.1:"+p.port)
	p.serv.Env, p.serv.Dir = p.environ(), p.root
	var log bytes.Buffer
	p.serv.Stderr = &log
	out, err := p.serv.StdoutPipe()
	if err == nil {
		err = p.serv.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	ready := make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(out)
		ready <- lines.Scan()
		for lines.Scan() {
		}
	}()
	select {
	case ok := <-ready:
		if !ok {
			p.serv.Wait()
			p.t.Fatalf("postd serve: %s", log.String())
		}
	case <-time.After(patience):
		p.t.Fatalf("postd serve does not serve: %s", log.String())
	}
	p.t.Cleanup(p.stop)
}

// stop ends postd as a system does.
func (p *place) stop() {
	if p.serv == nil {
		return
	}
	p.serv.Process.Signal(syscall.SIGTERM)
	p.serv.Wait()
	p.serv = nil
}

// link makes a one-time link.
func (p *place) link() string {
	p.t.Helper()
	var made struct{ URL string }
	out := p.post("", "ui", "--print", "--json", "--as", "human")
	if err := json.Unmarshal([]byte(out), &made); err != nil || !strings.Contains(made.URL, ":"+p.port+"/enter?once=") {
		p.t.Fatalf("post ui: %v: %s", err, out)
	}
	return made.URL
}

// until waits for something that has no way to announce itself.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// rows is what a command says to a person as JSON: one object a line.
func (p *place) rows(args ...string) []map[string]any {
	p.t.Helper()
	return p.rowsAs("human", args...)
}

func (p *place) rowsAs(who string, args ...string) (out []map[string]any) {
	p.t.Helper()
	text := p.post("", append(args, "--json", "--as", who)...)
	for line := range strings.Lines(text) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			p.t.Fatalf("post %s: %v: %.300s", args[0], err, text)
		}
		out = append(out, fields)
	}
	return out
}

// word is a field of an object, "" if it has none.
func word(fields map[string]any, name string) string {
	text, _ := fields[name].(string)
	return text
}

// approvals lists what waits for a person, oldest first.
func (p *place) approvals() (ids []string) {
	p.t.Helper()
	for _, a := range p.rows("approvals") {
		ids = append(ids, word(a, "id"))
	}
	return ids
}

// approvalOf is the first open approval of a kind.
func (p *place) approvalOf(kind string) string {
	p.t.Helper()
	for _, a := range p.rows("approvals") {
		if word(a, "kind") == kind {
			return word(a, "id")
		}
	}
	p.t.Fatalf("no %s waits", kind)
	return ""
}

// decision is what was decided about an approval; nil if nothing was.
func (p *place) decision(id string) map[string]any {
	p.t.Helper()
	decision, _ := p.rows("approvals", id)[0]["decision"].(map[string]any)
	return decision
}

// decided waits until an approval is.
func (p *place) decided(id string) {
	p.t.Helper()
	until(p.t, id+" is decided", func() bool { return p.decision(id) != nil })
}
