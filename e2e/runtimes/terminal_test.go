//go:build e2e && linux

package runtimes

import (
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/e2e/stubmodel"
)

// terminal is a CLI that runs in a tmux server of its own.
type terminal struct {
	*seat
	pane string
}

// tmux runs one command of the seat's own tmux server.
func (s *seat) tmux(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-L", s.name, "-f", "/dev/null"}, args...)...)
	cmd.Env = append(s.environ(), "TMUX_TMPDIR="+s.root+"/tmp")
	cmd.Dir = s.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// open starts the CLI interactively and waits until it takes a prompt.
func (s *seat) open(more ...string) *terminal {
	s.t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		skip(s.t, "no tmux")
	}
	argv := append(append([]string{s.path}, s.interactive(s)...), more...)
	start := time.Now()
	out, err := s.tmux(append([]string{"new-session", "-d", "-x", "150", "-y", "50", "-P", "-F", "#{pane_id}", "--"}, argv...)...)
	if err != nil {
		s.t.Fatalf("tmux: %v: %s", err, out)
	}
	term := &terminal{seat: s, pane: strings.TrimSpace(out)}
	s.t.Cleanup(term.close)
	term.waitScreen("its prompt", s.ready)
	s.t.Logf("%s interactive: ready after %v", s.cli.name, time.Since(start))
	return term
}

// close ends the CLI and the tmux server. A failed scenario shows the screen.
func (s *terminal) close() {
	if s.t.Failed() {
		s.t.Logf("screen of %s:\n%s", s.name, s.screen())
	}
	_, _ = s.tmux("kill-server")
	if s.daemon {
		s.stopDaemon()
	}
}

// screen is what the terminal shows.
func (s *terminal) screen() string {
	out, err := s.tmux("capture-pane", "-p", "-t", s.pane)
	if err != nil {
		return ""
	}
	return out
}

func (s *terminal) waitScreen(what string, fits func(string) bool) {
	s.t.Helper()
	until(s.t, what+" on the screen", func() bool { return fits(s.screen()) })
}

// shows waits for a text on the screen.
func (s *terminal) shows(text string) {
	s.t.Helper()
	s.waitScreen(strconv.Quote(text), func(screen string) bool { return strings.Contains(screen, text) })
}

// keys presses keys by the names tmux has for them.
func (s *terminal) keys(names ...string) {
	s.t.Helper()
	if out, err := s.tmux(append([]string{"send-keys", "-t", s.pane}, names...)...); err != nil {
		s.t.Fatalf("tmux: %v: %s", err, out)
	}
}

// typed writes text into the prompt and does not send it.
func (s *terminal) typed(text string) {
	s.t.Helper()
	s.keys("-l", text)
	s.shows(text)
}

// prompt types a line, sends it, and waits until the model has it. Some CLIs
// take an Enter close behind text for part of a paste, so it is pressed again
// until the turn has begun; on an empty prompt it does nothing.
func (s *terminal) prompt(text string) stubmodel.Request {
	s.t.Helper()
	s.typed(text)
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); {
		s.keys("Enter")
		r, err := s.model.Await(1500*time.Millisecond, func(r stubmodel.Request) bool {
			return (r.Agent == s.name || s.daemon) && r.Sort == stubmodel.Turn && r.NewestHas(text)
		})
		if err == nil {
			return r
		}
	}
	s.t.Fatalf("%s does not take %q", s.name, text)
	return stubmodel.Request{}
}

// dismiss presses a key until a text is no longer on the screen. Qwen Code takes
// the first Escape for the turn, and leaves the question open.
func (s *terminal) dismiss(text, key string) {
	s.t.Helper()
	s.press(key, "no "+strconv.Quote(text)+" on the screen", func() bool {
		screen := s.screen()
		return screen != "" && !strings.Contains(screen, text)
	})
}

// press presses a key every two seconds until something has come of it: a
// dialog that has just opened does not hear every key.
func (s *terminal) press(key, what string, done func() bool) {
	s.t.Helper()
	var pressed time.Time
	until(s.t, what, func() bool {
		if done() {
			return true
		}
		if time.Since(pressed) > 2*time.Second {
			s.keys(key)
			pressed = time.Now()
		}
		return false
	})
}
