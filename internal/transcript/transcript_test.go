package transcript

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

const id1 = mail.ID("2026-05-30T14-03-11-123Z-0004-a1b2c3d4")

var at1 = time.Date(2026, 5, 30, 14, 3, 11, 0, time.UTC)

func message(subject, body string) *mail.Message {
	return &mail.Message{ID: id1, Act: mail.Request, Subject: subject, Body: body}
}

func TestRender(t *testing.T) {
	t.Parallel()
	got := string(Render("researcher→coder,b", message("Review the retry loop", "Please.\n"), at1, "->"))
	want := "## [researcher->coder,b] 2026-05-30 14:03 UTC\n\n" +
		"> request · Review the retry loop · 2026-05-30T14-03-11-123Z-0004-a1b2c3d4\n\n" +
		"Please.\n\n---\n\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := string(Render("a→b", message("", ""), at1, "")); !strings.HasPrefix(got, "## [a→b] ") {
		t.Errorf("got\n%s", got)
	}
}

func TestEscape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"## [a→b] x":            `\## [a→b] x`,
		"x\n## [a":              "x\n\\## [a",
		"x\r## [a":              "x\r\\## [a",
		"x\v## [a\f## [b":       "x\v\\## [a\f\\## [b",
		"x\u0085## [a":          "x\u0085\\## [a",
		"x\u2028## [\u2029## [": "x\u2028\\## [\u2029\\## [",
		"x\x1c## [":             "x\x1c\\## [",
		"   ## [a":              `   \## [a`,
		"\t\u00a0##\t [a":       "\t\u00a0\\##\t [a",
		"> > ## [a":             `> > \## [a`,
		`\## [a`:                `\\## [a`,
		`\\\## [a`:              `\\\\## [a`,
		"##[a":                  `\##[a`,
		"### [a":                "### [a",
		"# [a":                  "# [a",
		"see ## [a":             "see ## [a",
		"## a [":                "## a [",
		"---":                   "---",
		"":                      "",
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
		if got := Unescape(want); got != in {
			t.Errorf("Unescape(%q) = %q, want %q", want, got, in)
		}
	}
}

func collect(t *testing.T, text string) []Section {
	t.Helper()
	var all []Section
	for s, err := range Parse(strings.NewReader(text)) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func TestParse(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200<<10)
	bodies := []string{"", "one", "\n\n  two\n\n---\n\n", "---", "\n---", "> inform · x · y", "## [x→y] 2026-05-30 14:03 UTC\n\n> a", long + "## [", "---\n\n## [", "tail\n\n---"}
	var text strings.Builder
	text.WriteString("# Mail of coder\n\nWritten by Postroom.\n\n")
	for i, b := range bodies {
		arrow := []string{Arrow, ArrowASCII}[i%2]
		text.Write(Render("a→b", message("s · "+fmt.Sprint(i)+" ·", b), at1, arrow))
	}
	all := collect(t, text.String())
	if len(all) != len(bodies) {
		t.Fatalf("%d sections, want %d", len(all), len(bodies))
	}
	for i, s := range all {
		want := Section{Header: "a→b", At: at1.Truncate(time.Minute), Act: mail.Request,
			Subject: "s · " + fmt.Sprint(i) + " ·", ID: id1, Body: Body(bodies[i]), Whole: true}
		if s != want {
			t.Errorf("section %d:\n%.300q\nwant\n%.300q", i, fmt.Sprint(s), fmt.Sprint(want))
		}
	}
}

// A file that ends anywhere gives the whole sections and at most one that is
// not, and never panics.
func TestParseTorn(t *testing.T) {
	t.Parallel()
	a := string(Render("a→b", message("one", "first"), at1, ""))
	b := string(Render("b→a", message("two", "second"), at1, ""))
	for n := range len(b) {
		all := collect(t, a+b[:n])
		if len(all) == 0 || !all[0].Whole && n >= len(mark) || len(all) > 2 || len(all) == 2 && all[1].Whole {
			t.Fatalf("cut at %d: %+v", n, all)
		}
	}
	var got error
	for _, err := range Parse(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(a)))) {
		got = err
	}
	if mail.KindOf(got) != mail.KindStore {
		t.Errorf("a read error: %v", got)
	}
}

