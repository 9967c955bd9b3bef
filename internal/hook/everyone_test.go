package hook

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/presence"
)

// One life of a session, told in each runtime's words.
func TestEveryRuntime(t *testing.T) {
	t.Parallel()
	claudeLike := `{"hook_event_name":%q,"session_id":"s1","cwd":"/ws","prompt":"go","stop_hook_active":%t}`
	copilotLike := `{"hookName":%q,"sessionId":"s1","cwd":"/ws","prompt":"go","stop_hook_active":%t}`
	pluginLike := `{"event":%q,"session":"s1","cwd":"/ws","prompt":"go","one_shot":%t}`
	for _, c := range []struct {
		r                               Runtime
		form                            string
		start, turn, middle, stop, over string
		active                          bool // what stop_hook_active is at the first stop
		greets                          string
	}{
		{Claude{}, claudeLike, "SessionStart", "UserPromptSubmit", "PostToolBatch", "Stop", "SessionEnd", false, "start"},
		{Codex{}, claudeLike, "SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd", false, "start"},
		{Gemini{}, claudeLike, "SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd", false, "start"},
		{Qwen{}, claudeLike, "SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd", true, "turn"},
		{Copilot{}, copilotLike, "sessionStart", "userPromptSubmitted", "postToolUse", "agentStop", "sessionEnd", false, "start"},
		{OpenCode{}, pluginLike, "session.start", "turn.start", "turn.middle", "turn.stop", "session.end", false, "start"},
	} {
		t.Run(c.r.Name(), func(t *testing.T) {
			t.Parallel()
			name := c.r.Name()
			w := newWorld(t, "coder:"+name+":/ws", "tester:codex:/cx")
			w.procs.start(10, name, "/ws")
			fire := func(event string, active bool) string {
				t.Helper()
				h, out, errs := w.hook(c.r, 10, fmt.Sprintf(c.form, event, active))
				if code := h.Run(context.Background(), []string{event}[:min(1, strings.Count(c.form, "hookName"))]); code != 0 || errs.Len() > 0 {
					t.Errorf("%s: exit %d, %s", event, code, errs)
				}
				if strings.HasPrefix(out.String(), `{"watch":`) {
					return "" // what to watch is no word to the model
				}
				return out.String()
			}
			start := fire(c.start, false)
			turn := fire(c.turn, false)
			for at, said := range map[string]string{"start": start, "turn": turn} {
				if strings.Contains(said, "you are coder") != (at == c.greets) {
					t.Errorf("%s: %q", at, said)
				}
			}
			is(t, w, name+":s1", "coder")
			if p := w.presence("coder"); p.State != presence.Busy || p.Runtime != name || p.PID != 10 {
				t.Errorf("%+v", p)
			}
			for _, quiet := range []string{c.turn, c.middle, c.stop} {
				if said := fire(quiet, c.active && quiet == c.stop); said != "" {
					t.Errorf("%s without mail: %q", quiet, said)
				}
			}
			id := w.mail("tester", "coder", mail.Request)
			if said := fire(c.middle, false); !strings.Contains(said, "request from tester") || !strings.Contains(said, id.Short()) {
				t.Errorf("in the middle: %q", said)
			}
			if s := w.state("coder", id); s != mailbox.Surfaced {
				t.Errorf("%s", s)
			}
			if said := fire(c.stop, c.active); !strings.Contains(said, "before you stop") {
				t.Errorf("at stop: %q", said)
			}
			for range 10 {
				fire(c.stop, true)
			}
			if said := fire(c.stop, true); said != "" {
				t.Errorf("it never stops: %q", said)
			}
			fire(c.over, false)
			if p := w.presence("coder"); p.State != presence.Ended {
				t.Errorf("%+v", p)
			}
			w.quiet()
		})
	}
}

// In a headless worker hooks say nothing: its keeper announces its mail.
func TestSilentInAWorker(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "coder:gemini:/ws", "tester:codex:/cx")
	w.procs.start(10, "gemini", "/ws")
	w.mail("tester", "coder", mail.Request)
	fire := func() string {
		t.Helper()
		h, out, errs := w.hook(Gemini{}, 10, `{"hook_event_name":"BeforeAgent","session_id":"s1","cwd":"/ws","prompt":"go"}`)
		if code := h.Run(context.Background(), nil); code != 0 || errs.Len() > 0 {
			t.Errorf("exit %d, %s", code, errs)
		}
		return out.String()
	}
	w.env["POSTROOM_WORKER"] = "acp"
	if said := fire(); said != "" {
		t.Errorf("%q", said)
	}
	delete(w.env, "POSTROOM_WORKER")
	if said := fire(); !strings.Contains(said, "1 ") {
		t.Errorf("elsewhere it is told: %q", said)
	}
}
