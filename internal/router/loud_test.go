package router_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/officetest"
)

// drop writes a file into an outbox, as a program without our code would.
func (d *desk) drop(agent, name, text string) {
	d.t.Helper()
	fsys, err := d.sys.OpenFS(officetest.Dir)
	if err != nil {
		d.t.Fatal(err)
	}
	f, err := fsys.OpenFile("agents/"+agent+"/outbox/"+name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	_, err = f.Write([]byte(text))
	if err = errors.Join(err, f.Close()); err != nil {
		d.t.Fatal(err)
	}
}

// names lists a directory of an agent's mailbox, what is hidden left out.
func (d *desk) names(agent, dir string) []string {
	d.t.Helper()
	fsys, err := d.sys.OpenFS(officetest.Dir)
	if err != nil {
		d.t.Fatal(err)
	}
	all, err := fsys.ReadNames("agents/" + agent + "/" + dir)
	if err != nil {
		d.t.Fatal(err)
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
			d := newDesk(t, "coder", "researcher")
			d.drop("coder", c.file, c.text)
			d.drop("researcher", "b.json", `{"to":"coder","body":"not concerned"}`)
			d.clock.Advance(time.Minute)
			d.pass()
			if left := d.names("coder", "outbox"); len(left) != 0 {
				t.Errorf("left in the outbox: %q", left)
			}
			items, err := d.box("coder").List(true)
			if err != nil || len(items) != 2 {
				t.Fatalf("coder has %+v, %v; want the notice and researcher's mail", items, err)
			}
			for _, it := range items {
				o, err := d.box("coder").Open(it.ID)
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
