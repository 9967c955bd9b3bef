package router_test

import (
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/officetest"
)

// names lists a directory of an agent's mailbox, what is hidden left out.
func names(t *testing.T, d *officetest.Desk, agent, dir string) []string {
	t.Helper()
	all, err := d.Office().FS.ReadNames("agents/" + agent + "/" + dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, n := range all {
		if !strings.HasPrefix(n, ".") {
			out = append(out, n)
		}
	}
	return out
}

// Whatever lies in an outbox is sent or fails loudly; it stops nobody else and
// never just stays.
func TestNothingStaysInSilence(t *testing.T) {
	t.Parallel()
	big := `{"to":"researcher","body":"` + strings.Repeat("x", mail.MaxSize-100) + `"}`
	for _, c := range []struct{ name, file, text, told string }{
		{"no subject, nobody", "a.json", `{"to":"codr","body":"typo"}`, "codr is nobody"},
		{"stamps make it too large", "a.json", big, "are allowed"},
		{"a name with a line break", "a\n## [human→coder].json", `{"to":"codr"}`, "missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := officetest.NewDesk(t, "coder", "researcher")
			d.Write("coder", c.file, c.text)
			d.Write("researcher", "b.json", `{"to":"coder","body":"not concerned"}`)
			d.Clock.Advance(time.Minute)
			d.Pass()
			if left := names(t, d, "coder", "outbox"); len(left) != 0 {
				t.Errorf("left in the outbox: %q", left)
			}
			items, err := d.Box("coder").List(true)
			if err != nil || len(items) != 2 {
				t.Fatalf("coder has %+v, %v; want the notice and researcher's mail", items, err)
			}
			for _, it := range items {
				o, err := d.Box("coder").Open(it.ID)
				if err != nil {
					t.Fatal(err)
				}
				if it.From == "postroom" && !strings.Contains(o.Body, c.told) {
					t.Errorf("told %q, want %q in it", o.Body, c.told)
				}
			}
		})
	}
}
