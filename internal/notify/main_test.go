package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/notify"
)

// The test binary plays the programs that adapters run: `target DIR ARG…` is a
// program that an agent registered, `notify KIND` is postd, `cli DIR` is a coding
// CLI in a terminal.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case "target":
			os.Exit(playTarget(os.Args[2], os.Args[3:]))
		case "notify":
			os.Exit(playPostd(os.Args[2]))
		case "cli":
			os.Exit(playCLI(os.Args[2]))
		}
	}
	os.Exit(m.Run())
}

func playPostd(kind string) int {
	if kind == "silent" {
		return 0
	}
	if err := notify.ServeOne(context.Background(), os.Stdin, os.Stdout, notify.NewTable(notify.Exec{}, notify.None{})); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// seen is what a target writes down.
type seen struct {
	Args, Env []string
	Dir       string
	Stdin     string
}

// playTarget behaves as the file "mode" in dir says.
func playTarget(dir string, args []string) int {
	mode, _ := os.ReadFile(filepath.Join(dir, "mode"))
	switch word, rest, _ := strings.Cut(string(mode), " "); word {
	case "refuse":
		fmt.Fprintf(os.Stderr, "%s\x1b[31mno\r\n such\u2028session\u202e\xff\n", strings.Repeat("long ", 200))
		return 4
	case "busy":
		return 3
	case "exec":
		cmd := exec.Command(filepath.Join(dir, "behind"), args...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return 1
		}
		return 0
	case "hang":
		// With a child of its own, in the same group, that must be killed too.
		if len(args) == 0 || args[0] != "child" {
			child := exec.Command(os.Args[0], "target", dir, "child")
			_ = child.Start()
			record(dir, child)
		} else if f, err := os.OpenFile(filepath.Join(dir, "alive"), os.O_WRONLY, 0); err == nil {
			defer f.Close()
			_, _ = f.WriteString("x")
		}
		time.Sleep(time.Minute)
	case "daemon":
		child := exec.Command(os.Args[0], "target", rest)
		child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			return 9
		}
		record(dir, child)
	}
	stdin, _ := io.ReadAll(io.LimitReader(os.Stdin, 1<<20))
	wd, _ := os.Getwd()
	data, err := json.Marshal(seen{args, os.Environ(), wd, string(stdin)})
	if err != nil {
		return 9
	}
	name := filepath.Join(dir, fmt.Sprintf("tmp-%d", os.Getpid()))
	if err := os.WriteFile(name, data, 0o600); err != nil {
		return 9
	}
	if err := os.Rename(name, filepath.Join(dir, fmt.Sprintf("seen-%d", os.Getpid()))); err != nil {
		return 9
	}
	return 0
}

func record(dir string, child *exec.Cmd) {
	_ = os.WriteFile(filepath.Join(dir, "pid"), fmt.Appendf(nil, "%d", child.Process.Pid), 0o600)
}

// target is a registered program under test.
type target struct {
	t   *testing.T
	dir string
}

func newTarget(t *testing.T) target { return target{t, t.TempDir()} }

func (g target) mode(m string) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, "mode"), []byte(m), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// notify is the setting of an agent that is woken by the target.
func (g target) notify(args ...string) []string {
	self, err := os.Executable()
	if err != nil {
		g.t.Fatal(err)
	}
	return append([]string{notify.KindExec, self, "target", g.dir}, args...)
}

// script is a program that plays the target whatever its arguments are.
func (g target) script() string {
	self, err := os.Executable()
	if err != nil {
		g.t.Fatal(err)
	}
	path := filepath.Join(g.dir, "program")
	text := "#!/bin/sh\nexec '" + self + "' target '" + g.dir + "' \"$@\"\n"
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		g.t.Fatal(err)
	}
	return path
}

func (g target) seen() []string {
	g.t.Helper()
	names, err := filepath.Glob(filepath.Join(g.dir, "seen-*"))
	if err != nil {
		g.t.Fatal(err)
	}
	var all []string
	for _, n := range names {
		data, err := os.ReadFile(n)
		if err != nil {
			g.t.Fatal(err)
		}
		all = append(all, string(data))
	}
	return all
}

func (g target) one() seen {
	g.t.Helper()
	all := g.seen()
	if len(all) != 1 {
		g.t.Fatalf("the target took %d pointers, want 1", len(all))
	}
	var s seen
	if err := json.Unmarshal([]byte(all[0]), &s); err != nil {
		g.t.Fatal(err)
	}
	return s
}
