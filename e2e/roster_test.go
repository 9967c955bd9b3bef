//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// yard is a desk with an agent that post starts. Its program writes its pid
// into a file each time it begins.
type yard struct {
	*desk
	pids string
}

func newYard(t *testing.T) *yard {
	t.Helper()
	d := newDesk(t)
	y := &yard{d, filepath.Join(d.root, "pids")}
	prog := filepath.Join(d.root, "prog")
	must(t, os.WriteFile(prog, []byte("#!/bin/sh\necho $$ >> "+y.pids+"\nexec sleep 1000\n"), 0o700))
	d.join("ann", "--launch", prog)
	t.Cleanup(func() { d.post("stop", "ann") })
	return y
}

// state is where post keeps what it started.
func (y *yard) state() string {
	y.t.Helper()
	return filepath.Join(y.root, "state", "postroom", "roster", y.officeID())
}

// running lists the agent's processes that run, whoever knows of them.
func (y *yard) running() (pids []string) {
	data, err := os.ReadFile(y.pids)
	if err != nil {
		return nil
	}
	for _, pid := range strings.Fields(string(data)) {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err == nil && !strings.Contains(string(stat), ") Z ") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// started is what post agents says of the agent.
func (y *yard) started() (state string) {
	y.t.Helper()
	var v struct{ Started struct{ State string } }
	must(y.t, json.Unmarshal([]byte(y.ok("agents", "--json").out), &v))
	return v.Started.State
}

// oneRuns starts the agent as whoever saw the last attempt die would, and wants
// exactly one process, known to post; then none.
func (y *yard) oneRuns() {
	y.t.Helper()
	y.post("up", "--detached").want(0, "ann (started|runs already)")
	y.until("it runs", func() bool { return len(y.running()) > 0 })
	if got := y.running(); len(got) != 1 || y.started() != "running" {
		y.t.Fatalf("%v run, and post says %s", got, y.started())
	}
	y.post("up", "--detached").want(0, "ann runs already")
	y.post("stop", "ann").want(0, "ann stopped")
	if got := y.running(); len(got) != 0 || y.started() != "stopped" {
		y.t.Fatalf("%v run on, and post says %s", got, y.started())
	}
}

func (y *yard) until(what string, done func() bool) {
	y.t.Helper()
	for end := time.Now().Add(limit); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			y.t.Fatalf("in vain: %s", what)
		}
	}
}

// Who starts an agent may die at any moment: what runs is known, and one runs.
func TestStarterKilled(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	for _, c := range []struct {
		args []string
		runs bool // before it
	}{{[]string{"up", "--detached"}, false}, {[]string{"stop", "ann"}, true}} {
		kills := 0
		for n := 1; ; n++ {
			if c.runs {
				y.post("up", "--detached").want(0, "ann started")
			}
			call := ""
			tr := &tracer{path: filepath.Join(programs, "post"), argv: y.args(c.args), env: y.env, dir: y.root, roots: []string{y.state()}}
			tr.at = func(i int, what string) bool { call = what; return i == n }
			res := tr.run()
			must(t, res.err)
			if !res.killed {
				if c.runs == false {
					y.ok("stop", "ann")
				}
				break
			}
			kills++
			t.Logf("%s, kill %d, before %s", c.args[0], n, call)
			y.oneRuns()
		}
		if kills < 10 {
			t.Errorf("%s has only %d calls", c.args[0], kills)
		}
	}
}

// The process that keeps an agent may die at any moment, too: the agent never
// runs on without being known.
func TestKeeperKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.oneRuns() // leaves a record to make others from
	files, err := filepath.Glob(filepath.Join(y.state(), "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	aid := strings.TrimSuffix(filepath.Base(files[0]), ".json")
	var rec map[string]any
	must(t, json.Unmarshal([]byte(read(t, files[0])), &rec))
	for _, gone := range []string{"leader", "program", "why"} {
		delete(rec, gone)
	}
	argv := rec["argv"]
	kills := 0
	for n := 1; ; n++ {
		rec["state"], rec["at"], rec["token"] = "starting", time.Now(), "token"+itoa(n)
		spec := map[string]any{"token": rec["token"], "path": argv.([]any)[0], "argv": argv, "env": y.env, "dir": y.root}
		for path, v := range map[string]any{files[0]: rec, filepath.Join(y.state(), aid+".spec"): spec} {
			data, err := json.Marshal(v)
			must(t, err)
			must(t, os.WriteFile(path, data, 0o600))
		}
		tr := &tracer{path: filepath.Join(programs, "post"), argv: []string{"become", y.state(), aid, "token" + itoa(n)}, env: y.env, dir: y.root, roots: []string{y.state()}}
		tr.at = func(i int, _ string) bool { return i == n }
		// One that is not killed keeps until somebody stops it.
		done := make(chan traced, 1)
		go func() { done <- tr.run() }()
		var res traced
		y.until("the keeper runs or is killed", func() bool {
			select {
			case res = <-done:
				return true
			default:
				return y.started() == "running" && len(y.running()) == 1
			}
		})
		if !res.killed {
			y.post("stop", "ann").want(0, "ann stopped")
			<-done
			break
		}
		kills++
		y.until("nothing runs unknown", func() bool { return len(y.running()) == 0 || y.started() == "running" })
		must(t, os.RemoveAll(filepath.Join(y.state(), aid+".spec")))
		if y.started() == "starting" { // as after the time a start may take
			rec["at"] = time.Now().Add(-time.Minute)
			data, _ := json.Marshal(rec)
			must(t, os.WriteFile(files[0], data, 0o600))
		}
		y.oneRuns()
	}
	if kills < 8 {
		t.Errorf("only %d calls", kills)
	}
}

// Starts, stops and restarts at the same time: never two, and what post says at
// the end is so.
func TestStartStopRaces(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	var wg sync.WaitGroup
	for n := range 8 {
		verb := [][]string{{"up", "--detached"}, {"stop", "ann"}, {"restart", "ann", "--detached"}, {"start", "ann", "--detached"}}[n%4]
		wg.Go(func() {
			for range 3 {
				y.post(verb...)
				if got := y.running(); len(got) > 1 {
					// Two that are seen one after the other may be one that ended; only
					// two that stay are too many.
					time.Sleep(50 * time.Millisecond)
					if again := y.running(); len(again) > 1 {
						t.Errorf("%v run", again)
					}
				}
			}
		})
	}
	wg.Wait()
	if runs, says := len(y.running()) == 1, y.started() == "running"; runs != says {
		t.Fatalf("%v run, and post says %s", y.running(), y.started())
	}
	y.post("stop", "ann")
	y.oneRuns()
}

// The agent itself is killed: post says so, and starts it again.
func TestAgentKilled(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.post("up", "--detached").want(0, "ann started")
	y.until("it runs", func() bool { return len(y.running()) == 1 })
	pid, err := os.ReadFile(y.pids)
	must(t, err)
	n := 0
	for _, c := range strings.TrimSpace(string(pid)) {
		n = n*10 + int(c-'0')
	}
	must(t, syscall.Kill(n, syscall.SIGKILL))
	y.until("post knows", func() bool { return y.started() == "ended" })
	r := y.ok("agents")
	if !strings.Contains(r.out, "down") || !strings.Contains(y.ok("agents", "--json").out, "signal: killed") {
		t.Fatalf("%v", r)
	}
	if !strings.Contains(y.ok("logs", "ann").out, "ended: signal: killed") {
		t.Fatal("the log does not say how it ended")
	}
	y.oneRuns()
}
