// Command scale puts many stations on one hub and says what that costs
// (docs/scale.md). The hub is real, a process of its own, and so are the
// stations' keys, their joining, connections, permissions, consumers, cards and
// envelopes' sizes. Simulated is what lies behind the wire: no office, no disk;
// a station here takes what comes, answers with a receipt and acknowledges. With
// -offices two of the stations are real ones, with an office and a postd serve.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	var s sim
	flag.StringVar(&s.dir, "dir", ".", "where to work, in a directory that is removed again")
	flag.IntVar(&s.n, "stations", 100, "how many stations")
	flag.IntVar(&s.agents, "agents", 10, "agents on the card of each")
	flag.DurationVar(&s.span, "for", 15*time.Second, "how long idleness and traffic are measured")
	flag.IntVar(&s.inFlight, "inflight", 256, "messages under way at once")
	flag.StringVar(&s.skip, "skip", "", "leave these steps out: "+strings.Join(stepNames(), ","))
	flag.BoolVar(&s.offices, "offices", false, "in place of all that: what two more stations pay that are real offices")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := s.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// sim is one run.
type sim struct {
	dir         string
	n, agents   int
	span        time.Duration
	inFlight    int
	offices     bool
	post, postd string
	hub         *process
	listen      string
	skip        string
	stations    []*station
	cardSize    atomic.Int64 // bytes
	why         atomic.Value
	notPut      atomic.Int64 // times that a card could not be put
	failures    atomic.Int64 // times that cards could not be read
}

func (s *sim) run(ctx context.Context) (err error) {
	if s.dir, err = os.MkdirTemp(s.dir, ".scale-"); err != nil {
		return err
	}
	defer os.RemoveAll(s.dir)
	if s.dir, err = filepath.Abs(s.dir); err != nil {
		return err
	}
	if err := s.build(); err != nil {
		return err
	}
	s.listen = "127.0.0.1:0"
	if err := s.startHub(); err != nil {
		return err
	}
	defer func() { s.hub.stop() }()
	say("%d stations of %d agents; load %s", s.n, s.agents, load())
	defer s.close()
	for _, step := range steps() {
		if strings.Contains(","+s.skip+",", ","+step.name+",") || step.offices != nil && *step.offices != s.offices {
			continue
		}
		if err := errors.Join(step.do(s, ctx), ctx.Err()); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	if why := s.why.Load(); why != nil {
		say("why cards were asked for in vain, such as: %v", why)
	}
	say("load at the end %s", load())
	return nil
}

// step is one part of a run; offices says of which kind of run, nil of both.
type step struct {
	name    string
	do      func(*sim, context.Context) error
	offices *bool
}

func steps() []step {
	yes, no := true, false
	return []step{{"join", (*sim).join, nil}, {"connect", (*sim).connect, nil}, {"publish", (*sim).publish, &yes}, {"real", (*sim).real, &yes},
		{"introduce", (*sim).introduce, &no}, {"change", (*sim).change, &no}, {"idle", (*sim).idle, &no}, {"traffic", (*sim).traffic, &no}, {"restart", (*sim).restart, &no}}
}

func stepNames() (names []string) {
	for _, s := range steps() {
		names = append(names, s.name)
	}
	return names
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func (s *sim) build() error {
	for _, p := range []struct {
		to   *string
		name string
	}{{&s.post, "post"}, {&s.postd, "postd"}} {
		*p.to = filepath.Join(s.dir, p.name)
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", *p.to, "./cmd/"+p.name)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w: %s", p.name, err, out)
		}
	}
	return nil
}

func (s *sim) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "XDG_STATE_HOME=" + filepath.Join(s.dir, "state")}
}

// command runs one of the programs.
func (s *sim) command(stdin, program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir, cmd.Stdin = s.env(), s.dir, strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return string(out), err
}

func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
