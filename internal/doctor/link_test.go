package doctor_test

import (
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/doctor"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/station"
)

func linkFindings(w *ward) (list []doctor.Finding) {
	for _, f := range w.doctor().Examine(w.T.Context()) {
		if f.Check == "link" {
			list = append(list, f)
		}
	}
	return list
}

// A far agent's mailbox is the link's: what waits there is no unread mail, and
// told only when it waits too long, with the reason.
func TestLink(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	if list := linkFindings(w); len(list) > 0 {
		t.Fatalf("not linked: %+v", list)
	}
	if err := officetest.LinkFar(w.Office(), "us", "lab", "bob"); err != nil {
		t.Fatal(err)
	}
	if list := linkFindings(w); len(list) != 1 || list[0].Severity != doctor.Note || !strings.Contains(list[0].Fix, "post serve") {
		t.Fatalf("nobody serves: %+v", list)
	}
	w.Mail("coder", "bob@lab", mail.Request, "Far", "Please.")
	w.Pass()
	now := w.Sys.Now()
	if list := linkFindings(w); len(wrong(list)) > 0 {
		t.Fatalf("it was only just sent: %+v", list)
	}
	w.Sys.Now = func() time.Time { return now.Add(3 * time.Hour) }
	for _, f := range wrong(w.doctor().Examine(t.Context())) {
		if f.Where == "bob@lab" && f.Check != "overdue" {
			t.Errorf("of a far agent: %+v", f)
		}
	}
	w.host.Started = func(pid int) (string, bool) { return "7", pid == 777 }
	up := station.Status{PID: 777, Start: "7", Up: true, Since: now, Peers: []station.Peer{{Station: "lab", Heard: now.Add(time.Hour)}}}
	down, gone, strange, troubled := up, up, up, up
	down.Up, down.Why = false, "no route to host"
	gone.PID = 778
	strange.Peers = nil
	troubled.Peers = []station.Peer{{Station: "lab", Heard: now, Trouble: "it offers another key"}}
	troubled.Alarms = []station.Alarm{{At: now, Station: "lab", Text: "a forged envelope"}, {At: now.AddDate(0, 0, -9), Text: "long ago"}}
	if err := w.Office().FS.Mkdir(station.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		s    *station.Status
		want []string
	}{
		"up":       {&up, []string{"1 message for station lab has not arrived there", "lab does not answer"}},
		"down":     {&down, []string{"the link has been down since", "no route to host"}},
		"gone":     {&gone, []string{"no postd serves this office", "post serve"}},
		"strange":  {&strange, []string{"nobody on the link is called lab"}},
		"troubled": {&troubled, []string{"nothing goes to station lab: it offers another key", "a forged envelope"}},
	} {
		if err := station.Write(w.Office().FS, *c.s); err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, f := range wrong(linkFindings(w)) {
			text += f.What + "; " + f.Why + "; " + f.Fix + "\n"
		}
		for _, part := range c.want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is not in\n%s", name, part, text)
			}
		}
		if strings.Contains(text, "long ago") {
			t.Errorf("%s: an old alarm is told:\n%s", name, text)
		}
	}
}

// The link's secrets are for their owner alone.
func TestLinkPermissions(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	o := w.Office()
	if err := o.FS.Mkdir(station.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := station.Write(o.FS, station.Status{}); err != nil {
		t.Fatal(err)
	}
	c, ok := o.FS.(interface {
		Chmod(string, fs.FileMode) error
	})
	if !ok {
		t.Skip("no permission bits here")
	}
	if err := c.Chmod(station.Dir+"/status.json", 0o644); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range w.doctor().Examine(t.Context()) {
		found = found || f.Check == "permissions" && f.Mends
	}
	if !found {
		t.Fatal("nothing is said of a file in link/ that everybody can read")
	}
}
