package identity

import "testing"

func TestHolder(t *testing.T) {
	t.Parallel()
	if _, ok := CurrentHolder(env(""), parents("bash")); ok {
		t.Error("a person's shell holds nothing")
	}
	if _, ok := CurrentHolder(env("QWEN_CODE=1"), parents("node /usr/bin/qwen")); ok {
		t.Error("a session without an id cannot be told apart")
	}
	claude, ok := CurrentHolder(env("CLAUDE_CODE_SESSION_ID=s"), parents("bash", "claude"))
	if !ok || claude.Key != "claude:s" || claude.PID != 99 {
		t.Errorf("%+v", claude)
	}
	codex, ok := CurrentHolder(env("CODEX_THREAD_ID=t"), parents("bash", "codex app-server"))
	if !ok || codex.PID != 0 {
		t.Errorf("%+v", codex)
	}
	tree := chain{above: []Process{{Name: "a", Start: "1"}, {Name: "b", Start: "2"}}} // pids 100, 99
	for _, c := range []struct {
		name   string
		h, now Holder
		blocks bool
	}{
		{"nobody", Holder{}, Holder{Key: "k"}, false},
		{"itself", Holder{"k", 100, "1"}, Holder{"k", 99, "2"}, false},
		{"another that lives", Holder{"k", 100, "1"}, Holder{"l", 99, "2"}, true},
		{"another that is dead", Holder{"k", 55, "1"}, Holder{"l", 99, "2"}, false},
		{"another whose pid was used again", Holder{"k", 100, "0"}, Holder{"l", 99, "2"}, false},
		{"the same process under another id", Holder{"k", 100, "1"}, Holder{"l", 100, "1"}, false},
		{"not known", Holder{"k", 0, ""}, Holder{"l", 99, "2"}, false},
	} {
		if got := ParseHolder(c.h.Text()).Blocks(c.now, tree); got != c.blocks {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if ParseHolder("") != (Holder{}) || ParseHolder("x y z") != (Holder{}) {
		t.Error("what cannot be read blocks nobody")
	}
}
