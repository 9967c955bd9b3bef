// Command bench measures Postroom against physical limits and plain peers, in
// one run on one disk, and prints a table of ratios (docs/bench.md). Rounds are
// interleaved, so that a drifting machine moves both sides of a ratio.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are the command line's.
type options struct {
	dir    string
	rounds int
	only   string
	full   int
	agents int
	search int
	web    int
	out    string
	verify bool
	keep   bool
}

func main() {
	var o options
	flag.StringVar(&o.dir, "dir", ".", "where to work, in a directory that is removed again; the disk under it is measured")
	flag.IntVar(&o.rounds, "rounds", 7, "interleaved rounds of each measurement")
	flag.StringVar(&o.only, "only", "", "only groups whose name contains this: start, tokens, throughput, batch, watch, parallel, full, links, memory, search, web")
	flag.IntVar(&o.full, "full", 100_000, "archived messages of the full office; the goals are for 1000000, which takes some minutes to make")
	flag.IntVar(&o.agents, "agents", 1000, "agents of the full office")
	flag.IntVar(&o.search, "search", 100_000, "messages of the office that is searched; the goals are for 1000000")
	flag.IntVar(&o.web, "web", 100_000, "messages of the office whose page is measured")
	flag.StringVar(&o.out, "out", "", "also write the table to this file")
	flag.BoolVar(&o.verify, "verify", false, "prove by post verify that the filled offices are sound")
	flag.BoolVar(&o.keep, "keep", false, "leave the offices and programs where they are, to look into them")
	quick := flag.Bool("quick", false, "see whether everything can be measured at all: 3 rounds, 20000 archived messages")
	profile := flag.String("cpuprofile", "", "write a CPU profile of this process here")
	flag.Parse()
	if *quick {
		o.rounds, o.full, o.search, o.web = 3, 20_000, 20_000, 20_000
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err == nil {
			pprof.StartCPUProfile(f)
			defer pprof.StopCPUProfile()
		}
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// group is a set of measurements that share a set-up.
type group struct {
	name string
	run  func(*bench) error
}

func groups() []group {
	return []group{
		{"start", starts}, {"tokens", tokens}, {"throughput", throughput}, {"batch", batch}, {"watch", watch},
		{"parallel", parallel}, {"memory", memory}, {"search", searching}, {"web", web},
		{"links", links}, {"full", full},
	}
}

func run(o options) error {
	b, err := newBench(o)
	if err != nil {
		return err
	}
	defer b.close()
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		b.close()
		os.Exit(1)
	}()
	var errs []error
	ran := 0
	for _, g := range groups() {
		if !strings.Contains(g.name, o.only) {
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring", g.name)
		ran++
		if err := g.run(b); err != nil { // what the others find is worth having
			errs = append(errs, fmt.Errorf("%s: %w", g.name, err))
		}
	}
	if ran == 0 {
		return fmt.Errorf("no group's name contains %q", o.only)
	}
	return errors.Join(append(errs, b.report())...)
}

// bench is one run: where it works, its programs and what it found.
type bench struct {
	options
	post, postd, hello, sender string
	stderr                     *os.File // of the programs
	rows                       []row
	counts                     []counted
	load                       string // of the machine before the run
}

// close removes everything, at the very end: on some file systems removing much
// makes what is created next many times slower.
func (b *bench) close() {
	b.stderr.Close()
	if b.keep {
		fmt.Fprintln(os.Stderr, "kept", b.dir)
		return
	}
	os.RemoveAll(b.dir)
}

// row is one line of the table.
type row struct {
	what, figure, reference string
	ratio                   float64
	goal                    string
	met                     bool
}

func newBench(o options) (*bench, error) {
	dir, err := os.MkdirTemp(o.dir, ".bench-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	o.dir = dir
	b := &bench{options: o, load: load()}
	if b.stderr, err = os.OpenFile(filepath.Join(dir, "stderr"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return nil, err
	}
	return b, b.build()
}

// atMost adds a ratio that should stay at or below the goal.
func (b *bench) atMost(what, figure, reference string, ratio, goal float64) {
	b.rows = append(b.rows, row{what, figure, reference, ratio, fmt.Sprintf("≤ %.2f", goal), ratio <= goal})
}

// atLeast adds a ratio that should reach the goal.
func (b *bench) atLeast(what, figure, reference string, ratio, goal float64) {
	b.rows = append(b.rows, row{what, figure, reference, ratio, fmt.Sprintf("≥ %.2f", goal), ratio >= goal})
}

// note adds a line that has no goal.
func (b *bench) note(what, figure, reference string, ratio float64) {
	b.rows = append(b.rows, row{what: what, figure: figure, reference: reference, ratio: ratio})
}

func (b *bench) report() error {
	var s strings.Builder
	fmt.Fprintf(&s, "%s/%s, %d CPUs (load %s to %s), %s, medians of %d interleaved rounds, %s\n\n", runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), b.load, load(), runtime.Version(), b.rounds, time.Now().UTC().Format(time.DateOnly))
	if len(b.rows) > 0 {
		s.WriteString("| what | measured | reference | ratio | goal | |\n|---|---|---|---|---|---|\n")
	}
	for _, r := range b.rows {
		s.WriteString(r.line())
	}
	s.WriteString(tokensTable(b.counts))
	fmt.Print(s.String())
	if b.out == "" {
		return nil
	}
	return os.WriteFile(b.out, []byte(s.String()), 0o644)
}

// line is a row of the table.
func (r row) line() string {
	mark := "ok"
	switch {
	case r.goal == "":
		mark = ""
	case !r.met:
		mark = "**missed**"
	}
	return fmt.Sprintf("| %s | %s | %s | %.2f | %s | %s |\n", r.what, r.figure, r.reference, r.ratio, r.goal, mark)
}

// load is the machine's load average over a minute: above a few tenths, others
// are at work and the table says little.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

func median(d []time.Duration) time.Duration { return quantile(d, 0.5) }

func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	s := slices.Clone(d)
	slices.Sort(s)
	return s[min(len(s)-1, int(q*float64(len(s))))]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }
