package hook

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/registry"
)

// plugin calls the hook as OpenCode's plugin does.
func (w *world) plugin(pid int, event, session, prompt string) string {
	w.t.Helper()
	h, out, errs := w.hook(OpenCode{}, pid, fmt.Sprintf(`{"event":%q,"session":%q,"cwd":"/ws","prompt":%q}`, event, session, prompt))
	if code := h.Run(context.Background(), nil); code != 0 || errs.Len() > 0 {
		w.t.Errorf("%s: exit %d, %s", event, code, errs)
	}
	return out.String()
}

// Whenever a turn ends the plugin is told what to watch, also for a session that
// joined in the middle of one; two that ask at the same time are one wake.
func TestPluginWatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "coder:opencode:/ws", "tester:codex:/cx")
	w.procs.start(10, "opencode", "/ws")
	w.plugin(10, "session.start", "ses_1", "")
	w.plugin(10, "turn.start", "ses_1", "go")
	if said := w.plugin(10, "turn.stop", "ses_1", ""); !strings.HasPrefix(said, `{"watch":["`) || !strings.Contains(said, "coder/inbox") {
		t.Errorf("%q", said)
	}
	w.mail("tester", "coder", mail.Request)
	first, second := w.plugin(10, "file.changed", "ses_1", ""), w.plugin(10, "file.changed", "ses_1", "")
	if !strings.Contains(first, `{"wake":"Postroom: 1 new message`) || second != "" {
		t.Errorf("%q, then %q", first, second)
	}
	w.desk.Clock.Advance(wakePause + time.Second) // no turn began
	if third := w.plugin(10, "file.changed", "ses_1", ""); !strings.Contains(third, "wake") {
		t.Errorf("%q", third)
	}
	w.edit("coder", func(e *registry.Entry) { e.Notify = nil })
	w.plugin(10, "turn.start", "ses_1", "go")
	said := ""
	for range 5 {
		said = w.plugin(10, "turn.stop", "ses_1", "")
	}
	if said != "" {
		t.Errorf("nothing is to wake it: %q", said)
	}
	w.quiet()
}

// Several sessions of one process: the one that was prompted last is the agent,
// and the others' tool calls and watchers do not take the name back.
func TestOlderSessionStaysOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "coder:opencode:/ws", "tester:codex:/cx")
	w.procs.start(10, "opencode", "/ws")
	for _, s := range []string{"ses_1", "ses_2"} {
		w.plugin(10, "session.start", s, "")
		w.plugin(10, "turn.start", s, "go")
	}
	w.mail("tester", "coder", mail.Request)
	for _, event := range []string{"turn.middle", "turn.stop", "file.changed", "session.end"} {
		if said := w.plugin(10, event, "ses_1", ""); said != "" {
			t.Errorf("%s: %q", event, said)
		}
	}
	if p := w.presence("coder"); p.ID != "ses_2" || p.State != presence.Busy {
		t.Errorf("%+v", p)
	}
	if said := w.plugin(10, "turn.middle", "ses_2", ""); !strings.Contains(said, "request from tester") {
		t.Errorf("%q", said)
	}
	if said := w.plugin(10, "turn.start", "ses_1", "back again"); strings.Contains(said, "no longer") || w.presence("coder").ID != "ses_1" {
		t.Errorf("%q", said)
	}
	w.quiet()
}

// Copilot's extension asks whenever its session is idle or something changed: it
// is told where the inbox is, and whether it is a wake.
func TestExtensionWatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "coder:copilot:/ws", "tester:codex:/cx")
	w.procs.start(10, "copilot", "/ws")
	w.procs.start(11, "copilot extension_bootstrap.mjs", "/ws")
	ext := w.procs.procs[11]
	ext.PPID = 10
	w.procs.procs[11] = ext
	fire := func(pid int, event string) string {
		t.Helper()
		h, out, errs := w.hook(Copilot{}, pid, `{"sessionId":"c1","cwd":"/ws","prompt":"go"}`)
		if code := h.Run(context.Background(), []string{event}); code != 0 || errs.Len() > 0 {
			t.Errorf("%s: exit %d, %s", event, code, errs)
		}
		return out.String()
	}
	fire(10, "sessionStart")
	fire(10, "userPromptSubmitted")
	if said := fire(10, "agentStop"); said != "" {
		t.Errorf("%q", said)
	}
	if said := fire(11, "fileChanged"); !strings.HasPrefix(said, `{"watch":["`) {
		t.Errorf("%q", said)
	}
	w.mail("tester", "coder", mail.Request)
	if said := fire(11, "fileChanged"); !strings.Contains(said, `"wake":"Postroom: 1 new message`) {
		t.Errorf("%q", said)
	}
	if p := w.presence("coder"); p.State != presence.Busy || p.PID != 10 || !p.SawMail() {
		t.Errorf("%+v", p)
	}
	fire(11, "interrupt")
	w.desk.Clock.Advance(time.Hour)
	if said := fire(11, "fileChanged"); strings.Contains(said, "wake") {
		t.Errorf("its person stopped it: %q", said)
	}
	w.quiet()
}
