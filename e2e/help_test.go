//go:build e2e && linux

package e2e

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

func itoa(n int) string { return strconv.Itoa(n) }

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// clipped is the beginning of a long text.
func clipped(s string) string {
	if len(s) > 2000 {
		return s[:2000] + "…\n"
	}
	return s
}

func clip(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		if out[i] = a; len(a) > 60 {
			out[i] = a[:60] + "…"
		}
	}
	return out
}

// until waits for something that happens soon, and fails if it does not.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never came: %s", what)
		}
	}
}

// names lists what a directory holds, without what starts with a dot.
func names(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), ".") {
			out = append(out, e.Name())
		}
	}
	return out
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}
