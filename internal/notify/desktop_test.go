package notify_test

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/notify/notifytest"
)

// desk is a PATH with a notify-send that is this test binary, and the
// environment of a session.
func desk(t *testing.T, tool string) (notify.Desktop, target) {
	t.Helper()
	tg := newTarget(t)
	bin := filepath.Join(tg.dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, tool), []byte("#!/bin/sh\nexec '"+os.Args[0]+"' target '"+tg.dir+"' \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"PATH": bin + ":/usr/bin:/bin", "HOME": tg.dir, "DBUS_SESSION_BUS_ADDRESS": "unix:path=/tmp/bus", "DISPLAY": ":7", "CLAUDECODE": "1", "SECRET": "x"}
	return notify.Desktop{Getenv: func(k string) string { return env[k] }, System: "linux"}, tg
}

func TestDesktopContract(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a fake program here is a shell script")
	}
	notifytest.Run(t, func(t *testing.T) notifytest.Fixture {
		d, tg := desk(t, "notify-send")
		return notifytest.Fixture{Adapter: d, Agent: notify.Agent{Notify: []string{"desktop"}}, Seen: tg.seen,
			Refuse: func() { tg.mode("refuse") }, Hang: func() { tg.mode("hang") }}
	})
}

func personPointer(t *testing.T) notify.Pointer {
	p := notifytest.Pointer(t, "coder")
	p.Agent, p.Count, p.IDs = "human", 1, p.IDs[:1]
	p.Text = "1 question waits for you: run `post approvals ap-0123456789`"
	p.Asks = []notify.Asked{{Approval: "ap-0123456789", Kind: "question", From: "coder", Subject: "--urgency=critical <b>&x</b> $(id)", Body: "it's \\ a\nbody"}}
	return p
}

// The words are arguments behind --, and no markup; the environment is the
// session's bus and nothing of who sends.
func TestDesktopArguments(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a fake program here is a shell script")
	}
	d, tg := desk(t, "notify-send")
	out, err := d.Notify(context.Background(), notify.Agent{Name: "human", Notify: []string{"desktop"}}, personPointer(t))
	if err != nil || out.State != notify.Notified || out.Evidence != "desktop: notify-send took it (exit 0)" {
		t.Fatalf("%+v, %v", out, err)
	}
	s := tg.one()
	want := []string{"--app-name=Postroom", "--category=im.received", "--", "Postroom: coder asks you",
		"1 question waits for you: run `post approvals ap-0123456789`\ncoder writes: --urgency=critical &lt;b&gt;&amp;x&lt;/b&gt; $(id)\nit's \\\\ a\nbody"}
	if strings.Join(s.Args, "\x00") != strings.Join(want, "\x00") {
		t.Errorf("%q", s.Args)
	}
	env := "\n" + strings.Join(s.Env, "\n") + "\n"
	if !strings.Contains(env, "\nDBUS_SESSION_BUS_ADDRESS=unix:path=/tmp/bus\n") || strings.Contains(env, "SECRET") || strings.Contains(env, "CLAUDECODE") {
		t.Errorf("%q", s.Env)
	}
}

// What each system's program is called with.
func TestDesktopOnEverySystem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		system, tool string
		want         []string // in this order among the arguments
	}{
		{"linux", "gdbus", []string{"org.freedesktop.Notifications.Notify", "--", "'Postroom'", "uint32 0", "'Postroom: coder asks you'", `it\'s \\ a\nbody'`, "int32 -1"}},
		{"darwin", "terminal-notifier", []string{"-title", "Postroom: coder asks you", "-message", "1 question waits"}},
		{"darwin", "osascript", []string{"on run argv", "item 2 of argv", "end run", "Postroom: coder asks you", "1 question waits"}},
	} {
		t.Run(c.tool, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" {
				t.Skip("a fake program here is a shell script")
			}
			d, tg := desk(t, c.tool)
			d.System = c.system
			path := d.Getenv("PATH")
			getenv := d.Getenv
			d.Getenv = func(k string) string {
				if k == "PATH" {
					return strings.SplitN(path, ":", 2)[0]
				}
				return getenv(k)
			}
			out, err := d.Notify(context.Background(), notify.Agent{Name: "human"}, personPointer(t))
			if err != nil || out.State != notify.Notified {
				t.Fatalf("%+v, %v", out, err)
			}
			all := strings.Join(tg.one().Args, "\x00")
			for _, w := range c.want {
				_, rest, ok := strings.Cut(all, w)
				if !ok {
					t.Fatalf("no %q, or not there, in %q", w, tg.one().Args)
				}
				all = rest
			}
		})
	}
}

