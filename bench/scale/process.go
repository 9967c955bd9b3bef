package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/postroom/postroom/internal/link/hub"
)

// process is a postd that runs.
type process struct {
	cmd *exec.Cmd
	log *os.File
}

func (s *sim) start(args ...string) (*process, error) {
	log, err := os.OpenFile(filepath.Join(s.dir, args[0]+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(s.postd, args...)
	cmd.Env, cmd.Dir, cmd.Stderr = s.env(), s.dir, log
	return &process{cmd, log}, nil
}

// startHub returns when the hub has printed a join line.
func (s *sim) startHub() error {
	p, err := s.start("hub", "--server-only", "--listen", s.listen, "--dir", s.hubDir())
	if err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	s.hub = p
	for said := bufio.NewScanner(out); said.Scan(); {
		if strings.HasPrefix(said.Text(), "postroom-join:") {
			line, err := hub.ParseLine(said.Text())
			s.listen = line.Addrs[0]
			return err
		}
	}
	log, _ := os.ReadFile(p.log.Name())
	return errors.New("the hub printed no join line; it said " + string(log[max(0, len(log)-2000):]))
}

func (s *sim) hubDir() string { return filepath.Join(s.dir, "hub-state") }

func (p *process) stop() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.cmd.Wait()
}

// usage is what a process has used and has.
type usage struct {
	cpu       time.Duration
	rss, peak int64
}

const tick = 10 * time.Millisecond // of times in /proc

func (p *process) usage() (u usage) { return usageOf(p.cmd.Process.Pid) }

func usageOf(pid int) (u usage) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return u
	}
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, _ := strconv.Atoi(f[11])
	kernel, _ := strconv.Atoi(f[12])
	u.cpu = time.Duration(user+kernel) * tick
	text, _ = os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, _ := strconv.ParseInt(f[1], 10, 64)
		switch f[0] {
		case "VmRSS:":
			u.rss = n << 10
		case "VmHWM:":
			u.peak = n << 10
		}
	}
	return u
}

func mb(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/(1<<20)) }

// during says how much of a processor the hub used.
func during(before, after usage, d time.Duration) string {
	return fmt.Sprintf("hub %.2f s of processor (%.0f %%), %s (at most %s)", (after.cpu - before.cpu).Seconds(),
		100*(after.cpu-before.cpu).Seconds()/d.Seconds(), mb(after.rss), mb(after.peak))
}
