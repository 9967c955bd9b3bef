package notify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/notify/notifytest"
)

func TestNoneContract(t *testing.T) {
	t.Parallel()
	notifytest.Run(t, func(*testing.T) notifytest.Fixture {
		return notifytest.Fixture{Adapter: notify.None{}, Silent: true, Seen: func() []string { return nil }}
	})
}

func TestExecContract(t *testing.T) {
	t.Parallel()
	notifytest.Run(t, func(t *testing.T) notifytest.Fixture {
		g := newTarget(t)
		return notifytest.Fixture{
			Adapter: notify.Exec{}, Agent: notify.Agent{Notify: g.notify("{agent}", "{ids}", "{command}")}, Seen: g.seen,
			Refuse: func() { g.mode("refuse") }, Hang: func() { g.mode("hang") },
		}
	})
}

func TestPostdContract(t *testing.T) {
	t.Parallel()
	notifytest.Run(t, func(t *testing.T) notifytest.Fixture {
		g := newTarget(t)
		return notifytest.Fixture{
			Adapter: notify.NewPostd(notify.KindExec, os.Executable), Agent: notify.Agent{Notify: g.notify()}, Seen: g.seen,
			Refuse: func() { g.mode("refuse") }, Hang: func() { g.mode("hang") },
		}
	})
}

func bounded(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestExecPassesValidatedFieldsOnly(t *testing.T) {
	t.Parallel()
	g := newTarget(t)
	env := map[string]string{"PATH": "/bin", "HOME": "/h", "LANG": "C.UTF-8", "ANTHROPIC_API_KEY": "secret", "CLAUDECODE": "1"}
	x := notify.Exec{Getenv: func(k string) string { return env[k] }}
	agent := notify.Agent{Name: "coder", Workspace: t.TempDir(), Notify: g.notify("{agent}", "{count}", "{ids}", "{command}", "{office}", "x{agent}", "; rm -rf")}
	p := notifytest.Pointer(t, "coder")
	if out, err := x.Notify(bounded(t, time.Minute), agent, p); out.State != notify.Notified || err != nil {
		t.Fatalf("%+v, %v", out, err)
	}
	got := g.one()
	ids := string(p.IDs[0] + "," + p.IDs[1])
	if want := []string{"coder", "2", ids, p.Command, p.Office, "x{agent}", "; rm -rf"}; !slices.Equal(got.Args, want) {
		t.Errorf("arguments %q, want %q", got.Args, want)
	}
	want := []string{"PATH=/bin", "HOME=/h", "LANG=C.UTF-8", "POSTROOM_AGENT=coder", "POSTROOM_OFFICE=" + p.Office, "POSTROOM_IDS=" + ids, "POSTROOM_COUNT=2"}
	for _, kv := range got.Env {
		if strings.HasPrefix(kv, "PWD=") || strings.HasPrefix(kv, "SYSTEMROOT=") {
			continue
		}
		if !slices.Contains(want, kv) {
			t.Errorf("environment has %s", kv)
		}
	}
	for _, kv := range want {
		if !slices.Contains(got.Env, kv) {
			t.Errorf("environment lacks %s", kv)
		}
	}
	var in struct {
		V int `json:"v"`
		notify.Pointer
	}
	if err := json.Unmarshal([]byte(got.Stdin), &in); err != nil || in.V != 1 || in.Text != p.Text || len(in.IDs) != 2 {
		t.Errorf("standard input %q: %v", got.Stdin, err)
	}
	if dir, _ := filepath.EvalSymlinks(agent.Workspace); got.Dir != dir {
		t.Errorf("ran in %s, want %s", got.Dir, dir)
	}
}

func TestExecOutcomes(t *testing.T) {
	t.Parallel()
	plainFile := filepath.Join(t.TempDir(), "not-executable")
	if err := os.WriteFile(plainFile, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, mode string
		argv       []string
		want       notify.State
		say        string
	}{
		{"busy", "busy", nil, notify.Held, "busy (exit status 3)"},
		{"refuses", "refuse", nil, notify.Failed, "exit status 4"},
		{"no permission", "", []string{plainFile}, notify.Failed, "permission denied"},
		{"missing", "", []string{plainFile + "-nowhere"}, notify.Failed, "no such program"},
		{"relative", "", []string{"true"}, notify.Failed, "no absolute path"},
		{"nothing", "", []string{}, notify.Failed, "no absolute path"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newTarget(t)
			g.mode(test.mode)
			agent := notify.Agent{Name: "coder", Workspace: "/nowhere/at/all", Notify: g.notify()}
			if test.argv != nil {
				agent.Notify = append([]string{notify.KindExec}, test.argv...)
			}
			out, _ := notify.Exec{}.Notify(bounded(t, time.Minute), agent, notifytest.Pointer(t, "coder"))
			if out.State != test.want || !strings.Contains(out.Evidence, test.say) {
				t.Errorf("got %+v, want %s with %q", out, test.want, test.say)
			}
			if strings.Contains(out.Evidence, "took longer") {
				t.Errorf("blamed on time: %q", out.Evidence)
			}
		})
	}
}

