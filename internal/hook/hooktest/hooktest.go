// Package hooktest is the contract that every runtime of package hook keeps,
// and the golden record of what it makes of the payloads that the real programs
// sent.
package hooktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/postroom/postroom/internal/hook"
)

// Suite is a runtime under test.
type Suite struct {
	Runtime hook.Runtime
	// Dir holds NAME.json, each a payload as the runtime wrote it, paths
	// scrubbed. Its arguments, if the runtime has any, are what stands before "@"
	// in the name.
	Dir    string
	Env    map[string]string
	Golden string // the file that records events and outputs
	Update bool
}

// hostile is text that may break out of JSON, tags or lines, were it not
// encoded.
const hostile = "a \"quote\" \\ </system-reminder>\n\x1b[31m\u2028 <b>&amp; \xff end"

// Run checks the contract and the golden record.
func (s Suite) Run(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.Dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no payloads in %s: %v", s.Dir, err)
	}
	slices.Sort(files)
	var record bytes.Buffer
	kinds := map[hook.Kind]bool{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(f), ".json")
		ev, err := s.Runtime.Read(s.input(name, data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		kinds[ev.Kind] = true
		if ev.Kind == hook.Other {
			t.Logf("%s: nothing of ours", name)
		}
		fmt.Fprintf(&record, "== %s\n%+v\n", name, ev)
		s.answers(t, name, ev, &record)
		s.damage(t, name, data)
	}
	for _, k := range []hook.Kind{hook.SessionStart, hook.TurnStart, hook.MidTurn, hook.Stop} {
		if !kinds[k] {
			t.Errorf("no payload of a %s", k)
		}
	}
	s.compare(t, record.Bytes())
	s.refuses(t)
}

func (s Suite) input(name string, data []byte) hook.Input {
	in := hook.Input{Stdin: data, Getenv: func(k string) string { return s.Env[k] }}
	if arg, _, ok := strings.Cut(name, "@"); ok {
		in.Args = []string{arg}
	}
	return in
}

// answers checks what becomes of each kind of answer.
func (s Suite) answers(t *testing.T, name string, ev hook.Event, record *bytes.Buffer) {
	t.Helper()
	if out := s.Runtime.Write(ev, hook.Answer{}); len(out.Stdout)+len(out.Stderr) != 0 || out.Exit != 0 {
		t.Errorf("%s: silence is %+v", name, out)
	}
	for _, a := range []hook.Answer{
		{Context: "CONTEXT", Watch: []string{"/inbox"}, Env: map[string]string{"POSTROOM_SESSION": "x"}},
		{Block: true, Reason: "REASON"},
		{Wake: "WAKE"},
	} {
		out := s.Runtime.Write(ev, a)
		fmt.Fprintf(record, "%s%s", out.Stdout, out.Stderr)
		if out.Exit != 0 {
			fmt.Fprintf(record, "exit %d\n", out.Exit)
		}
		s.placed(t, name, ev, a, out)
	}
	s.encoded(t, name, ev)
}

// placed: context goes where a turn begins or runs, a block only to a stop, and
// only a wake may end in another exit code than 0.
func (s Suite) placed(t *testing.T, name string, ev hook.Event, a hook.Answer, out hook.Output) {
	t.Helper()
	all := string(out.Stdout) + string(out.Stderr)
	context := slices.Contains([]hook.Kind{hook.SessionStart, hook.TurnStart, hook.MidTurn}, ev.Kind)
	switch {
	case strings.Contains(all, "CONTEXT") && !context:
		t.Errorf("%s: context has no place in a %s", name, ev.Kind)
	case a.Context != "" && (ev.Kind == hook.TurnStart || ev.Kind == hook.MidTurn) && !strings.Contains(all, "CONTEXT"):
		t.Errorf("%s: the context is lost", name)
	case strings.Contains(all, "REASON") != (a.Block && ev.Kind == hook.Stop):
		t.Errorf("%s: a block in a %s: %q", name, ev.Kind, all)
	case strings.Contains(all, "WAKE") && ev.Kind != hook.FileChanged:
		t.Errorf("%s: a wake in a %s", name, ev.Kind)
	case out.Exit != 0 && !strings.Contains(string(out.Stderr), "WAKE"):
		t.Errorf("%s: exit %d", name, out.Exit)
	case len(out.Stdout) > 0 && !json.Valid(out.Stdout):
		t.Errorf("%s: no JSON: %q", name, out.Stdout)
	case bytes.Count(out.Stdout, []byte("\n")) > 1:
		t.Errorf("%s: more than one line: %q", name, out.Stdout)
	}
}

// encoded: whatever a text holds, it stays one string.
func (s Suite) encoded(t *testing.T, name string, ev hook.Event) {
	t.Helper()
	for _, a := range []hook.Answer{{Context: hostile}, {Block: true, Reason: hostile}} {
		out := s.Runtime.Write(ev, a).Stdout
		if len(out) == 0 {
			continue
		}
		if !json.Valid(out) || !utf8.Valid(out) || bytes.ContainsAny(out[:len(out)-1], "\n\x1b") || bytes.Contains(out, []byte("</")) {
			t.Errorf("%s: %q", name, out)
		}
	}
}

// damage: a payload that is cut off, or of other types, is an error and no
// panic.
func (s Suite) damage(t *testing.T, name string, data []byte) {
	t.Helper()
	data = bytes.TrimSpace(data)
	for n := 0; n < len(data); n += 1 + len(data)/64 {
		if _, err := s.Runtime.Read(s.input(name, data[:n])); err == nil {
			t.Errorf("%s: %d of %d bytes are accepted", name, n, len(data))
		}
	}
}

func (s Suite) refuses(t *testing.T) {
	t.Helper()
	for _, text := range []string{"", "null", "[]", "{}", "7", `{"hook_event_name":"Stop"}`, `{"hook_event_name":"Stop","session_id":"a b"}`,
		`{"hook_event_name":"Stop","session_id":"x'; rm -rf /"}`, `{"hook_event_name":"Stop","session_id":"a\nb"}`,
		`{"hook_event_name":7,"session_id":"x"}`, `{"event":"stop","session":"a b"}`, `{"sessionId":"$(x)"}`} {
		for _, arg := range []string{"", "agentStop"} {
			if ev, err := s.Runtime.Read(hook.Input{Stdin: []byte(text), Args: []string{arg}, Getenv: func(string) string { return "" }}); err == nil {
				t.Errorf("%q is accepted: %+v", text, ev)
			}
		}
	}
}

func (s Suite) compare(t *testing.T, got []byte) {
	t.Helper()
	if s.Update {
		if err := os.WriteFile(s.Golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(s.Golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; go test ./internal/hook -update, then read the diff. Got:\n%s", s.Golden, got)
	}
}
