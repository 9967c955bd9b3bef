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
//	TEST_PARENTS  the processes above, the nearest first: NAME or NAME@PID:START
//	TEST_ALIVE    other processes that run, in the same form
//	TEST_TTY      a controlling terminal
//	TEST_NOW      the wall clock, RFC 3339
//	TEST_MACHINE  the machine's name
//	TEST_TERMINAL a person sits at standard input and output
//	TEST_SANDBOX  the mailbox, in the office, that is all that may be written
//	TEST_FULL     the disk takes nothing more
func postForTest() int {
	e := SystemEnv("0.0.0-test")
	e.Procs = fakeTree(os.Getenv("TEST_PARENTS"), os.Getenv("TEST_ALIVE"), os.Getenv("TEST_TTY"))
	e.Patience = 2 * time.Second
	if m := os.Getenv("TEST_MACHINE"); m != "" {
		e.System.Machine = func() string { return m }
	}
	if t, err := time.Parse(time.RFC3339, os.Getenv("TEST_NOW")); err == nil {
		e.System.Now = func() time.Time { return t }
	}
	if os.Getenv("TEST_TERMINAL") != "" {
		e.StdinTTY, e.StdoutTTY = true, true
	}
	broken(e)
	return Main(context.Background(), e, Commands(), os.Args[1:])
}

// tree is a chain of processes above this one, and others that run.
type tree struct {
	procs map[int]identity.Process
	tty   string
}

// fakeTree reads names, each perhaps with @PID:START; parents stand above this
// process, the nearest first.
func fakeTree(parents, others, tty string) identity.ProcessTree {
	const self = 1001
	t := tree{procs: map[int]identity.Process{}, tty: tty}
	list := []identity.Process{{PID: self, Name: "post"}}
	for i, word := range strings.Fields(parents) {
		list = append(list, fakeProcess(word, self-1-i))
	}
	for i, p := range list {
		if i+1 < len(list) {
			p.PPID = list[i+1].PID
		}
		t.procs[p.PID] = p
	}
	for _, word := range strings.Fields(others) {
		p := fakeProcess(word, 1)
		t.procs[p.PID] = p
	}
	return t
}

func fakeProcess(word string, pid int) identity.Process {
	name, at, _ := strings.Cut(word, "@")
	id, start, _ := strings.Cut(at, ":")
	if n, err := strconv.Atoi(id); err == nil {
		pid = n
	}
	return identity.Process{PID: pid, Name: name, Args: []string{name}, Start: start}
}

func (tree) Self() int { return 1001 }

func (t tree) Process(pid int) (identity.Process, bool) {
	p, ok := t.procs[pid]
	return p, ok
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
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "shape": shape, "link": playLink},
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
