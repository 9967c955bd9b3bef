package install

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A shell reads back what was written, and so do we.
func TestQuote(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell here")
	}
	for _, path := range []string{"/usr/bin/post", "/Users/Ann Lee/bin/post", "/o'brien/post", `/a"b/post`, "/a$b/`c`/post", "/é;&|/post", `/back\slash/post`} {
		command := Quote(path) + " hook claude"
		out, err := exec.Command(sh, "-c", `printf '%s\n' `+command).Output()
		if want := path + "\nhook\nclaude\n"; err != nil || string(out) != want {
			t.Errorf("%s: the shell reads %q, %v", command, out, err)
		}
		if post, ok := ourHook(command, "claude"); !ok || post != path {
			t.Errorf("%s: %q %v", command, post, ok)
		}
	}
}

func TestSplitWords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringN(0, 8, -1), 0, 4).Draw(t, "words")
		var quoted []string
		for i, w := range words {
			w = strings.ReplaceAll(w, "\n", "")
			words[i] = w
			quoted = append(quoted, Quote(w))
		}
		got, ok := splitWords(strings.Join(quoted, "  "))
		if !ok || !slices.Equal(got, words) && len(words) > 0 {
			t.Fatalf("%q: %q %v", quoted, got, ok)
		}
	})
	for _, line := range []string{"timeout 5 post hook claude", "post hook codex", "echo post hook claude", "post hook claude; rm x", "post hook 'claude", "post", "/x/postman hook claude"} {
		if _, ok := ourHook(line, "claude"); ok {
			t.Errorf("%s is taken for ours", line)
		}
	}
}
