package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/postroom/postroom/internal/identity"
)

var update = flag.Bool("update", false, "rewrite golden files and man pages")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"post": func() { os.Exit(postForTest()) }})
}

// postForTest is the real command in a world where nothing but the script's
// own variables decides:
//
//	TEST_PARENTS  names of the processes above, the nearest first
//	TEST_TTY      a controlling terminal
//	TEST_NOW      the wall clock, RFC 3339
//	TEST_MACHINE  the machine's name
func postForTest() int {
	e := SystemEnv("0.0.0-test")
	e.Procs = fakeTree(os.Getenv("TEST_PARENTS"), os.Getenv("TEST_TTY"))
	e.Patience = 2 * time.Second
	if m := os.Getenv("TEST_MACHINE"); m != "" {
		e.System.Machine = func() string { return m }
	}
	if t, err := time.Parse(time.RFC3339, os.Getenv("TEST_NOW")); err == nil {
		e.System.Now = func() time.Time { return t }
	}
	return Main(context.Background(), e, Commands(), os.Args[1:])
}

// tree is a chain of processes: 1000 runs us, 999 runs 1000, and so on.
type tree struct {
	parents []identity.Process
	tty     string
}

func fakeTree(parents, tty string) identity.ProcessTree {
	t := tree{tty: tty}
	for _, name := range strings.Fields(parents) {
		t.parents = append(t.parents, identity.Process{Name: name, Args: []string{name}})
	}
	return t
}

func (tree) Self() int { return 1001 }

func (t tree) Process(pid int) (identity.Process, bool) {
	i := 1000 - pid
	switch {
	case i == -1:
		return identity.Process{PID: pid, PPID: 1000, Name: "post"}, true
	case i < 0 || i >= len(t.parents):
		return identity.Process{}, false
	}
	p := t.parents[i]
	p.PID, p.PPID = pid, pid-1
	return p, true
}

func (t tree) Terminal() (identity.Terminal, bool) {
	return identity.Terminal{Device: t.tty, Leader: 7, Start: "1"}, t.tty != ""
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir+"/home")
			env.Setenv("USERPROFILE", env.WorkDir+"/home")
			env.Setenv("W", env.WorkDir)
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// exits CODE COMMAND… runs a command and checks its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if neg || err != nil || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s exits %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}
