package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The diff, applied, gives the new text: whatever the two are.
func TestDiffApplies(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a", "b", "c", "{", "}", ""})
		text := func(name string) string {
			s := strings.Join(rapid.SliceOfN(line, 0, 30).Draw(t, name), "\n")
			return s + rapid.SampledFrom([]string{"", "\n"}).Draw(t, name+"-end")
		}
		old, new := text("old"), text("new")
		var b strings.Builder
		for _, e := range compareLines(splitLines(old), splitLines(new)) {
			if e.op != '-' {
				b.WriteString(e.line)
			}
		}
		if b.String() != new {
			t.Fatalf("%q to %q: %q", old, new, b.String())
		}
	})
}

// patch(1) takes it.
func TestDiffIsUnified(t *testing.T) {
	t.Parallel()
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Skip("there is no patch(1) here")
	}
	for name, s := range samples(t) {
		r, err := s.Install([]byte(s.data))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(s.data, "\r") {
			continue // shown without carriage returns
		}
		file := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(file, []byte(s.data), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(patch, "-s", file)
		cmd.Stdin = strings.NewReader(strings.Join(Diff("f", []byte(s.data), r.Data), "\n") + "\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s", name, err, out)
		}
		if got, _ := os.ReadFile(file); string(got) != string(r.Data) {
			t.Errorf("%s: patched it is\n%s", name, got)
		}
	}
}
