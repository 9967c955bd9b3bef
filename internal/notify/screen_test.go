package notify

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// loadScreen reads a recorded screen: the cursor and whether the pane is in
// copy mode, then what tmux capture-pane -e printed.
func loadScreen(t *testing.T, file string) screen {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, text, _ := strings.Cut(string(data), "\n")
	var x, y, mode int
	if _, err := fmt.Sscan(head, &x, &y, &mode); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return parseScreen(text, x, y)
}

const recordedNudge = "Postroom: run `/opt/bin/post inbox --as coder --office /home/ann/repo/.postroom/some/quite/long/path/indeed/here/x` to see your new mail"

// Screens of the real programs: only an empty prompt is one.
func TestRecordedScreens(t *testing.T) {
	t.Parallel()
	want := map[string]struct {
		look  glance
		draft string
	}{
		"claude-empty":             {empty, ""},
		"claude-after-turn":        {empty, ""},
		"claude-after-esc":         {empty, ""},
		"claude-after-ctrl-c":      {empty, ""},
		"claude-busy":              {working, ""},
		"claude-dialog":            {strange, ""},
		"claude-trust":             {strange, ""},
		"claude-shell-mode":        {strange, ""},
		"claude-slash-menu":        {typed, "/"},
		"claude-draft":             {typed, "half a draft"},
		"claude-draft-long":        {typed, "half draft here"},
		"claude-draft-two-lines":   {typed, "line one line two"},
		"claude-draft-cursor-home": {typed, "line one line two"},
		"claude-nudge-typed":       {typed, recordedNudge},
		"codex-empty":              {empty, ""},
		"codex-fresh":              {empty, ""},
		"codex-after-esc":          {empty, ""},
		"codex-busy":               {working, ""},
		"codex-busy-draft":         {working, "half"},
		"codex-dialog":             {strange, ""},
		"codex-shell-mode":         {strange, ""},
		"codex-slash-menu":         {typed, "/"},
		"codex-draft":              {typed, "my half draft"},
		"codex-nudge-typed":        {typed, recordedNudge},
		"gemini-fresh":             {empty, ""},
		"gemini-after-turn":        {empty, ""},
		"gemini-after-esc":         {empty, ""},
		"gemini-busy":              {working, ""},
		"gemini-busy-draft":        {working, "more"},
		"gemini-dialog":            {strange, ""},
		"gemini-shell-mode":        {strange, ""},
		"gemini-slash-menu":        {typed, "/"},
		"gemini-draft":             {typed, "half a draft"},
	}
	files, err := filepath.Glob("testdata/screens/*.screen")
	if err != nil || len(files) != len(want) {
		t.Fatalf("%d recorded screens, %d expectations, %v", len(files), len(want), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".screen")
		runtime, _, _ := strings.Cut(name, "-")
		w, ok := want[name]
		if !ok {
			t.Errorf("%s: nothing is expected of it", name)
			continue
		}
		look, draft := cliScreens()[runtime].read(loadScreen(t, file))
		if look != w.look || draft != squeeze(w.draft) {
			t.Errorf("%s: %d with %q, want %d with %q", name, look, draft, w.look, w.draft)
		}
		// The other CLI's rules take no prompt for their own.
		for other, c := range cliScreens() {
			if look, _ := c.read(loadScreen(t, file)); other != runtime && (look == empty || look == typed) {
				t.Errorf("%s: %s sees a prompt of its own", name, other)
			}
		}
	}
}

// No byte of a screen makes the parser fail, and a cursor outside is strange.
func FuzzScreen(f *testing.F) {
	f.Add("\x1b[38;5;244m───\n\x1b[39m❯ \x1b[2mTry\n───\x1b[m", 2, 1)
	f.Add("\x1b]8;;http://x\x1b\\link\x1b]8;;\a\x1b[", -1, 9)
	f.Fuzz(func(t *testing.T, text string, x, y int) {
		s := parseScreen(text, x, y)
		for _, c := range cliScreens() {
			if look, draft := c.read(s); look == empty && (draft != "" || x != c.text()) {
				t.Errorf("empty with %q at %d", draft, x)
			}
		}
	})
}

func TestFaint(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]bool{
		"2": true, "1;2": true, "38;5;2": false, "38;2;2;2;2": false, "48;2;1;2;3;2": true, "": false, "0;2": true, "2;22": false, "38:5:2": false,
	} {
		if got := faintAfter(false, params); got != want {
			t.Errorf("%q: %t", params, got)
		}
	}
}
