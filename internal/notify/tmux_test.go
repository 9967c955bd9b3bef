//go:build unix

package notify_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/notify/notifytest"
	"github.com/postroom/postroom/internal/presence"
)

// pane is a private tmux server with one pane, in which the test binary plays a
// coding CLI that draws its prompt as Claude Code does.
type pane struct {
	t      *testing.T
	target // the CLI's directory: mode, and what it took
	tmux   string
	socket string
	id     string
	pid    int
}

func newPane(t *testing.T, mode string) *pane {
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("no tmux here")
	}
	dir, err := os.MkdirTemp("", "tm") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := &pane{t: t, target: newTarget(t), tmux: tmux, socket: filepath.Join(dir, "s")}
	p.mode(mode)
	self, err := os.Executable()
	if err == nil { // its pane is to run something called claude
		err = os.Symlink(self, filepath.Join(dir, "claude"))
	}
	if err != nil {
		t.Fatal(err)
	}
	p.do("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "24", filepath.Join(dir, "claude"), "cli", p.dir)
	t.Cleanup(func() { _ = p.command("kill-server").Run() })
	facts := strings.Fields(p.do("display-message", "-p", "#{pane_id} #{pane_pid}"))
	p.id = facts[0]
	if p.pid, err = strconv.Atoi(facts[1]); err != nil {
		t.Fatal(err)
	}
	p.until("is ready", func() bool { return strings.Contains(p.screen(), "footer") })
	return p
}

func (p *pane) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.tmux, append([]string{"-S", p.socket}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TMUX=")
	return cmd
}

func (p *pane) do(args ...string) string {
	p.t.Helper()
	out, err := p.command(args...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

func (p *pane) screen() string { return p.do("capture-pane", "-p") }

func (p *pane) until(what string, ok func() bool) {
	p.t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("the CLI never %s:\n%s", what, p.screen())
		}
	}
}

func (p *pane) agent() notify.Agent {
	return notify.Agent{Name: "coder", Notify: []string{notify.KindTmux}, Session: &presence.Session{
		Runtime: "claude", ID: claudeID, PID: p.pid, State: presence.Idle, Tmux: p.socket + ",1,0", Pane: p.id,
	}}
}

// parent is what the system says, without a look at a whole process tree.
func parent(pid int) (int, bool) {
	out, err := exec.Command("ps", "-o", "ppid=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(out)))
	return n, err == nil
}

func (p *pane) adapter() notify.Tmux { return notify.NewTmux(nil, parent) }

func TestTmuxContract(t *testing.T) {
	t.Parallel()
	notifytest.Run(t, func(t *testing.T) notifytest.Fixture {
		p := newPane(t, "")
		x := p.adapter()
		wrap := newTarget(t)
		x.Program = wrap.wrapper(p.tmux)
		return notifytest.Fixture{
			Adapter: x, Agent: p.agent(), Seen: p.seen,
			Refuse: func() { p.play("dialog", "Do you want") }, Hang: func() { wrap.mode("hang") },
		}
	})
}

// wrapper is a program that runs another, or hangs.
func (g target) wrapper(program string) string {
	path := g.script()
	if err := os.Symlink(program, filepath.Join(g.dir, "behind")); err != nil {
		g.t.Fatal(err)
	}
	g.mode("exec")
	return path
}

// play changes what the CLI shows; a key has it look.
func (p *pane) play(mode, until string) {
	p.t.Helper()
	p.mode(mode)
	p.do("send-keys", "-t", p.id, "C-l")
	p.until("showed "+until, func() bool { return strings.Contains(p.screen(), until) })
}

// Nothing is typed where a key could do harm, and what is there stays.
func TestTmuxHolds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		bring func(*pane, *notify.Agent)
		say   string
	}{
		{"a dialog", func(p *pane, _ *notify.Agent) { p.play("dialog", "Do you want") }, "a dialog or a menu"},
		{"a turn on the screen", func(p *pane, _ *notify.Agent) { p.play("busy", "esc to interrupt") }, "a turn that runs"},
		{"a draft", func(p *pane, _ *notify.Agent) {
			p.do("send-keys", "-t", p.id, "-l", "dear diary")
			p.until("took it", func() bool { return strings.Contains(p.screen(), "dear diary") })
		}, "something else is typed"},
		{"copy mode", func(p *pane, _ *notify.Agent) { p.do("copy-mode", "-t", p.id) }, "no empty prompt"},
		{"typed into several panes", func(p *pane, _ *notify.Agent) { p.do("set-option", "-p", "-t", p.id, "synchronize-panes", "on") }, "no empty prompt"},
		{"a turn by its hooks", func(_ *pane, a *notify.Agent) { a.Session.State = presence.Busy }, "a turn runs"},
		{"a question by its hooks", func(_ *pane, a *notify.Agent) { a.Session.State = presence.Dialog }, "permission question"},
		{"Esc", func(_ *pane, a *notify.Agent) { a.Session.State = presence.Interrupted }, "its person stopped it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPane(t, "")
			a := p.agent()
			test.bring(p, &a)
			before := p.screen()
			out, err := p.adapter().Notify(bounded(t, time.Minute), a, notifytest.Pointer(t, "coder"))
			if out.State != notify.Held || err != nil || !strings.Contains(out.Evidence, test.say) {
				t.Errorf("%+v, %v, want held with %q", out, err, test.say)
			}
			if after := p.screen(); after != before {
				t.Errorf("the screen changed from\n%s\nto\n%s", before, after)
			}
			if got := p.seen(); len(got) > 0 {
				t.Errorf("it took %q", got)
			}
		})
	}
}

