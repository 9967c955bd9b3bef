package hook_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/postroom/postroom/internal/hook"
	"github.com/postroom/postroom/internal/hook/hooktest"
)

var update = flag.Bool("update", false, "rewrite golden files")

// environments are what the real programs gave their hooks, as far as it is read.
func environments() map[string]map[string]string {
	return map[string]map[string]string{
		"claude": {"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_MESSAGING_SOCKET": "/tmp/cc-socks/7.sock",
			"AI_AGENT": "claude-code_2-1-332_harness", "CLAUDE_ENV_FILE": "/tmp/env.sh"},
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	for name, r := range hook.Runtimes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hooktest.Suite{Runtime: r, Dir: filepath.Join("testdata", name), Env: environments()[name],
				Golden: filepath.Join("testdata", name+".golden"), Update: *update}.Run(t)
		})
	}
}

// What only a session's own file tells of a Codex session.
func TestCodexRollout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file    string
		oneShot bool
		parent  string
		sub     bool
	}{
		{"exec", true, "", false},
		{"cli", false, "", false},
		{"fork", false, "01a22d2a-c2ab-77a2-8293-9a1d256ed39b", false},
		{"subagent", false, "", true},
		{"torn", false, "", false},
		{"missing", false, "", false},
	} {
		path, err := filepath.Abs(filepath.Join("testdata", "rollout", c.file+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		ev, err := hook.Codex{}.Read(hook.Input{Getenv: os.Getenv,
			Stdin: []byte(`{"session_id":"t","hook_event_name":"SessionStart","source":"startup","cwd":"/r","transcript_path":"` + path + `"}`)})
		if err != nil || ev.OneShot != c.oneShot || ev.Parent != c.parent || (ev.AgentID != "") != c.sub {
			t.Errorf("%s: %+v %v", c.file, ev, err)
		}
	}
}

func TestClaudeOneShot(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]bool{"cli": false, "sdk-cli": true, "sdk-ts": true, "": false} {
		ev, err := hook.Claude{}.Read(hook.Input{Stdin: []byte(`{"session_id":"s","hook_event_name":"SessionStart"}`),
			Getenv: func(k string) string { return map[string]string{"CLAUDE_CODE_ENTRYPOINT": entry}[k] }})
		if err != nil || ev.OneShot != want {
			t.Errorf("%q: %+v %v", entry, ev, err)
		}
	}
}

func FuzzPayload(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, r := range hook.Runtimes() {
			for _, arg := range []string{"", "agentStop"} {
				ev, err := r.Read(hook.Input{Stdin: data, Args: []string{arg}, Getenv: func(string) string { return "" }})
				if err != nil {
					continue
				}
				if ev.SessionID == "" || ev.Kind == "" {
					t.Errorf("%s: %q gives %+v", name, data, ev)
				}
				if out := r.Write(ev, hook.Answer{}); len(out.Stdout)+len(out.Stderr)+out.Exit != 0 {
					t.Errorf("%s: %q is answered with %+v", name, data, out)
				}
			}
		}
	})
}
