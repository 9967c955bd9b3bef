package postd

import (
	"context"
	"net"
	"os"
	"syscall"
	"testing"
)

// dialOnly connects to one address, whatever is asked for.
func dialOnly(addr string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
}

// stopProcess ends a process that a command of the test started.
func stopProcess(t *testing.T, pid int) {
	t.Helper()
	proc, err := os.FindProcess(pid)
	if err == nil && pid > 1 {
		proc.Signal(syscall.SIGTERM)
		eventually(t, "it ends", func() bool { return proc.Signal(syscall.Signal(0)) != nil })
	}
}
