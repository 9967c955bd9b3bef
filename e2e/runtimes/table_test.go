//go:build e2e && linux

package runtimes

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// ciVar makes a run fail if a scenario of expected.txt was skipped.
const ciVar = "POSTROOM_E2E_CI"

// outcome is how one scenario ended on one CLI.
type outcome struct {
	scenario, cli string
	result        string // ok, FAILED, or why it was skipped
	took          time.Duration
}

// results gathers the outcomes for the table at the end of the run.
var results struct {
	sync.Mutex
	list    []outcome
	skipped map[string]string // by test name
}

// skip ends a scenario that cannot run here, and says why in the table.
func skip(t *testing.T, why string) {
	t.Helper()
	results.Lock()
	if results.skipped == nil {
		results.skipped = map[string]string{}
	}
	results.skipped[t.Name()] = why
	results.Unlock()
	t.Skip(why)
}

// on runs a scenario once for each of the named CLIs.
func on(t *testing.T, names string, scenario func(*testing.T, cli)) {
	t.Helper()
	for _, c := range clis() {
		if slices.Contains(strings.Fields(names), c.name) {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				note(t, c.name)
				scenario(t, c)
			})
		}
	}
}

// pick is one CLI, for a scenario with more than one.
func pick(t *testing.T, name string) cli {
	t.Helper()
	for _, c := range clis() {
		if c.name == name {
			return c
		}
	}
	t.Fatalf("no CLI %s", name)
	return cli{}
}

// note puts the result of a test into the table, under the test's name without
// "Test" and the CLI. A scenario with more than one CLI names them "claude+codex".
func note(t *testing.T, cli string) {
	start := time.Now()
	name, _, _ := strings.Cut(strings.TrimPrefix(t.Name(), "Test"), "/")
	t.Cleanup(func() {
		results.Lock()
		defer results.Unlock()
		o := outcome{name, cli, "ok", time.Since(start)}
		switch {
		case t.Failed():
			o.result = "FAILED"
		case t.Skipped():
			o.result = "skipped: " + results.skipped[t.Name()]
		}
		results.list = append(results.list, o)
	})
}

// finish prints the table; in CI, a scenario that was expected and did not run
// fails the run.
func finish(code int) int {
	slices.SortFunc(results.list, func(a, b outcome) int {
		return strings.Compare(a.scenario+" "+a.cli, b.scenario+" "+b.cli)
	})
	fmt.Println("\nscenario                       runtime        result")
	ok := map[string]bool{}
	for _, o := range results.list {
		fmt.Printf("%-30s %-14s %s (%.1fs)\n", o.scenario, o.cli, o.result, o.took.Seconds())
		key := o.scenario + " " + o.cli
		before, again := ok[key] // a scenario in several ways counts if all of them ran
		ok[key] = o.result == "ok" && (before || !again)
	}
	if os.Getenv(ciVar) == "" || flag.Lookup("test.run").Value.String() != "" {
		return code
	}
	raw, err := os.ReadFile("expected.txt")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for line := range strings.Lines(string(raw)) {
		want := strings.Join(strings.Fields(line), " ")
		if want != "" && !strings.HasPrefix(want, "#") && !ok[want] {
			fmt.Printf("expected.txt: %s did not run to its end; if that is meant, take its line out\n", want)
			code = 1
		}
	}
	return code
}
