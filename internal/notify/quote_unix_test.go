//go:build unix

package notify

import "testing"

func TestQuote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/srv/office":    "/srv/office",
		"":               "''",
		"/my office":     "'/my office'",
		"/it's":          `'/it'\''s'`,
		"/$(x)`y`":       "'/$(x)`y`'",
		"/é":             "'/é'",
		`/back\slash`:    `'/back\slash'`,
		"/-leading/~/a;": "'/-leading/~/a;'",
	} {
		if got := quote(in); got != want {
			t.Errorf("quote(%q) = %s, want %s", in, got, want)
		}
	}
}
