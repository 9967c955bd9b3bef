//go:build e2e && linux

package runtimes

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The run goes through up to three processes of this test binary. The first
// installs and builds, with the network there. The second is the init process
// of new namespaces: it has loopback only, and with it everything ends. The
// third runs the scenarios.
const (
	stageVar = "POSTROOM_E2E_STAGE"
	factsVar = "POSTROOM_E2E_FACTS"
	asInit   = "init"
	asTests  = "tests"
	// desks is where the homes and repositories are, on a file system of the run's
	// own: sandboxes hide /dev/shm and open /tmp.
	desks = "/mnt"
	// noNamespace is how the init process says that it could not set up.
	noNamespace = 97
)

// facts is what the first process found out for the others.
type facts struct {
	Programs string            // directory of post and postd
	CLIs     map[string]string // path of each installed CLI
	Missing  map[string]string // why the others are not there
	Alone    bool              // in namespaces of our own
}

// given holds the facts. It is written once, before the first scenario.
var given facts

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == toyMCP {
		serveToy(os.Stdin, os.Stdout)
		return
	}
	switch os.Getenv(stageVar) {
	case asInit:
		os.Exit(initProcess())
	case asTests:
		var err error
		if given, err = readFacts(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if given.Alone {
			given.Programs = desks + "/bin"
		}
		os.Exit(finish(m.Run()))
	}
	os.Exit(outer())
}

func readFacts() (facts, error) {
	var f facts
	raw, err := os.ReadFile(os.Getenv(factsVar))
	if err == nil {
		err = json.Unmarshal(raw, &f)
	}
	return f, err
}

// outer installs the CLIs, builds the programs and starts the scenarios.
func outer() int {
	dir, err := os.MkdirTemp("", "pr")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	f := facts{Programs: filepath.Join(dir, "bin")}
	if err := build(f.Programs); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	f.CLIs, f.Missing = installAll()
	f.Alone = true
	code, err := stage(dir, asInit, f)
	if err != nil || code == noNamespace {
		fmt.Fprintln(os.Stderr, "not in namespaces of their own, so the network is within reach and processes are stopped one by one:", err)
		f.Alone = false
		code, err = stage(dir, asTests, f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// stage runs this binary again.
func stage(dir, as string, f facts) (int, error) {
	raw, err := json.Marshal(f)
	if err != nil {
		return 0, err
	}
	file := filepath.Join(dir, "facts.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return 0, err
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), stageVar+"="+as, factsVar+"="+file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if as == asInit {
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET
		if os.Geteuid() != 0 {
			cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
			cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN}
		}
	}
	return exitCode(cmd.Run())
}

func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err
}

// initProcess sets the namespaces up, starts the tests and reaps what they
// leave behind. When it ends, the kernel kills whatever still runs.
func initProcess() int {
	f, err := readFacts()
	if err = errors.Join(err, ownSystem(f)); err != nil {
		fmt.Fprintln(os.Stderr, "namespaces:", err)
		return noNamespace
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), stageVar+"="+asTests)
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

// ownSystem mounts what the namespaces need, and switches loopback on.
func ownSystem(f facts) error {
	return errors.Join(
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount("proc", "/proc", "proc", 0, ""),
		unix.Mount("postroom", desks, "tmpfs", 0, "mode=0755"),
		os.Mkdir(desks+"/bin", 0o755),
		unix.Mount(f.Programs, desks+"/bin", "", unix.MS_BIND, ""),
		loopbackUp())
}

// loopbackUp makes 127.0.0.1 work in a new network namespace.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
}

// build makes the programs as `make build` does.
func build(dir string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=0.0.0-e2e", "-o", dir+string(filepath.Separator), "../../cmd/...")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	return nil
}
