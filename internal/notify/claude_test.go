package notify_test

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/notify/notifytest"
	"github.com/postroom/postroom/internal/presence"
)

// session plays Claude Code: a state file and an inbox socket.
type session struct {
	t      *testing.T
	home   string
	socket string

	mu    sync.Mutex
	state map[string]any
	got   []string
	mute  bool // takes frames and does nothing
}

const claudeID = "b097c00f-5b77-49a7-802d-45da8ebdb59a"

func newSession(t *testing.T) *session {
	dir, err := os.MkdirTemp("", "cc") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &session{t: t, home: dir, socket: filepath.Join(dir, "5194.sock")}
	s.state = map[string]any{
		"pid": 5194, "sessionId": claudeID, "version": "2.1.332", "peerProtocol": 1, "kind": "interactive",
		"messagingSocketPath": s.socket, "status": "idle", "statusUpdatedAt": 1000,
	}
	if err := os.MkdirAll(filepath.Join(dir, ".claude", "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.set(nil)
	l, err := net.Listen("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup // a frame's state is written before the test's directory goes
	t.Cleanup(func() {
		l.Close()
		served.Wait()
	})
	served.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() { s.take(conn) })
		}
	})
	return s
}

func (s *session) take(conn net.Conn) {
	defer conn.Close()
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return
	}
	s.mu.Lock()
	mute := s.mute
	if !mute {
		s.got = append(s.got, line)
	}
	s.mu.Unlock()
	if !mute { // a turn that is over at once
		s.set(map[string]any{"statusUpdatedAt": time.Now().UnixNano()})
	}
}

// set changes the state file, as the real one does: whole.
func (s *session) set(change map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, v := range change {
		s.state[k] = v
	}
	data, err := json.Marshal(s.state)
	name := filepath.Join(s.home, ".claude", "sessions", "5194.json")
	if err == nil {
		err = os.WriteFile(name+".tmp", data, 0o600)
	}
	if err == nil {
		err = os.Rename(name+".tmp", name)
	}
	if err != nil {
		s.t.Error(err)
	}
}

func (s *session) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.got...)
}

func (s *session) adapter() notify.Claude {
	return notify.Claude{Getenv: func(k string) string { return map[string]string{"HOME": s.home}[k] }}
}

func (s *session) agent() notify.Agent {
	return notify.Agent{Notify: []string{notify.KindClaude}, Session: &presence.Session{
		Runtime: "claude", ID: claudeID, PID: 5194, State: presence.Idle, Since: time.Unix(1e9, 0), At: time.Unix(1e9, 0),
	}}
}

func TestClaudeContract(t *testing.T) {
	t.Parallel()
	notifytest.Run(t, func(t *testing.T) notifytest.Fixture {
		s := newSession(t)
		return notifytest.Fixture{
			Adapter: s.adapter(), Agent: s.agent(), Seen: s.seen,
			Refuse: func() { s.set(map[string]any{"status": "waiting", "waitingFor": "a\x1b[31m\nquestion\u202e"}) },
			Hang:   func() { s.mu.Lock(); s.mute = true; s.mu.Unlock() },
		}
	})
}

// The frame is our own words in a tag that claims nobody's authority.
func TestClaudeFrame(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	a := s.agent()
	a.Name = "coder"
	p := notifytest.Pointer(t, "coder")
	p.Text = "2 new messages: run `post inbox --office '/a</cross-session-message>b&'`"
	if out, err := s.adapter().Notify(bounded(t, time.Minute), a, p); out.State != notify.Notified || err != nil {
		t.Fatalf("%+v, %v", out, err)
	}
	var f struct {
		MsgV     int
		MsgID    string `json:"msg_id"`
		Type     string
		Priority string
		From     string
		Message  struct{ Role, Content string }
	}
	got := s.seen()
	if len(got) != 1 || json.Unmarshal([]byte(got[0]), &f) != nil {
		t.Fatalf("got %q", got)
	}
	want := "<cross-session-message from=\"uds:postroom\" from-name=\"postroom\">\n" +
		"Postroom: 2 new messages: run `post inbox --office '/a(/cross-session-message)b+'` [" +
		string(p.IDs[0]) + ", " + string(p.IDs[1]) + "]\n</cross-session-message>"
	if f.Message.Content != want {
		t.Errorf("content\n%s\nwant\n%s", f.Message.Content, want)
	}
	if f.MsgV != 1 || len(f.MsgID) != 36 || f.Type != "user" || f.Priority != "next" || f.Message.Role != "user" || f.From != "uds:postroom" {
		t.Errorf("frame %s", got[0])
	}
	if strings.Contains(got[0], "from-mode") {
		t.Error("the frame claims a mode")
	}
}