func FuzzSections(f *testing.F) {
	f.Add("subject", "body", "two", "## [a→b] x\n---\n", "→")
	f.Add("a\n## [x", "x\r## [y\n\n---\n\n", "\u2028## [", "\\## [\n---", "->")
	f.Add(" · ", "---", "· · ·", "\n\n---\n\n", "")
	f.Fuzz(func(t *testing.T, s1, b1, s2, b2, arrow string) {
		if arrow != ArrowASCII {
			arrow = Arrow
		}
		text := string(Render("a→b,c", message(s1, b1), at1, arrow)) + string(Render("c→all", message(s2, b2), at1, arrow))
		all := collect(t, text)
		if len(all) != 2 {
			t.Fatalf("%d sections in\n%s", len(all), text)
		}
		want := func(h, s, b string) Section {
			return Section{Header: h, At: at1.Truncate(time.Minute), Act: mail.Request, Subject: line(s), ID: id1, Body: Body(b), Whole: true}
		}
		if all[0] != want("a→b,c", s1, b1) || all[1] != want("c→all", s2, b2) {
			t.Fatalf("got %+v\nof %q", all, text)
		}
		if n := strings.Count("\n"+text, "\n## ["); n != 2 {
			t.Fatalf("%d header lines in\n%s", n, text)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("## [a→b] 2026-05-30 14:03 UTC\n\n> request · x · y\n\nbody\n\n---\n\n")
	f.Add("## [\n\n> \n\n---\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		n := 0
		for _, err := range Parse(strings.NewReader(text)) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if want := strings.Count("\n"+text, "\n"+mark); n != want {
			t.Fatalf("%d sections, want %d", n, want)
		}
		if got := Unescape(Escape(text)); got != text {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

func newOffice(t *testing.T) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem(func() time.Time { return at1 })
	if err := m.Mkdir(Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	m.SyncAll()
	return m
}

const file = "_inbox_coder.md"

func read(t *testing.T, m vfs.FS) string {
	t.Helper()
	f, size, err := open(m, file, os.O_RDONLY)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := readRange(f, 0, size)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func add(t *testing.T, m vfs.FS, text string) {
	t.Helper()
	in, err := Prepare(m, file, []byte(text))
	if err == nil {
		err = errors.Join(Append(m, in, []byte(text)), Sync(m, in))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAppend(t *testing.T) {
	t.Parallel()
	m := newOffice(t)
	add(t, m, "one\n")
	in, err := Prepare(m, file, []byte("two\n"))
	if err != nil {
		t.Fatal(err)
	}
	next := in.Next([]byte("three\n"))
	steps := []error{Append(m, in, []byte("two\n")), Append(m, in, []byte("two\n")), Append(m, next, []byte("three\n")), Sync(m, in, next)}
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
	if got := read(t, m); got != "one\ntwo\nthree\n" {
		t.Errorf("got %q", got)
	}
	if fi, _ := m.Lstat(Dir + "/" + file); fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", fi.Mode())
	}
	for what, err := range map[string]error{
		"behind":    Append(m, in, []byte("two\n")),
		"too early": Append(m, intent(file, 100, []byte("x")), []byte("x")),
		"differs":   Append(m, intent(file, 8, []byte("thrEE\n")), []byte("thrEE\n")),
	} {
		if mail.KindOf(err) != mail.KindCorrupt {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := Append(m, in, []byte("tw0\n")); mail.KindOf(err) != mail.KindInvalid {
		t.Errorf("another section: %v", err)
	}
	if got := read(t, m); got != "one\ntwo\nthree\n" {
		t.Errorf("a refusal changed it: %q", got)
	}
}

func TestAppendRun(t *testing.T) {
	t.Parallel()
	m := newOffice(t)
	one, two := []byte("## [a→b] 1\n\n---\n\n"), []byte("## [a→b] 2\n\n---\n\n")
	first, err := Prepare(m, file, one)
	if err != nil {
		t.Fatal(err)
	}
	ins := []Intent{first, first.Next(two)}
	if err := AppendRun(m, ins, [][]byte{two, one}); mail.KindOf(err) != mail.KindInvalid {
		t.Fatalf("sections in another order than announced: %v", err)
	}
	if err := AppendRun(m, []Intent{first, first}, [][]byte{one, one}); mail.KindOf(err) != mail.KindInvalid {
		t.Fatalf("sections that do not follow one another: %v", err)
	}
	for range 2 { // again: it is there already
		if err := AppendRun(m, ins, [][]byte{one, two}); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, m); got != string(one)+string(two) {
		t.Fatalf("%q", got)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	m := newOffice(t)
	for name, ok := range map[string]bool{
		"_inbox_coder.md": true, "_channel_a_b.c_d-e+3-0a1b.md": true, "_inbox_coder@lab.md": true, "_inbox_coder.2026-05.md": true,
		"": false, "inbox_coder.md": false, "_inbox_coder.txt": false, "_inbox_../x.md": false, "_inbox_A.md": false,
		"../_inbox_a.md": false, "_inbox_a\n.md": false, "_inbox_" + strings.Repeat("a", 250) + ".md": false,
	} {
		if _, err := Prepare(m, name, nil); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := m.Symlink("/etc/passwd", Dir+"/"+file); err != nil {
		t.Fatal(err)
	}
	if _, err := Prepare(m, file, nil); err == nil {
		t.Error("a symlink was taken")
	}
	if err := Append(m, intent(file, 0, []byte("x")), []byte("x")); err == nil {
		t.Error("a symlink was followed")
	}
}

func TestAppendFault(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"open", "stat", "write", "read"} {
		m := newOffice(t)
		add(t, m, "one\n")
		in, _ := Prepare(m, file, []byte("two\n"))
		f := &vfs.Fault{}
		f.FailIf(func(c vfs.Call) error {
			if c.Op == op {
				return errors.New("no space left on device")
			}
			return nil
		})
		if err := Append(f.Wrap(m), in, []byte("two\n")); err == nil && op != "read" {
			t.Errorf("%s failed unnoticed", op)
		}
		if got := read(t, m); got != "one\n" && op != "read" {
			t.Errorf("%s: %q", op, got)
		}
	}
}

func TestRecover(t *testing.T) {
	t.Parallel()
	const section = "## [a→b] x\n"
	for name, test := range map[string]struct {
		there, want string
		gone        bool // the message cannot be had
		outcome     Outcome
	}{
		"whole":          {section, section, true, Complete},
		"whole and more": {section + "more", section + "more", true, Complete},
		"nothing":        {"", section, false, Completed},
		"start":          {section[:5], section, false, Completed},
		"start, gone":    {section[:5], "", true, Cut},
		"zeros":          {strings.Repeat("\x00", len(section)), "", false, Cut},
		"half zeros":     {section[:4] + "\x00\x00", "", false, Cut},
		"other and more": {strings.Repeat("\x00", len(section)) + "more", "", false, Cut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newOffice(t)
			add(t, m, "before\n")
			in, _ := Prepare(m, file, []byte(section))
			if test.there != "" {
				add(t, m, test.there)
			}
			got, err := Recover(m, in, func() ([]byte, error) {
				if test.gone {
					return nil, errors.New("gone")
				}
				return []byte(section), nil
			})
			if err != nil || got != test.outcome || read(t, m) != "before\n"+test.want {
				t.Errorf("%s %v: %q", got, err, read(t, m))
			}
			names, _ := m.ReadNames(Dir)
			if kept := len(names) > 1; kept != (name == "other and more") {
				t.Errorf("kept aside: %v", names)
			}
		})
	}
	m := newOffice(t)
	in := intent(file, 100, []byte(section))
	if got, err := Recover(m, in, nil); got != Short || err != nil {
		t.Errorf("missing file: %s %v", got, err)
	}
	add(t, m, "x")
	if got, err := Recover(m, in, nil); got != Short || err != nil || read(t, m) != "x" {
		t.Errorf("short file: %s %v", got, err)
	}
}

// Every crash while three sections go into one file, and every state it can
// leave: after recovery and what the outcomes ask for, all stand there once,
// in order, and what was there before is untouched.
func TestCrash(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"", "## [old→b] 2026-05-30 14:00 UTC\n"} {
		for n := 1; crashAt(t, before, n); n++ {
		}
	}
}

func crashAt(t *testing.T, before string, n int) (crashed bool) {
	t.Helper()
	m := newOffice(t)
	if before != "" {
		add(t, m, before)
	}
	m.SyncAll()
	sections := []string{"## [a→b] one\n", "## [b→a] two two\n", "## [c→a] three\n"}
	var ins []Intent
	for i, s := range sections {
		if i == 0 {
			in, err := Prepare(m, file, []byte(s))
			if err != nil {
				t.Fatal(err)
			}
			ins = append(ins, in)
			continue
		}
		ins = append(ins, ins[i-1].Next([]byte(s)))
	}
	f := &vfs.Fault{}
	f.CrashAfter(n)
	crashed = vfs.Crashed(func() {
		fsys := f.Wrap(m)
		for i, in := range ins {
			if err := Append(fsys, in, []byte(sections[i])); err != nil {
				t.Error(err)
			}
		}
		f, _, err := open(fsys, file, os.O_RDWR) // Sync, in this goroutine
		if err == nil {
			err = errors.Join(f.Sync(), f.Close(), fsys.SyncDir(Dir))
		}
		if err != nil {
			t.Error(err)
		}
	})
	for s := range m.CrashStates(5000) {
		recoverAll(t, s, ins, sections)
		if got, want := read(t, s), before+strings.Join(sections, ""); got != want {
			t.Fatalf("crash after %v: %q\nwant %q", f.Calls(), got, want)
		}
	}
	return crashed
}

func recoverAll(t *testing.T, m vfs.FS, ins []Intent, sections []string) {
	t.Helper()
	for i, in := range ins {
		s := []byte(sections[i])
		got, err := Recover(m, in, func() ([]byte, error) { return s, nil })
		if err == nil && (got == Cut || got == Short) {
			if in, err = Prepare(m, file, s); err == nil {
				err = Append(m, in, s)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
