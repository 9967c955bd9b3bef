//go:build e2e && linux

package links

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The run goes through up to three processes of this test binary: the first
// builds the programs; the second is the init process of new namespaces, with
// which everything ends; the third runs the scenarios.
const (
	stageVar    = "POSTROOM_E2E_LINKS_STAGE"
	programsVar = "POSTROOM_E2E_LINKS_PROGRAMS"
	asInit      = "init"
	inside      = "tests"
	onLoopback  = "loopback"
	// desks is where homes and offices are, in memory.
	desks = "/mnt"
	// noNamespace is how the init process says that it could not set up.
	noNamespace = 97
)

// programs is where post and postd stand; alone, that hosts can have networks
// of their own. Both are written once, before the first scenario.
var (
	programs string
	alone    bool
)

func TestMain(m *testing.M) {
	programs = os.Getenv(programsVar)
	switch os.Getenv(stageVar) {
	case asInit:
		os.Exit(initProcess())
	case inside:
		alone = true
		os.Setenv("TMPDIR", desks)
		os.Exit(m.Run())
	case onLoopback:
		os.Exit(m.Run())
	}
	os.Exit(outer())
}

func outer() int {
	dir, err := os.Getenv(programsVar), error(nil) // built already
	if dir == "" {
		if dir, err = os.MkdirTemp("", "pl"); err == nil {
			defer os.RemoveAll(dir)
			err = build(dir)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code, err := stage(dir, asInit)
	if err == nil && code != noNamespace {
		return code
	}
	fmt.Fprintln(os.Stderr, "no network namespaces here: the stations stand on loopback addresses, and what cuts them off is a proxy; packets are not lost", err)
	if os.Getenv("POSTROOM_E2E_CI") != "" {
		return 1
	}
	if code, err = stage(dir, onLoopback); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// stage runs this binary again.
func stage(dir, as string) (int, error) {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), stageVar+"="+as, programsVar+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if as == asInit {
		if os.Getenv("POSTROOM_E2E_LOOPBACK") != "" {
			return noNamespace, errors.New("(POSTROOM_E2E_LOOPBACK is set)")
		}
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET
		if os.Geteuid() != 0 {
			cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
		}
	}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1), nil
	}
	return noNamespace, err
}

// initProcess sets the namespaces up, starts the tests and reaps what they
// leave behind. When it ends, the kernel kills whatever still runs.
func initProcess() int {
	err := errors.Join(
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount("proc", "/proc", "proc", 0, ""),
		unix.Mount("postroom", desks, "tmpfs", 0, "mode=0755"),
		tryTap())
	if err != nil {
		fmt.Fprintln(os.Stderr, "namespaces:", err)
		return noNamespace
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), stageVar+"="+inside)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return noNamespace
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			fmt.Fprintln(os.Stderr, err)
			return 1
		case pid == cmd.Process.Pid && status.Exited():
			return status.ExitStatus()
		case pid == cmd.Process.Pid && status.Signaled():
			return 1
		}
	}
}

// build makes the programs as `make build` does.
func build(dir string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=0.0.0-e2e", "-o", dir+string(filepath.Separator), "../../cmd/...")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}