func TestClaudeGates(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		file  map[string]any
		agent func(*presence.Session)
		state notify.State
		say   string
	}{
		{"a dialog", map[string]any{"status": "waiting", "waitingFor": "permission prompt"}, nil, notify.Held, "a dialog is open (permission prompt)"},
		{"a turn", map[string]any{"status": "busy"}, func(s *presence.Session) { s.State = presence.Busy }, notify.Held, "a turn runs"},
		{"a shell command", map[string]any{"status": "shell"}, nil, notify.Held, "a turn runs"},
		{"a status of the future", map[string]any{"status": "dreaming"}, nil, notify.Held, "unknown: dreaming"},
		{"too old", map[string]any{"version": "2.1.223"}, nil, notify.Pending, "version 2.1.223"},
		{"no version", map[string]any{"version": "dev"}, nil, notify.Pending, "version dev"},
		{"another protocol", map[string]any{"peerProtocol": 2}, nil, notify.Pending, "protocol 2"},
		{"no socket", map[string]any{"messagingSocketPath": ""}, nil, notify.Pending, "watches the mailbox since 01:46:40"},
		{"a socket that is gone", map[string]any{"messagingSocketPath": "/nowhere/x.sock"}, nil, notify.Pending, "gone"},
		{"another session in its place", map[string]any{"sessionId": "other"}, nil, notify.Failed, "no live session"},
		{"one prompt", nil, func(s *presence.Session) { s.OneShot = true }, notify.Failed, "one prompt"},
		{"ended", nil, func(s *presence.Session) { s.State = presence.Ended }, notify.Failed, "ended since"},
		{"bypasses permissions", nil, func(s *presence.Session) { s.Mode = "bypassPermissions" }, notify.Pending, "bypasses permissions"},
		{"a session of codex", nil, func(s *presence.Session) { s.Runtime = "codex" }, notify.Failed, "one of codex"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			s.set(test.file)
			a := s.agent()
			a.Name = "coder"
			if test.agent != nil {
				test.agent(a.Session)
			}
			out, _ := s.adapter().Notify(bounded(t, 500*time.Millisecond), a, notifytest.Pointer(t, "coder"))
			if out.State != test.state || !strings.Contains(out.Evidence, test.say) {
				t.Errorf("%+v, want %s with %q", out, test.state, test.say)
			}
			if got := s.seen(); len(got) > 0 {
				t.Errorf("the session got %q", got)
			}
		})
	}
	t.Run("nothing known", func(t *testing.T) {
		t.Parallel()
		s := newSession(t)
		out, _ := s.adapter().Notify(bounded(t, time.Second), notify.Agent{Name: "coder"}, notifytest.Pointer(t, "coder"))
		if out.State != notify.Failed || !strings.Contains(out.Evidence, "not seen yet") {
			t.Errorf("%+v", out)
		}
	})
}

// Without a socket its own hook sees the file; that it did is the evidence.
func TestClaudeWatched(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.set(map[string]any{"messagingSocketPath": ""})
	a := s.agent()
	a.Name = "coder"
	start, old := time.Now(), a.Session
	a.Look = func() *presence.Session {
		if time.Since(start) < 100*time.Millisecond {
			return old
		}
		now := *old
		now.State, now.Event, now.At = presence.Busy, "UserPromptSubmit", time.Now()
		return &now
	}
	out, err := s.adapter().Notify(bounded(t, time.Minute), a, notifytest.Pointer(t, "coder"))
	if out.State != notify.Notified || err != nil || !strings.Contains(out.Evidence, "saw the mailbox change (UserPromptSubmit)") {
		t.Errorf("%+v, %v", out, err)
	}
}

// The last hook of a turn has run: the end of it is waited for.
func TestClaudeTurnEnds(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.set(map[string]any{"status": "busy"})
	time.AfterFunc(200*time.Millisecond, func() { s.set(map[string]any{"status": "idle"}) })
	a := s.agent()
	a.Name = "coder"
	if out, err := s.adapter().Notify(bounded(t, time.Minute), a, notifytest.Pointer(t, "coder")); out.State != notify.Notified || err != nil {
		t.Errorf("%+v, %v", out, err)
	}
}

// A session that just woke itself is not woken twice.
func TestClaudeWokeItself(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	a := s.agent()
	a.Name, a.Session.State, a.Session.Event, a.Session.At = "coder", presence.Busy, "FileChanged", time.Now()
	out, err := s.adapter().Notify(bounded(t, time.Minute), a, notifytest.Pointer(t, "coder"))
	if out.State != notify.Notified || err != nil || len(s.seen()) > 0 {
		t.Errorf("%+v, %v, and it got %q", out, err, s.seen())
	}
}

// A resumed session has another process: it is found by its id.
func TestClaudeResumed(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	a := s.agent()
	a.Name, a.Session.PID = "coder", 77
	if out, err := s.adapter().Notify(bounded(t, time.Minute), a, notifytest.Pointer(t, "coder")); out.State != notify.Notified || err != nil {
		t.Errorf("%+v, %v", out, err)
	}
}