// The script for PowerShell is one and the same whatever the words.
func TestDesktopOnWindows(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a fake program here is a shell script")
	}
	d, tg := desk(t, "powershell.exe")
	d.System = "windows"
	if out, err := d.Notify(context.Background(), notify.Agent{Name: "human"}, personPointer(t)); err != nil || out.State != notify.Notified {
		t.Fatalf("%+v, %v", out, err)
	}
	s := tg.one()
	script, err := base64.StdEncoding.DecodeString(s.Args[len(s.Args)-1])
	if err != nil || strings.Contains(string(script), "$\x00(\x00i\x00d") || !strings.Contains(string(script), "$\x00e\x00n\x00v\x00:\x00P\x00O\x00S\x00T\x00R\x00O\x00O\x00M\x00_\x00B\x00O\x00D\x00Y") {
		t.Errorf("%v: %q", err, script)
	}
	if env := strings.Join(s.Env, "\n"); !strings.Contains(env, "POSTROOM_TITLE=Postroom: coder asks you") || !strings.Contains(env, "$(id)") {
		t.Errorf("%q", env)
	}
}

// Nothing here that could show a notice, or no session: said, with what would
// help.
func TestDesktopFailures(t *testing.T) {
	t.Parallel()
	none := notify.Desktop{Getenv: func(string) string { return "" }, System: "linux"}
	if _, err := none.Check(nil); err == nil || !strings.Contains(err.Error(), "libnotify-bin") {
		t.Errorf("%v", err)
	}
	if _, err := none.Check([]string{"x"}); err == nil {
		t.Error("an argument is taken")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if out, _ := none.Notify(ctx, notify.Agent{Name: "human"}, personPointer(t)); out.State != notify.Failed || !strings.Contains(out.Evidence, "nothing here can show a notice") {
		t.Errorf("%+v", out)
	}
	if runtime.GOOS == "windows" {
		return
	}
	d, tg := desk(t, "notify-send")
	tg.mode("refuse")
	getenv := d.Getenv
	d.Getenv = func(k string) string {
		if k == "DBUS_SESSION_BUS_ADDRESS" {
			return ""
		}
		return getenv(k)
	}
	out, _ := d.Notify(ctx, notify.Agent{Name: "human"}, personPointer(t))
	if out.State != notify.Failed || !strings.Contains(out.Evidence, "exit status 4") || !strings.Contains(out.Evidence, "desktop session") {
		t.Errorf("%+v", out)
	}
}

// Asks that hold what they may not are refused by every adapter, in the pointer.
func TestAsksAreChecked(t *testing.T) {
	t.Parallel()
	if err := personPointer(t).Check(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*notify.Pointer){
		"an agent's":         func(p *notify.Pointer) { p.Agent = "coder" },
		"id is a path":       func(p *notify.Pointer) { p.Asks[0].Approval = "../ap-1" },
		"kind is words":      func(p *notify.Pointer) { p.Asks[0].Kind = "question, urgent" },
		"sender is markup":   func(p *notify.Pointer) { p.Asks[0].From = "<!channel>" },
		"subject of lines":   func(p *notify.Pointer) { p.Asks[0].Subject = "a\nhuman writes: yes" },
		"subject too long":   func(p *notify.Pointer) { p.Asks[0].Subject = strings.Repeat("a", 301) },
		"escape in body":     func(p *notify.Pointer) { p.Asks[0].Body = "\x1b[2J" },
		"body turned around": func(p *notify.Pointer) { p.Asks[0].Body = "\u202e" },
		"too many":           func(p *notify.Pointer) { p.Asks = make([]notify.Asked, notify.MaxAsks+1) },
	} {
		p := personPointer(t)
		spoil(&p)
		if err := p.Check(); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
