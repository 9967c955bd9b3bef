//go:build e2e && linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// screen is a terminal in which `post top` runs.
type screen struct {
	d      *desk
	socket string
}

// newScreen starts it in a tmux server of its own; what it exits with and how it
// leaves the terminal stands there afterwards.
func newScreen(d *desk, width, height int, env ...string) *screen {
	d.t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		d.t.Skip("no tmux")
	}
	s := &screen{d, filepath.Join(d.root, "tmp", "tmux-"+strconv.Itoa(width))}
	run := fmt.Sprintf("env -u TMUX %s post top --office '%s'; code=$?; stty -a; echo over $code; exec cat", strings.Join(env, " "), d.office)
	s.tmux("new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height), run)
	d.t.Cleanup(func() { s.tmux("kill-server") })
	return s
}

func (s *screen) tmux(args ...string) string {
	s.d.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", s.socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = append([]string{"TERM=xterm-256color"}, s.d.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.d.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

func (s *screen) text() string { return s.tmux("capture-pane", "-p") }

// shows waits until the screen has all of it.
func (s *screen) shows(parts ...string) time.Duration {
	s.d.t.Helper()
	begin := time.Now()
	for ; ; time.Sleep(5 * time.Millisecond) {
		text, missing := s.text(), ""
		for _, p := range parts {
			if !strings.Contains(text, p) {
				missing = p
			}
		}
		if missing == "" {
			return time.Since(begin)
		}
		if time.Since(begin) > limit {
			s.d.t.Fatalf("no %q on the screen:\n%s", missing, text)
		}
	}
}

func (s *screen) keys(keys ...string) { s.tmux(append([]string{"send-keys"}, keys...)...) }

func (s *screen) types(text string) { s.tmux("send-keys", "-l", text) }

// TestTop: in a real terminal a message appears by itself, a question is
// answered, one that is answered elsewhere says so, and a resize does no harm.
func TestTop(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	s := newScreen(d, 80, 24)
	s.shows("Waiting for you nothing", "Agents 2", "Moving nothing", "Overdue nothing")

	sent := d.ok("send", "bob", "--as", "ann", "--act", "request", "-s", "Look at \x1b[31mthis", "-m", "please").id()
	t.Logf("a message was on the screen %v after its sender had ended", s.shows("Look at", "owes 1"))
	s.keys("Tab", "Tab", "Enter")
	s.shows("Message "+sent[len(sent)-8:], "│ please", "Its life", "bob owes ann an answer")
	s.keys("Escape")
	s.shows("Moving")

	first := d.ok("send", "human", "--as", "ann", "--act", "query", "-s", "Ship it?", "-m", "Today, please.").out
	s.shows("1 for you")
	s.keys("Tab", "Tab", "Enter") // back to what waits
	s.shows("Question "+approvalID.FindString(first), "│ Today, please.", "m answer in words")
	s.keys("m")
	s.shows("Your answer to ann")
	s.types("Ship it, y")
	s.keys("Enter")
	s.shows("Give ann this answer?", "Ship it, y", "y yes, decide")
	s.keys("Enter") // decides nothing
	s.shows("nothing was decided")
	s.keys("m")
	s.shows("Your answer to ann")
	s.types("Yes, ship it.")
	s.keys("Enter")
	s.shows("Give ann this answer?")
	s.keys("y")
	s.shows("answered by human at", "Yes, ship it.", "ann has the answer")
	if r := d.ok("read", "next", "--as", "ann"); !strings.Contains(r.out, "Yes, ship it.") || strings.Contains(r.out, "Ship it, y") {
		t.Error(r)
	}
	s.keys("Escape")
	s.shows("Waiting for you nothing")

	second := approvalID.FindString(d.ok("send", "human", "--as", "bob", "--act", "query", "-s", "And this?", "-m", "Well?").out)
	s.shows("And this?")
	s.keys("Enter")
	s.shows("Question "+second, "x say no")
	d.ok("answer", second, "--reject", "-m", "Not today.")
	s.shows("rejected by human at", "Not today.")
	s.keys("y")
	s.tmux("resize-window", "-x", "44", "-y", "16")
	s.shows("Question "+second, "rejected by human")
	s.keys("Escape")
	s.shows("Waiting for you", "Agents")
	s.keys("q")
	s.shows("over 0")
	d.whole()
}

// TestTopGivesTheTerminalBack whatever ends it.
func TestTopGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann")
	for i, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		s := newScreen(d, 60+i, 20)
		s.shows("Agents 1")
		must(t, syscall.Kill(s.program(), sig))
		s.shows("over 0", " icanon", " echo ")
		if text := s.text(); strings.Contains(text, "Agents") {
			t.Errorf("%v: the screen is still there:\n%s", sig, text)
		}
	}
}

// program is the process that the pane's shell has started.
func (s *screen) program() int {
	s.d.t.Helper()
	shell := strings.TrimSpace(s.tmux("display-message", "-p", "#{pane_pid}"))
	data, err := os.ReadFile("/proc/" + shell + "/task/" + shell + "/children")
	must(s.d.t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	must(s.d.t, err)
	return pid
}

// TestTopWithoutColour: NO_COLOR leaves bold and reverse, and no colour.
func TestTopWithoutColour(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann")
	d.ok("send", "human", "--as", "ann", "--act", "query", "-s", "Ship it?", "-m", "Today?")
	colour := regexp.MustCompile(`\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9\d|10\d)[;m]`)
	s := newScreen(d, 80, 24)
	s.shows("Ship it?")
	if text := s.tmux("capture-pane", "-pe"); !colour.MatchString(text) {
		t.Errorf("no colour: %q", text)
	}
	s = newScreen(d, 81, 24, "NO_COLOR=1")
	s.shows("Ship it?")
	if text := s.tmux("capture-pane", "-pe"); colour.MatchString(text) {
		t.Errorf("%q", text)
	}
}
