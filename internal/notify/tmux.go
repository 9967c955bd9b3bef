package notify

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/presence"
)

// KindTmux is the kind of agents that are woken by typing into their terminal.
const KindTmux = "tmux"

const (
	// settle is how long typed text rests before Enter: an earlier one is taken
	// for a part of a paste.
	settle = 1200 * time.Millisecond
	// taken is how long the prompt is watched after Enter before Enter is
	// pressed once more.
	taken      = 400 * time.Millisecond
	maxCapture = 256 << 10 // bytes
	maxNudge   = 400       // bytes
	maxParents = 64        // of a process
)

// Tmux types one fixed line into an agent's terminal: the last resort, off
// unless the agent's registration says tmux or tmux:PANE. It types only when
// the session's hooks say idle and the pane shows the empty prompt of a CLI
// whose screen is known, run by the very process that the hooks named. It looks
// again right before Enter, so a dialog or a draft that came meanwhile is left
// alone; what it typed itself and could not send is sent the next time.
type Tmux struct {
	Getenv  func(string) string // nil is os.Getenv
	Program string              // "" is tmux on PATH
	// Parent returns a process's parent; false if there is no such process. Nil
	// if that cannot be told here; then the pane's program is looked at.
	Parent func(pid int) (int, bool)
	turn   chan struct{}
}

// NewTmux makes the adapter.
func NewTmux(getenv func(string) string, parent func(int) (int, bool)) Tmux {
	return Tmux{Getenv: getenv, Parent: parent, turn: make(chan struct{}, 1)}
}

// Kind returns KindTmux.
func (Tmux) Kind() string { return KindTmux }

// LooksItself implements Watcher.
func (Tmux) LooksItself() {}

// Check accepts one pane, as tmux names it.
func (Tmux) Check(args []string) ([]string, error) {
	if len(args) > 1 {
		return nil, usage(KindTmux, "takes one argument, the pane", "write tmux, or tmux:SESSION:WINDOW.PANE, or tmux:%3")
	}
	if len(args) == 1 && !isPane(args[0]) {
		return nil, usage(KindTmux, "not a pane: "+line(args[0], 60), "write tmux:SESSION:WINDOW.PANE, or tmux:%3")
	}
	return args, nil
}

// isPane reports whether s can only be a target to tmux.
func isPane(s string) bool {
	return s != "" && len(s) <= 100 && s[0] != '-' && !strings.HasSuffix(s, ";") && clean(s)
}

// terminal is one wake under way.
type terminal struct {
	Tmux
	ctx     context.Context
	agent   Agent
	program string
	socket  string // of the tmux server; "" is the default one
	pane    string
	cli     cliScreen
	nudge   string
	start   time.Time
	seen    screen // what see saw last
}

// Notify implements Adapter.
func (x Tmux) Notify(ctx context.Context, agent Agent, p Pointer) (Outcome, error) {
	if err := p.Check(); err != nil {
		return Fail(KindTmux, agent, err.Error(), "")
	}
	t := terminal{Tmux: x, ctx: ctx, agent: agent, nudge: nudge(p), start: time.Now()}
	if why, hint := t.find(); why != "" {
		return Fail(KindTmux, agent, why, hint)
	}
	if why := idle(agent.Session); why != "" {
		return t.held(why)
	}
	if x.turn != nil {
		select {
		case x.turn <- struct{}{}:
			defer func() { <-x.turn }()
		case <-ctx.Done():
			return Fail(KindTmux, agent, overdue(ctx, t.start), "")
		}
	}
	return t.wake()
}

// find settles where to type; why not, and what to do, if it cannot.
func (t *terminal) find() (why, hint string) {
	s := t.agent.Session
	if s == nil {
		return notLive(KindTmux, nil), "without hooks nobody knows that it is idle: see post install"
	}
	cli, known := cliScreens()[s.Runtime]
	switch {
	case !known:
		return "the screen of " + line(s.Runtime, 20) + " is not known", "join again with another --notify"
	case notLive(s.Runtime, s) != "":
		return notLive(s.Runtime, s), ""
	}
	t.cli = cli
	if t.program = t.Program; t.program == "" {
		t.program = onPath(t.Getenv, "tmux")
	}
	if t.program == "" {
		return "no tmux on PATH", ""
	}
	if t.socket, _, _ = strings.Cut(s.Tmux, ","); t.socket != "" && !filepath.IsAbs(t.socket) {
		return "its tmux socket has no absolute path", ""
	}
	if t.pane = s.Pane; len(t.agent.Args()) > 0 {
		t.pane = t.agent.Args()[0]
	}
	if !isPane(t.pane) {
		return "its session is in no tmux pane", "start it in tmux, or join again with --notify tmux:PANE"
	}
	return "", ""
}

