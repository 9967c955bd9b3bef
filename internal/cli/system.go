package cli

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/debt"
	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/vfs"
)

// SystemEnv is the real world.
func SystemEnv(version string) *Env {
	room(false)
	dir, err := os.Getwd()
	if err != nil {
		dir = string(os.PathSeparator) // the directory is gone; paths that were given absolute still work
	}
	host, _ := os.Hostname()
	return &Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		StdinTTY: isTerminal(os.Stdin.Fd()), StdoutTTY: isTerminal(os.Stdout.Fd()), Width: terminalWidth(os.Stdout.Fd()),
		StdoutShut: func() bool { return shut(os.Stdout) },
		Getenv:     os.Getenv, Environ: os.Environ(), Dir: dir,
		System: office.System{
			Now:     time.Now,
			OpenFS:  func(dir string) (vfs.FS, error) { return vfs.OpenReal(dir) },
			Machine: sync.OnceValue(config.Machine), Boot: debt.BootClock, Host: host, PID: os.Getpid(),
			Version: "post " + version, Parallel: 32,
		},
		Procs: identity.System(), Live: identity.System(), Sleep: sleep, Patience: 10 * time.Second,
		Executable: os.Executable, Exec: Exec,
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
