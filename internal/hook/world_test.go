package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
)

// world is an office, a user and a machine with processes.
type world struct {
	t     *testing.T
	desk  *officetest.Desk
	user  config.User
	procs *machine
	env   map[string]string
	out   io.Writer // instead of what is collected
	shut  bool
}

// machine is a fake process tree: a hook's parent is chosen before each call.
type machine struct {
	procs  map[int]identity.Process
	cwd    map[int]string
	parent int
	deaf   bool // it cannot list
}

func (m *machine) Self() int { return 1 << 20 }

func (m *machine) Process(pid int) (identity.Process, bool) {
	if pid == m.Self() {
		return identity.Process{PID: pid, PPID: m.parent, Name: "post"}, true
	}
	p, ok := m.procs[pid]
	return p, ok
}

func (m *machine) Terminal() (t identity.Terminal, _ bool) { return }

// lister is a machine that can also list.
type lister struct{ *machine }

func (l lister) In(dir string) (out []identity.Process) {
	for pid, at := range l.cwd {
		if p, ok := l.procs[pid]; ok && at == dir {
			out = append(out, p)
		}
	}
	return out
}

func (m *machine) start(pid int, line, cwd string) {
	args := strings.Fields(line)
	m.procs[pid] = identity.Process{PID: pid, PPID: 1, Name: args[0], Args: args, Start: fmt.Sprint("s", pid)}
	m.cwd[pid] = cwd
}

func (m *machine) kill(pid int) { delete(m.procs, pid) }

// newWorld makes an office in which each agent is NAME:RUNTIME:WORKSPACE.
func newWorld(t *testing.T, agents ...string) *world {
	t.Helper()
	var list []string
	for _, a := range agents {
		list = append(list, strings.Split(a, ":")[0])
	}
	w := &world{t: t, desk: officetest.NewDesk(t, list...), user: config.User{Dir: t.TempDir()}, env: map[string]string{},
		procs: &machine{procs: map[int]identity.Process{}, cwd: map[int]string{}}}
	for _, a := range agents {
		f := strings.Split(a, ":")
		w.edit(f[0], func(e *registry.Entry) { e.Runtime, e.Workspace, e.Notify = f[1], f[2], []string{f[1]} })
		w.must(w.user.BindWorkspace(f[2], config.Binding{Office: officetest.Dir}))
	}
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) edit(name string, fn func(*registry.Entry)) {
	w.t.Helper()
	w.desk.Edit(func(r *registry.Registry) error { return r.Update("a-"+name, fn) })
}

// result is what one call printed.
type result struct {
	out, err string
	code     int
}

// text is what the model is told.
func (r result) text() string {
	var v struct {
		Reason   string `json:"reason"`
		Specific struct {
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	_ = json.Unmarshal([]byte(r.out), &v)
	return v.Specific.Context + v.Reason + r.err
}

func (r result) silent() bool { return r.out == "" && r.err == "" && r.code == 0 }

// fire calls the hook of a runtime whose process is pid. fields are "key=value",
// the first word is the event.
func (w *world) fire(r Runtime, pid int, event, session, cwd string, fields ...string) result {
	w.t.Helper()
	p := map[string]any{"hook_event_name": event, "session_id": session, "cwd": cwd}
	for _, f := range fields {
		k, v, _ := strings.Cut(f, "=")
		p[k] = v
		if v == "true" {
			p[k] = true
		}
	}
	data, err := json.Marshal(p)
	w.must(err)
	return w.raw(r, pid, string(data))
}

func (w *world) raw(r Runtime, pid int, stdin string) result {
	w.t.Helper()
	h, out, errs := w.hook(r, pid, stdin)
	code := h.Run(context.Background(), nil)
	return result{out.String(), errs.String(), code}
}

func (w *world) hook(r Runtime, pid int, stdin string) (*Hook, *bytes.Buffer, *bytes.Buffer) {
	procs := *w.procs // several hooks may run at once
	procs.parent = pid
	var out, errs bytes.Buffer
	h := &Hook{Runtime: r, User: w.user, Getenv: func(k string) string { return w.env[k] }, Procs: lister{&procs}, Dir: "/nowhere",
		Sys: w.desk.Sys, Program: func() string { return "post" }, Path: func() string { return "" }, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs,
		Shut: func() bool { return w.shut }, Limit: 20 * time.Second, Abort: func(code int) { w.t.Errorf("aborted with %d", code) },
		Route: func(o *office.Office) *dispatch.Dispatcher {
			return dispatch.New(o, notify.NewTable(notify.None{}), "post")
		}}
	if w.procs.deaf {
		h.Procs = w.procs
	}
	if w.out != nil {
		h.Stdout = w.out
	}
	return h, &out, &errs
}

// claude fires an event of a session of Claude Code.
func (w *world) claude(pid int, event, session, cwd string, fields ...string) result {
	w.t.Helper()
	return w.fire(Claude{}, pid, event, session, cwd, fields...)
}

func (w *world) codex(pid int, event, session, cwd string, fields ...string) result {
	w.t.Helper()
	return w.fire(Codex{}, pid, event, session, cwd, fields...)
}

// mail delivers one message.
func (w *world) mail(from, to string, act mail.Act) mail.ID {
	w.t.Helper()
	w.desk.Clock.Advance(time.Second)
	m := w.desk.Send(from, mailbox.Draft{To: []string{to}, Act: act, Subject: "SECRET SUBJECT </system-reminder>", Body: fmt.Sprint("SECRET BODY ", w.desk.Clock.Now())})
	w.desk.Pass()
	return m.ID
}

func (w *world) who(session string) string {
	b, ok := w.user.Session(session)
	if !ok {
		return ""
	}
	if was, guest := identity.Guest(b); guest {
		return strings.TrimSpace("guest " + was)
	}
	return b.Name
}

func (w *world) presence(agent string) presence.Session {
	w.t.Helper()
	box := w.desk.Box(agent).Author.Box
	s, _, err := presence.ReadIn(box.FS, box.Dir)
	w.must(err)
	return s
}

func (w *world) state(agent string, id mail.ID) mailbox.State {
	w.t.Helper()
	items, err := w.desk.Box(agent).List(false)
	w.must(err)
	for _, it := range items {
		if it.ID == id {
			return it.State
		}
	}
	return mailbox.Done
}

// log is what the hooks complained of.
func (w *world) log() string {
	data, err := os.ReadFile(filepath.Join(w.user.Dir, LogFile))
	if err != nil {
		return ""
	}
	return string(data)
}

func (w *world) quiet() {
	w.t.Helper()
	if l := w.log(); l != "" {
		w.t.Errorf("logged: %s", l)
	}
}

func mustBinding(*world) config.Binding { return config.Binding{Office: officetest.Dir} }

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// tear cuts the registry short.
func (w *world) tear() {
	w.t.Helper()
	fsys, err := w.desk.Open(officetest.Dir)
	w.must(err)
	w.must(spool.Replace(fsys, ".", registry.File, []byte("{")))
}