// Whatever cannot be what was registered is refused.
func TestTmuxRefuses(t *testing.T) {
	t.Parallel()
	p := newPane(t, "")
	shell := strings.TrimSpace(p.do("split-window", "-d", "-P", "-F", "#{pane_id}", "sleep", "600"))
	for _, test := range []struct {
		name  string
		spoil func(*notify.Agent)
		say   string
	}{
		{"no hooks", func(a *notify.Agent) { a.Session = nil }, "not seen yet"},
		{"an unknown screen", func(a *notify.Agent) { a.Session.Runtime = "qwen" }, "screen of qwen is not known"},
		{"no pane", func(a *notify.Agent) { a.Session.Pane = "" }, "in no tmux pane"},
		{"a pane that is gone", func(a *notify.Agent) { a.Session.Pane = "%99" }, "%99"},
		{"another pane than its session's", func(a *notify.Agent) { a.Notify = []string{"tmux", shell} }, "its session runs in"},
		{"a pane that runs something else", func(a *notify.Agent) { a.Session.Pane = shell }, "runs sleep, not its session"},
		{"another process's pane", func(a *notify.Agent) { a.Session.PID = os.Getpid() }, "not its session"},
		{"one prompt", func(a *notify.Agent) { a.Session.OneShot = true }, "one prompt"},
		{"ended", func(a *notify.Agent) { a.Session.State = presence.Ended }, "no live session"},
		{"a relative socket", func(a *notify.Agent) { a.Session.Tmux = "s" }, "absolute"},
		{"an option for a pane", func(a *notify.Agent) { a.Notify = []string{"tmux", "-S"} }, "in no tmux pane"},
	} {
		a := p.agent()
		test.spoil(&a)
		out, err := p.adapter().Notify(bounded(t, time.Minute), a, notifytest.Pointer(t, "coder"))
		if out.State != notify.Failed || err == nil || !strings.Contains(out.Evidence, test.say) {
			t.Errorf("%s: %+v, %v, want failed with %q", test.name, out, err, test.say)
		}
	}
	if got := p.seen(); len(got) > 0 {
		t.Errorf("it took %q", got)
	}
}

// A dialog or a draft that comes between the typing and Enter: no Enter.
func TestTmuxLooksAgainBeforeEnter(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"a dialog", "a key of the person", "a question, by the hooks"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := newPane(t, "")
			a := p.agent()
			now := *a.Session
			done := make(chan struct{})
			a.Look = func() *presence.Session { <-done; return &now }
			go func() {
				defer close(done)
				for !strings.Contains(squeezed(p.screen()), "toseeyournewmail") {
					time.Sleep(5 * time.Millisecond)
				}
				switch what {
				case "a dialog":
					p.mode("dialog")
					_ = p.command("send-keys", "-t", p.id, "C-l").Run()
				case "a key of the person":
					_ = p.command("send-keys", "-t", p.id, "-l", "x").Run()
				default:
					now.State = presence.Dialog
				}
			}()
			out, err := p.adapter().Notify(bounded(t, time.Minute), a, notifytest.Pointer(t, "coder"))
			if out.State != notify.Held || err != nil {
				t.Errorf("%+v, %v", out, err)
			}
			if got := p.seen(); len(got) > 0 {
				t.Errorf("Enter was pressed: %q", got)
			}
			if what == "a question, by the hooks" { // the prompt is as it was
				p.until("erased the line", func() bool { return !strings.Contains(p.screen(), "Postroom") })
			}
		})
	}
}

