package roster

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// tmuxLimit is how long tmux may take to answer.
const tmuxLimit = 5 * time.Second

func pidText(pid int) string { return strconv.Itoa(pid) }

// server is a tmux server: that of a socket, or else the one that the
// environment says, which a command may have to start.
type server struct {
	path   string // of tmux; "" is looked for on PATH
	socket string
	env    []string // nil is our own
}

// run runs one tmux command and returns what it printed.
func (s server) run(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tmuxLimit)
	defer cancel()
	global := []string{"-u"} // whatever the locale, what is not ASCII comes out as it is
	if s.socket != "" {
		global = append(global, "-S", s.socket)
	}
	cmd := exec.CommandContext(ctx, cmp.Or(s.path, "tmux"), append(global, args...)...)
	cmd.Env = s.env
	cmd.WaitDelay = time.Second // a server that this starts may keep our pipes
	out, err := cmd.CombinedOutput()
	text := strings.TrimRight(string(out), "\n")
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		if text != "" {
			err = errors.New(text)
		}
		return "", errors.New("tmux " + args[0] + ": " + err.Error())
	}
	return text, nil
}

// newWindow runs a program in a new window of the session, which it makes if it
// is missing. The window stays when the program ends, so that its last words
// can be read.
func (s server) newWindow(ctx context.Context, session, name string, argv []string) (*Pane, error) {
	program := make([]string, len(argv))
	for i, a := range argv { // a semicolon at an argument's end is tmux's own
		if program[i] = a; strings.HasSuffix(a, ";") {
			program[i] = strings.TrimSuffix(a, ";") + `\;`
		}
	}
	tail := append([]string{"-n", name, "-P", "-F", paneFormat, "--"}, program...)
	// The target ends in a colon: a session, whatever windows it has.
	out, err := s.run(ctx, append([]string{"new-window", "-d", "-t", "=" + session + ":"}, tail...)...)
	if err != nil {
		out, err = s.run(ctx, append([]string{"new-session", "-d", "-s", session, "-x", "200", "-y", "50"}, tail...)...)
	}
	if err != nil { // somebody else made the session meanwhile
		out, err = s.run(ctx, append([]string{"new-window", "-d", "-t", "=" + session + ":"}, tail...)...)
	}
	p := parsePane(out)
	if err != nil || p == nil {
		return nil, errors.Join(err, errors.New("tmux made no window"))
	}
	s.socket = p.Socket
	// The program waits for the agent's lock, so it can't have ended before.
	for _, set := range [][]string{{"remain-on-exit", "on"}, {"automatic-rename", "off"}, {"allow-rename", "off"}} {
		if _, err := s.run(ctx, "set-option", "-w", "-t", p.Window, set[0], set[1]); err != nil {
			return p, err
		}
	}
	return p, nil
}

const paneFormat = "#{session_name} #{window_id} #{pane_id} #{socket_path}"

func parsePane(text string) *Pane {
	f := strings.SplitN(text, " ", 4)
	if len(f) != 4 {
		return nil
	}
	return &Pane{Session: f[0], Window: f[1], Pane: f[2], Socket: f[3]}
}

// pane describes a pane by its id; nil if there is none.
func (s server) pane(ctx context.Context, id string) *Pane {
	out, err := s.run(ctx, "display-message", "-p", "-t", id, paneFormat)
	if err != nil {
		return nil
	}
	return parsePane(out)
}

// ask asks for formats of the pane, if it still is the one in which the process
// was started: a new server gives the same numbers again.
func (p *Pane) ask(ctx context.Context, path string, pid int, format string) (string, bool) {
	out, err := p.server(path).run(ctx, "display-message", "-p", "-t", p.Pane, "#{pane_pid} "+format)
	now, rest, _ := strings.Cut(out, " ")
	return rest, err == nil && now == pidText(pid)
}

// exit says how the program in the pane ended, "" if nobody can tell.
func (p *Pane) exit(ctx context.Context, pid int) string {
	out, ok := p.ask(ctx, "", pid, "#{pane_dead},#{pane_dead_status},#{pane_dead_signal}")
	if !ok {
		return ""
	}
	return howDead(out)
}

// howDead reads what tmux says of a dead pane. Now and then it has not got the
// status of the program, and never gets it.
func howDead(text string) string {
	f := strings.Split(text, ",")
	switch {
	case len(f) != 3 || f[0] != "1":
		return ""
	case f[1] != "":
		return "exit status " + f[1]
	case f[2] != "":
		return "signal " + f[2]
	}
	return ""
}

// close removes the window, if it is the one in which the process ran.
func (p *Pane) close(ctx context.Context, path string, pid int) {
	if _, ok := p.ask(ctx, path, pid, ""); ok {
		_, _ = p.server(path).run(ctx, "kill-pane", "-t", p.Pane) // it is only in the way
	}
}

func (p *Pane) server(path string) server { return server{path: path, socket: p.Socket} }

// Screen is what the window shows and showed, its newest lines last.
func (p *Pane) Screen(ctx context.Context, pid int, raw bool) (string, error) {
	if _, ok := p.ask(ctx, "", pid, ""); !ok {
		return "", errors.New("its window is gone")
	}
	args := []string{"capture-pane", "-p", "-J", "-S", "-", "-t", p.Pane}
	if raw {
		args = append(args, "-e")
	}
	return p.server("").run(ctx, args...)
}

// Attach is the command with which a person looks at the window.
func (p *Pane) Attach() []string {
	return []string{"tmux", "-S", p.Socket, "attach", "-t", "=" + p.Session + ":" + p.Window}
}