// A program that leaves a child in the background, with our pipes open, did
// take the pointer, and costs the sender no more than a moment.
func TestExecDaemonDoesNotHang(t *testing.T) {
	t.Parallel()
	g, background := newTarget(t), newTarget(t)
	g.mode("daemon " + background.dir)
	background.mode("hang")
	t.Cleanup(func() { killRecorded(t, g.dir); killRecorded(t, background.dir) })
	start := time.Now()
	out, err := notify.Exec{}.Notify(bounded(t, time.Minute), notify.Agent{Name: "coder", Notify: g.notify()}, notifytest.Pointer(t, "coder"))
	if out.State != notify.Notified || err != nil {
		t.Errorf("%+v, %v", out, err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

func recordedPID(t *testing.T, dir string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(data))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func killRecorded(t *testing.T, dir string) {
	if pid := recordedPID(t, dir); pid > 0 {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
		}
	}
}

func TestTableCheck(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	table := notify.NewTable(notify.None{}, notify.Exec{})
	for _, test := range []struct {
		in, want []string
		say      string
	}{
		{nil, []string{"none"}, ""},
		{[]string{"none"}, []string{"none"}, ""},
		{[]string{"none", "x"}, nil, "takes no arguments"},
		{[]string{"exec"}, nil, "no program"},
		{[]string{"exec", self, "{agent}", "-x"}, []string{"exec", self, "{agent}", "-x"}, ""},
		{[]string{"exec", "./here"}, nil, "relative"},
		{[]string{"exec", "no-such-program-anywhere"}, nil, "not found"},
		{[]string{"exec", self, "--to={agent}"}, nil, "placeholder inside"},
		{[]string{"exec", self, "a\x00b"}, nil, "NUL"},
		{[]string{"carrier-pigeon"}, nil, "use one of exec, none"},
	} {
		got, err := table.Check(test.in)
		if test.say == "" {
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%q: %q, %v; want %q", test.in, got, err, test.want)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), test.say) || mail.KindOf(err) != mail.KindUsage {
			t.Errorf("%q: %v, want a usage error with %q", test.in, err, test.say)
		}
	}
}

func TestPostdMissing(t *testing.T) {
	t.Parallel()
	ad := notify.NewPostd("webhook", func() (string, error) { return "", errors.New("not on PATH") })
	out, err := ad.Notify(bounded(t, time.Minute), notify.Agent{Name: "coder", Notify: []string{"webhook"}}, notifytest.Pointer(t, "coder"))
	if out.State != notify.Failed || !strings.Contains(out.Evidence, "install postd") || err == nil {
		t.Errorf("%+v, %v", out, err)
	}
}

// A postd that exits with 0 and says nothing notified nobody.
func TestPostdSilent(t *testing.T) {
	t.Parallel()
	ad := notify.NewPostd("silent", os.Executable)
	out, _ := ad.Notify(bounded(t, time.Minute), notify.Agent{Name: "coder", Notify: []string{"silent"}}, notifytest.Pointer(t, "coder"))
	if out.State != notify.Failed || !strings.Contains(out.Evidence, "same version") {
		t.Errorf("%+v", out)
	}
}

func TestServeOne(t *testing.T) {
	t.Parallel()
	p := notifytest.Pointer(t, "coder")
	good := map[string]any{"v": 1, "kind": "none", "agent": notify.Agent{Name: "coder"}, "pointer": p}
	with := func(k string, v any) map[string]any {
		m := map[string]any{}
		for key, val := range good {
			m[key] = val
		}
		m[k] = v
		return m
	}
	bad := p
	bad.Text = "two\nlines"
	for _, test := range []struct {
		name  string
		in    any
		state notify.State // "" if the request is refused
	}{
		{"good", good, notify.NotNeeded},
		{"not JSON", "\x00", ""},
		{"newer", with("v", 2), ""},
		{"kind disagrees", with("kind", "exec"), ""},
		{"unknown kind", map[string]any{"v": 1, "kind": "x", "agent": notify.Agent{Notify: []string{"x"}}, "pointer": p}, notify.Failed},
		{"bad pointer", with("pointer", bad), notify.Failed},
		{"too large", with("padding", strings.Repeat("x", 300<<10)), ""},
	} {
		in, isText := test.in.(string)
		if !isText {
			data, err := json.Marshal(test.in)
			if err != nil {
				t.Fatal(err)
			}
			in = string(data)
		}
		var out bytes.Buffer
		err := notify.ServeOne(context.Background(), strings.NewReader(in), &out, notify.NewTable(notify.None{}))
		if (err != nil) != (test.state == "") {
			t.Errorf("%s: error %v", test.name, err)
		}
		var r struct {
			V int `json:"v"`
			notify.Outcome
		}
		if err == nil && (json.Unmarshal(out.Bytes(), &r) != nil || r.V != 1 || r.State != test.state || r.Evidence == "") {
			t.Errorf("%s: answered %s, want %s", test.name, out.String(), test.state)
		}
	}
}