// What tmux says may come after it has ended, on a busy machine: half of it is no
// screen, and nothing is typed.
func TestTmuxLateOutput(t *testing.T) {
	t.Parallel()
	for delay, want := range map[string]string{"0.3": "Enter 1", "3": "its output did not end"} {
		t.Run(delay, func(t *testing.T) {
			t.Parallel()
			p := newPane(t, "")
			x := p.adapter()
			x.Program = filepath.Join(t.TempDir(), "tmux")
			script := "#!/bin/sh\n(sleep " + delay + "; exec " + p.tmux + " \"$@\") &\n"
			if err := os.WriteFile(x.Program, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			out, _ := x.Notify(bounded(t, time.Minute), p.agent(), notifytest.Pointer(t, "coder"))
			if !strings.Contains(out.Evidence, want) {
				t.Errorf("%+v, want %q", out, want)
			}
		})
	}
}

func squeezed(s string) string { return strings.Join(strings.Fields(s), "") }

// Enter that is swallowed is pressed once more; what still stands there is sent
// the next time, not typed again.
func TestTmuxSwallowedEnter(t *testing.T) {
	t.Parallel()
	p := newPane(t, "swallow 1")
	a := p.agent()
	ptr := notifytest.Pointer(t, "coder")
	out, err := p.adapter().Notify(bounded(t, time.Minute), a, ptr)
	if out.State != notify.Notified || err != nil || !strings.Contains(out.Evidence, "Enter 2") || len(p.seen()) != 1 {
		t.Errorf("%+v, %v, %q", out, err, p.seen())
	}
	p = newPane(t, "swallow 2")
	a = p.agent()
	out, err = p.adapter().Notify(bounded(t, time.Minute), a, ptr)
	if out.State != notify.Failed || err == nil || len(p.seen()) != 0 {
		t.Errorf("%+v, %v, %q", out, err, p.seen())
	}
	p.until("sent what stood there", func() bool { // at once, on a machine that is not busy
		out, _ = p.adapter().Notify(bounded(t, time.Minute), a, ptr)
		return out.State == notify.Notified
	})
	if got := p.seen(); len(got) != 1 || strings.Count(got[0], "Postroom") != 1 {
		t.Errorf("it took %q", got)
	}
}

// A CLI that shows the line until its hooks have run: their word counts, and
// Enter is pressed once.
func TestTmuxConfirmedByHook(t *testing.T) {
	t.Parallel()
	p := newPane(t, "swallow 9")
	a := p.agent()
	old := *a.Session
	a.Look = func() *presence.Session {
		mode, _ := os.ReadFile(filepath.Join(p.dir, "mode"))
		now := old
		if string(mode) == "swallow 8" {
			now.State, now.At = presence.Busy, time.Now()
		}
		return &now
	}
	out, err := p.adapter().Notify(bounded(t, time.Minute), a, notifytest.Pointer(t, "coder"))
	if out.State != notify.Notified || err != nil || !strings.Contains(out.Evidence, "Enter 1") {
		t.Errorf("%+v, %v", out, err)
	}
}

// What is typed is plain ASCII of our own.
func TestTmuxNudge(t *testing.T) {
	t.Parallel()
	p := newPane(t, "")
	ptr := notifytest.Pointer(t, "coder")
	ptr.Office, ptr.Text = "/srv/büro", "9 new messages"
	for command, want := range map[string]string{
		"post inbox --as coder --office /srv/a":        "Postroom: run `post inbox --as coder --office /srv/a` to see your new mail",
		notify.Command("post", "coder", "/srv/büro ;"): "Postroom: run `post inbox --as coder` to see your new mail",
	} {
		ptr.Command = command
		if out, err := p.adapter().Notify(bounded(t, time.Minute), p.agent(), ptr); out.State != notify.Notified || err != nil {
			t.Errorf("%+v, %v", out, err)
		}
		if got := strings.Join(p.seen(), "\n"); !strings.Contains(got, want) {
			t.Errorf("it took %q, want %q", got, want)
		}
	}
}

func TestTmuxCheck(t *testing.T) {
	t.Parallel()
	table := notify.NewTable(notify.NewTmux(nil, nil))
	for arg, ok := range map[string]bool{"%3": true, "team:0.1": true, "-S": false, "x;": false, "a\nb": false, "": false} {
		if _, err := table.Check([]string{"tmux", arg}); (err == nil) != ok {
			t.Errorf("%q: %v", arg, err)
		}
	}
	if _, err := table.Check([]string{"tmux", "a", "b"}); err == nil {
		t.Error("two panes")
	}
}
