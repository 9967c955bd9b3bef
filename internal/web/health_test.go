package web

import (
	"context"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/doctor"
	"github.com/postroom/postroom/internal/mail"
)

func TestHealthOf(t *testing.T) {
	t.Parallel()
	v := healthOf(&finding{At: noon, Took: 1234 * time.Millisecond, Findings: []doctor.Finding{
		{Check: "note", Severity: doctor.Note, What: "a note", Fix: "post approvals"},
		{Check: "disk", Severity: doctor.Note, What: "the office takes 3 MB"},
		{Check: "mailbox", Severity: doctor.Error, What: "mailbox of ann is gone", Where: "/o/agents/ann", Fix: doctor.FixCommand, Mends: true},
		{Check: "lease", Severity: doctor.Error, What: "/o/lease is not a file", Where: "/o/lease", Fix: "remove it, then run post route"},
	}, Disk: diskUse{Bytes: 300, Parts: []diskPart{{Name: "journal", Bytes: 200}, {Name: "messages", Bytes: 100}}}}, " --office /o")
	if len(v.Groups) != 2 || v.Groups[0].Tone != "bad" || len(v.Groups[0].List) != 2 || len(v.Groups[1].List) != 1 {
		t.Fatalf("%+v", v.Groups)
	}
	if v.Mendable != 1 || v.Fix != "post doctor --fix --office /o" || v.Took != "1.23s" {
		t.Errorf("%+v", v)
	}
	box, lease, note := v.Groups[0].List[0], v.Groups[0].List[1], v.Groups[1].List[0]
	if box.Where != "/o/agents/ann" || !box.Mends || lease.Where != "" || lease.Command != "" || lease.Advice == "" || note.Command != "post approvals --office /o" {
		t.Errorf("%+v\n%+v\n%+v", box, lease, note)
	}
	if v.Disk[0].Share != 66 || v.Disk[1].Share != 33 {
		t.Errorf("%+v", v.Disk)
	}
	if v := healthOf(nil, ""); v.Looked {
		t.Error("nobody has looked yet")
	}
}

func TestCommandIn(t *testing.T) {
	t.Parallel()
	for fix, want := range map[string]string{
		"post doctor --fix":                              "post doctor --fix -o",
		"post agent set ann --notify KIND:ARG":           "post agent set ann --notify KIND:ARG -o",
		"post answer ap-1 --choose deliver, or stop":     "",
		"post renotify ID, or in its session post reply": "",
		"run post route":                                 "",
		"post trace ID shows whose; install one version": "",
		"post route and then post doctor":                "",
		"":                                               "",
	} {
		if got := commandIn(fix, " -o"); got != want {
			t.Errorf("%q: %q", fix, got)
		}
	}
}

func TestSizeWords(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 KiB", 1: "1 KiB", 1 << 10: "1 KiB", 1<<20 - 1: "1024 KiB", 3 << 19: "1.5 MiB", 12 << 20: "12 MiB", 5 << 29: "2.5 GiB"} {
		if got := sizeWords(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// A file with several names counts once, as far as all of them are looked at.
func TestDiskOf(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann", "bob")
	before := diskOf(context.Background(), p.Office())
	id := p.Mail("ann", "bob", mail.Inform, "Long", strings.Repeat("word ", 40_000))
	names := 0
	for _, path := range []string{p.Path("messages", id.Time().Format("2006-01"), string(id)+".json"), p.Path("agents", "bob", "inbox", string(id)+".json"),
		p.Path("agents", "ann", "outbox", ".sent", string(id)+".json")} {
		if _, err := os.Stat(path); err == nil {
			names++
		}
	}
	after := diskOf(context.Background(), p.Office())
	grown := after.Bytes - before.Bytes
	if names < 2 || grown < 2*200_000 || grown > 3*200_000 { // the message once, and its section in a transcript
		t.Errorf("with a message of 200 KB under %d names it grew by %d", names, grown)
	}
	if after.Files <= before.Files || len(after.Parts) == 0 || after.Parts[0].Bytes < after.Parts[len(after.Parts)-1].Bytes {
		t.Errorf("%+v", after)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	walk(ctx, p.Office().FS, ".", func(fs.FileInfo) { t.Error("it walks on") })
}

// The page never waits for the doctor: he looks in the background, tells the
// browsers, and looks again when asked.
func TestHealthPage(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann", "bob")
	t.Cleanup(p.site.Close)
	p.Mail("ann", "bob", mail.Request, "Look", "…")
	if page := p.ok("/health"); !strings.Contains(page, "The doctor is looking") && !strings.Contains(page, "The doctor looked") {
		t.Error(page)
	}
	wait := func() string {
		t.Helper()
		c := &p.site.behind.checkup
		c.mu.Lock()
		done := c.done
		c.mu.Unlock()
		select {
		case <-done:
		case <-time.After(enough):
			t.Fatal("he looks for too long")
		}
		return p.ok("/health?part=found")
	}
	page := wait()
	for _, want := range []string{"The doctor looked", "On the disk", "mailboxes", "journal"} {
		if !strings.Contains(page, want) {
			t.Errorf("it lacks %q: %s", want, page)
		}
	}
	if err := os.Rename(p.Path("agents", "bob", "inbox"), p.Path("agents", "bob", "gone")); err != nil {
		t.Fatal(err)
	}
	if w := p.post("/health"); w.Code != 303 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if page := wait(); !strings.Contains(page, "Errors") || !strings.Contains(page, "bob") {
		t.Errorf("%s", page)
	}
}

func TestCheckup(t *testing.T) {
	t.Parallel()
	var c checkup
	gate, told := make(chan struct{}), make(chan struct{}, 9)
	look := func(ctx context.Context) finding {
		select {
		case <-gate:
		case <-ctx.Done():
		}
		return finding{Took: 1}
	}
	c.begin(look, func() { told <- struct{}{} })
	c.begin(func(context.Context) finding { t.Error("he looks twice at once"); return finding{} }, func() {})
	if last, running := c.get(); last != nil || !running {
		t.Error(last, running)
	}
	gate <- struct{}{}
	<-told
	if last, running := c.get(); last == nil || last.Cut || running {
		t.Errorf("%+v %v", last, running)
	}
	c.begin(look, func() {})
	c.end()
	if last, _ := c.get(); !last.Cut {
		t.Error("what was cut short does not say so")
	}
}