// idle says why a session is not surely at its prompt, by its hooks.
func idle(s *presence.Session) string {
	switch {
	case s.State == presence.Idle:
		return ""
	case s.State == presence.Busy:
		return "a turn runs" + since(s.Since) + "; its hooks show the mail before it ends"
	case untouchable(s) != "":
		return untouchable(s)
	}
	return "its session is " + line(string(s.State), 20)
}

func (t *terminal) held(why string) (Outcome, error) {
	return Outcome{Held, line("tmux: "+why, evidenceMax)}, nil
}

// wake types, waits, looks again, presses Enter and watches.
func (t *terminal) wake() (Outcome, error) {
	look, draft, why := t.see()
	switch {
	case why != "":
		return t.failed(why)
	case look == typed && draft == squeeze(t.nudge): // from the last time
	case look != empty:
		return t.held(refusal(look))
	default:
		if why := t.run("send-keys", "-t", t.pane, "-l", "--", t.nudge); why != "" {
			return t.failed(why)
		}
	}
	pause(t.ctx, settle)
	for try := 1; ; try++ {
		pressed := time.Now()
		if out, err, ok := t.enter(try); !ok {
			return out, err
		}
		sent, why := t.watch(pressed)
		switch {
		case why != "":
			return t.failed(why)
		case sent:
			return Outcome{Notified, fmt.Sprintf("tmux: typed into %s, and its prompt took it (%v, Enter %d)",
				line(t.pane, 60), time.Since(t.start).Round(10*time.Millisecond), try)}, nil
		case try == 2:
			return t.failed("the nudge stands in the prompt of " + t.pane + ", and Enter does not send it")
		}
	}
}

// enter presses Enter, if the prompt holds our line and nothing else, and the
// session still is idle.
func (t *terminal) enter(try int) (Outcome, error, bool) {
	look, draft, why := t.see()
	stop := ""
	if why == "" && t.agent.Look != nil {
		if now := t.agent.Look(); now != nil {
			stop = idle(now)
		}
	}
	if stop == "" && (look != typed || draft != squeeze(t.nudge)) {
		stop = refusal(look)
	}
	if why == "" && stop != "" && try > 1 {
		out, err := t.held("typed, Enter was pressed, and then " + stop)
		return out, err, false
	}
	if why == "" && stop != "" {
		out, err := t.held("typed, and then " + stop + "; Enter was not pressed" + t.takeBack(look, draft))
		return out, err, false
	}
	if why == "" {
		why = t.run("send-keys", "-t", t.pane, "Enter")
	}
	if why != "" {
		out, err := t.failed(why)
		return out, err, false
	}
	return Outcome{}, nil, true
}

// takeBack erases our line, if the prompt holds it and nothing else.
func (t *terminal) takeBack(look glance, draft string) string {
	if draft != squeeze(t.nudge) || look != typed && look != working {
		return ""
	}
	const left = ", and the line still stands in the prompt"
	if why := t.run("send-keys", "-t", t.pane, "C-u"); why != "" {
		return left
	}
	for end := time.Now().Add(taken); time.Now().Before(end) && t.ctx.Err() == nil; pause(t.ctx, claudePoll) {
		if _, draft, why := t.see(); why == "" && draft == "" {
			return ", and the line was erased"
		}
	}
	return left
}

// watch reports whether our line left the prompt, or the session's hooks say that
// a turn began: a CLI may show the line until they have run.
func (t *terminal) watch(pressed time.Time) (sent bool, why string) {
	for end := time.Now().Add(taken); ; pause(t.ctx, claudePoll) {
		if t.agent.Look != nil {
			if s := t.agent.Look(); s != nil && s.State == presence.Busy && s.At.After(pressed) {
				return true, ""
			}
		}
		look, draft, why := t.see()
		if why != "" || look != strange && !strings.Contains(draft, squeeze(t.nudge)) {
			return why == "", why
		}
		if t.ctx.Err() != nil || time.Now().After(end) { // a turn may have opened a dialog already
			return look == strange && t.seen.shows(t.nudge), ""
		}
	}
}

