package cli

import (
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/postroom/postroom/internal/vfs"
)

// broken makes the office's file system refuse writes as TEST_SANDBOX and
// TEST_FULL say, whoever runs the test.
func broken(e *Env) {
	open := e.System.OpenFS
	refuse := func(allow string, err error) {
		e.System.OpenFS = func(dir string) (vfs.FS, error) {
			f, oerr := open(dir)
			return refusing{f, allow, err}, oerr
		}
	}
	if box := os.Getenv("TEST_SANDBOX"); box != "" {
		refuse(box, syscall.EROFS)
	}
	if os.Getenv("TEST_FULL") != "" {
		refuse("none", syscall.ENOSPC)
	}
}

// refusing is a file system that may be written in one place only.
type refusing struct {
	vfs.FS
	allow string
	err   error
}

func (r refusing) check(op, name string) error {
	if strings.HasPrefix(name, r.allow+"/") {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: r.err}
}

func (r refusing) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	full := r.err == syscall.ENOSPC
	if flag&os.O_CREATE != 0 && full {
		if _, err := r.FS.Lstat(name); err == nil { // what exists can be opened
			return r.FS.OpenFile(name, flag, perm)
		}
	}
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		if err := r.check("open", name); err != nil {
			return nil, err
		}
	}
	return r.FS.OpenFile(name, flag, perm)
}

func (r refusing) Mkdir(name string, perm fs.FileMode) error {
	if err := r.check("mkdir", name); err != nil {
		return err
	}
	return r.FS.Mkdir(name, perm)
}

func (r refusing) Link(oldname, newname string) error {
	if err := r.check("link", newname); err != nil {
		return err
	}
	return r.FS.Link(oldname, newname)
}

func (r refusing) Move(oldname, newname string) error {
	if err := r.check("move", newname); err != nil {
		return err
	}
	return r.FS.Move(oldname, newname)
}

func (r refusing) Rename(oldname, newname string) error {
	if err := r.check("rename", newname); err != nil {
		return err
	}
	return r.FS.Rename(oldname, newname)
}

// shapes are what differs from run to run, and what stands for it.
var shapes = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z-\d{4}-[0-9a-f]{8}`), "ID"},
	{regexp.MustCompile(`ap-[0-9a-f]{10}`), "AP"},
	{regexp.MustCompile(`conv-[0-9a-f]{10}`), "CONV"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "DIGEST"},
	{regexp.MustCompile(`nonce="[0-9a-f]{16}"`), "NONCE"},
	{regexp.MustCompile(`\b[0-9a-f]{8}\b`), "SHORT"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z| UTC)?`), "TIME"},
	{regexp.MustCompile(`\b\d+[smh]\b`), "AGE"},
	{regexp.MustCompile(`"late_seconds":-?\d+`), "LATE"},
	{regexp.MustCompile(` {2,}`), "  "},
}

// shape FILE compares the last standard output with FILE, where names stand
// for ids, nonces and times; the same id has the same name.
func shape(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: shape FILE")
	}
	got := ts.ReadFile("stdout")
	for _, s := range shapes {
		seen := map[string]string{}
		got = s.pattern.ReplaceAllStringFunc(got, func(m string) string {
			if strings.TrimSpace(s.name) == "" || s.name == "TIME" || s.name == "AGE" || s.name == "LATE" {
				return s.name
			}
			if seen[m] == "" {
				seen[m] = fmt.Sprintf("%s%d", s.name, len(seen)+1)
			}
			return seen[m]
		})
	}
	if want := ts.ReadFile(args[0]); got != want {
		ts.Fatalf("got\n%s\nwant\n%s", got, want)
	}
}
