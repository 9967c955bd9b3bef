package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/postroom/postroom/internal/mail"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args string // fields
		rest []string
		flag string // of -m
		list string // of --to
		err  string
	}{
		{args: "a -m x b", rest: []string{"a", "b"}, flag: "x"},
		{args: "-m=x a", rest: []string{"a"}, flag: "x"},
		{args: "--m=a=b", flag: "a=b"},
		{args: "-m -- a", rest: []string{"a"}, flag: "--"},
		{args: "-- -m a", rest: []string{"-m", "a"}},
		{args: "a -- --to b", rest: []string{"a", "--to", "b"}},
		{args: "--to a b --to=c", rest: []string{"b"}, list: "a c"},
		{args: "- a", rest: []string{"-", "a"}},
		{args: "-b a", rest: []string{"a"}},
		{args: "-b=false a", rest: []string{"a"}},
		{args: "-m", err: "-m wants a value"},
		{args: "-m a -m b", err: "-m is given twice"},
		{args: "--tp a", err: "unknown flag --tp; did you mean --to?"},
		{args: "--n x", err: "-n cannot be x: it is no whole number; see"},
		{args: "-d 5", err: "-d cannot be 5: it is no length of time; write one such as 90s, 10m or 2h"},
		{args: "-m -b", err: "-m wants a value, and -b is a flag; if that is the value, write -m=-b"},
		{args: "-m=-b", flag: "-b"},
		{args: "-m --tp", flag: "--tp"},
		{args: "--to --m --to -b", list: "--m -b"},
		{args: "-n x", err: "-n cannot be x"},
		{args: "-b=x", err: "takes no value"},
	} {
		fs := newFlagSet("t")
		m := fs.String("m", "", "")
		fs.Bool("b", false, "")
		fs.Int("n", 0, "")
		fs.Duration("d", 0, "")
		var list List
		fs.Var(&list, "to", "")
		p := parser{fs: fs, cmd: "t"}
		rest, err := p.parse(strings.Fields(c.args))
		if c.err != "" {
			if mail.KindOf(err) != mail.KindUsage || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %s", c.args, err, c.err)
			}
			continue
		}
		if err != nil || !slices.Equal(rest, c.rest) || *m != c.flag || list.String() != c.list {
			t.Errorf("%s: rest %q, -m %q, --to %q, %v", c.args, rest, *m, list.String(), err)
		}
	}
}

func TestFailedLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{&mail.Error{Op: "send", Kind: mail.KindUnknown, Addr: "codr", Hint: "did you mean coder?"},
			"FAILED(unknown agent): codr. Did you mean coder?"},
		{&mail.Error{Op: "store", Kind: mail.KindStore, Err: errors.New("no space left on device"), Hint: "free some"},
			"FAILED(store): no space left on device. Free some."},
		{&mail.Error{Op: "send", Kind: mail.KindUnknown, Addr: "coder", Err: errors.New("zed is nobody in this office")},
			"FAILED(unknown agent): zed is nobody in this office."},
		{errors.New("odd"), "FAILED(store): odd."},
	} {
		if got := FailedLine(c.err); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestExit(t *testing.T) {
	t.Parallel()
	if Said(0) != nil || exitOf(Said(3)) != 3 || exitOf(nil) != 0 || exitOf(&mail.Error{Kind: mail.KindTimeout}) != 6 {
		t.Error("wrong exit code")
	}
}

func TestParseNotify(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags []string
		want  []string
		bad   bool
	}{
		{nil, nil, false},
		{[]string{"none"}, []string{"none"}, false},
		{[]string{"tmux:a:0.1"}, []string{"tmux", "a:0.1"}, false},
		{[]string{"exec:/bin/x", ":a b", ":"}, []string{"exec", "/bin/x", "a b", ""}, false},
		{[]string{"exec"}, nil, true},
		{[]string{"a b"}, nil, true},
		{[]string{":x"}, nil, true},
		{[]string{"tmux", "y"}, nil, true},
	} {
		got, err := parseNotify(c.flags)
		if (err != nil) != c.bad || err == nil && !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v", c.flags, got, err)
		}
	}
}

func TestNameFrom(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"My Project": "my-project", "Übung": "bung", "...": "coder", "human": "coder", "a": "a",
		strings.Repeat("x", 99): strings.Repeat("x", 32), "nul": "coder", "/": "coder", "a--": "a",
	} {
		if got := nameFrom(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestOutputNeutralises(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	o := newOutput(&b)
	o.Table([]string{"A", "B"}, [][]string{{"x\x1b[2J", "y\nz"}})
	o.Object(struct{}{})
	o.Object(struct {
		S string `json:"s"`
	}{"t"})
	if err := o.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); strings.ContainsRune(got, '\x1b') || strings.Count(got, "\n") != 4 ||
		!strings.Contains(got, "{\"v\":1}\n{\"v\":1,\"s\":\"t\"}\n") {
		t.Errorf("%q", got)
	}
}

type failing struct{ after int }

func (f *failing) Write(p []byte) (int, error) {
	if f.after--; f.after < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

func TestOutputKeepsTheFirstError(t *testing.T) {
	t.Parallel()
	o := newOutput(&failing{1})
	o.Printf("%s", strings.Repeat("x", 200<<10))
	o.Printf("y")
	if err := o.Flush(); mail.KindOf(err) != mail.KindStore || exitOf(err) != mail.ExitStore {
		t.Errorf("%v", err)
	}
}

func TestTableFitsTheTerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		width   int
		subject string
		want    string
	}{
		{0, strings.Repeat("x", 90), strings.Repeat("x", 90)},
		{30, strings.Repeat("x", 26), strings.Repeat("x", 26)},
		{30, strings.Repeat("x", 27), strings.Repeat("x", 25) + "…"},
		{30, strings.Repeat("漢", 14), strings.Repeat("漢", 12) + "…"},
		{5, strings.Repeat("x", 27), strings.Repeat("x", leastSubject-1) + "…"},
	} {
		var b strings.Builder
		o := newOutput(&b)
		o.width = c.width
		o.Table([]string{"ID", "SUBJECT"}, [][]string{{"1", c.subject}})
		o.Flush()
		if want := "ID  SUBJECT\n1   " + c.want + "\n"; b.String() != want {
			t.Errorf("width %d: %q, want %q", c.width, b.String(), want)
		}
	}
	for width, want := range map[int]string{0: "/a/long/path/that/is/kept", 24: "…g/path/that/is/kept", 10: ""} {
		var b strings.Builder
		o := newOutput(&b)
		o.width = width
		o.Table([]string{"ID", "WORKSPACE"}, [][]string{{"1", "/a/long/path/that/is/kept"}})
		o.Flush()
		if _, row, _ := strings.Cut(b.String(), "\n"); row != strings.TrimRight("1   "+want, " ")+"\n" {
			t.Errorf("width %d: %q", width, row)
		}
	}
}