func refusal(look glance) string {
	switch look {
	case working:
		return "its screen shows a turn that runs"
	case typed:
		return "something else is typed in its prompt"
	}
	return "its screen shows no empty prompt: a dialog or a menu may be open"
}

func (t *terminal) failed(why string) (Outcome, error) {
	if t.ctx.Err() != nil {
		why = overdue(t.ctx, t.start)
	}
	return Fail(KindTmux, t.agent, why, "")
}

// paneFormat is what see asks of a pane.
const paneFormat = "#{pane_id} #{pane_pid} #{pane_in_mode}#{pane_synchronized}#{pane_input_off}#{pane_dead} #{cursor_x} #{cursor_y} #{pane_current_command}"

// see looks at the pane: facts and screen in one breath. From then on the pane
// is named by its id.
func (t *terminal) see() (look glance, draft, why string) {
	e := t.tmux("display-message", "-p", "-t", t.pane, paneFormat, ";", "capture-pane", "-p", "-e", "-t", t.pane)
	if !e.ok {
		return strange, "", "tmux: " + e.why
	}
	head, text, _ := strings.Cut(string(e.stdout), "\n")
	f := strings.SplitN(head, " ", 6)
	if len(f) < 6 {
		return strange, "", "no pane " + t.pane
	}
	pid, err1 := strconv.Atoi(f[1])
	x, err2 := strconv.Atoi(f[3])
	y, err3 := strconv.Atoi(f[4])
	s := t.agent.Session
	switch {
	case err1 != nil || err2 != nil || err3 != nil:
		return strange, "", "tmux said " + line(head, 80)
	case s.Pane != "" && f[0] != s.Pane:
		return strange, "", "pane " + t.pane + " is " + f[0] + ", and its session runs in " + line(s.Pane, 20)
	case !t.runs(pid, f[5]):
		return strange, "", "pane " + t.pane + " runs " + line(f[5], 40) + ", not its session"
	}
	if t.pane = f[0]; f[2] != "0000" { // copy mode, typed into several panes, closed, dead
		return strange, "", ""
	}
	t.seen = parseScreen(text, x, y)
	look, draft = t.cli.read(t.seen)
	return look, draft, ""
}

// runs reports whether the pane's foreground is the session.
func (t *terminal) runs(panePID int, command string) bool {
	if !slices.Contains(t.cli.programs, command) {
		return false // a shell: suspended, or gone
	}
	pid := t.agent.Session.PID
	if pid == 0 || t.Parent == nil {
		return true
	}
	for range maxParents {
		if pid == panePID {
			return true
		}
		up, ok := t.Parent(pid)
		if !ok || up <= 1 {
			return false
		}
		pid = up
	}
	return false
}

func (t *terminal) run(args ...string) (why string) {
	if e := t.tmux(args...); !e.ok {
		return "tmux: " + e.why
	}
	return ""
}

func (t *terminal) tmux(args ...string) ended {
	argv := []string{t.program}
	if t.socket != "" {
		argv = append(argv, "-S", t.socket)
	}
	env := scrubbed(t.Getenv, "LC_ALL=C.UTF-8", "TMUX_TMPDIR="+lookup(t.Getenv)("TMUX_TMPDIR"))
	return child{argv: append(argv, args...), env: env, dir: filepath.Dir(t.program), stdout: maxCapture}.run(t.ctx)
}

// nudge is the line that is typed: printable ASCII, nothing of the mail, not
// even its number; it starts no command of a CLI and does not end in what tmux
// eats.
func nudge(p Pointer) string {
	command := p.Command
	if len(command) > maxNudge || strings.ContainsFunc(command, func(r rune) bool {
		return !(r < 0x80 && (alnum(byte(r)) || r >= 'A' && r <= 'Z') || strings.ContainsRune(" ./_=+:,-", r))
	}) {
		command = "post inbox --as " + p.Agent
	}
	return "Postroom: run `" + command + "` to see your new mail"
}
