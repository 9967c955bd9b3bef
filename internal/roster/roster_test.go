//go:build unix

package roster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
)

// TestMain is also what a start runs: the process that becomes the agent.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "become" {
		s, err := Open(os.Args[2], identity.System(), time.Now)
		if err == nil {
			err = s.Become(context.Background(), os.Args[3], os.Args[4], os.Environ())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// yard is a roster with an agent whose program is a shell script.
type yard struct {
	t *testing.T
	*Starter
	agent Agent
	out   string // a directory that scripts may write
}

func newYard(t *testing.T, script string) *yard {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(filepath.Join(dir, "state", "o-1"), identity.System(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	y := &yard{t: t, out: filepath.Join(dir, "out")}
	ws := filepath.Join(dir, "work")
	for _, d := range []string{y.out, ws} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "OUT=" + y.out, "TMUX_TMPDIR=" + dir, "CODEX_THREAD_ID=mine", "TMUX=/nowhere,1,0", "TMUX_PANE=%99"}
	y.Starter = &Starter{Store: s, Self: self, Entry: []string{"become"}, Environ: env}
	y.agent = Agent{Name: "ann", AID: "a-0123456789ab", Office: "/office", OfficeID: "o-1", Workspace: ws, Launch: []string{"sh", "-c", script, "two words; "}}
	t.Cleanup(func() { y.stopper(0).Stop(context.Background(), "ann", y.agent.AID) })
	return y
}

func (y *yard) stopper(grace time.Duration) *Stopper {
	return &Stopper{Store: y.Store, Tmux: y.Tmux, Grace: grace}
}

func (y *yard) start() Started {
	y.t.Helper()
	st, err := y.Start(y.t.Context(), y.agent)
	if err != nil {
		y.t.Fatal(err)
	}
	return st
}

func (y *yard) status() Status {
	y.t.Helper()
	st, ok, err := y.Status(y.t.Context(), y.agent.AID)
	if !ok || err != nil {
		y.t.Fatal(ok, err)
	}
	return st
}

// file waits until a script has written a file.
func (y *yard) file(name string) string {
	y.t.Helper()
	var data []byte
	y.until("file "+name, func() bool {
		var err error
		data, err = os.ReadFile(filepath.Join(y.out, name))
		return err == nil && strings.HasSuffix(string(data), "\n")
	})
	return strings.TrimSpace(string(data))
}

func (y *yard) until(what string, done func() bool) {
	y.t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			y.t.Fatalf("waited in vain: %s; %+v", what, y.status())
		}
	}
}

func runs(pid int) bool {
	_, ok := identity.System().Process(pid)
	return ok
}

const report = `echo "$0|$PWD|$POSTROOM_AGENT|$POSTROOM_OFFICE|$CODEX_THREAD_ID|$TMUX_PANE" > $OUT/who.tmp; mv $OUT/who.tmp $OUT/who; exec sleep 1000`

func TestDetached(t *testing.T) {
	t.Parallel()
	y := newYard(t, report)
	st := y.start()
	if st.Already || !st.Alive || st.State != Running || st.How != Detached {
		t.Fatalf("%+v", st)
	}
	want := "two words; |" + y.agent.Workspace + "|ann|/office||"
	if got := y.file("who"); got != want {
		t.Errorf("the agent sees %q, want %q", got, want)
	}
	if again := y.start(); !again.Already || again.PID() != st.PID() && again.Leader.PID != st.Leader.PID {
		t.Errorf("started twice: %+v", again)
	}
	if _, err := os.Stat(y.Path(y.agent.AID, specExt)); err == nil {
		t.Error("its environment lies about")
	}
	got, ran, err := y.stopper(Grace).Stop(t.Context(), "ann", y.agent.AID)
	if err != nil || !ran || got.State != Stopped || runs(st.Leader.PID) || runs(y.status().PID()) {
		t.Errorf("%+v %v %v", got, ran, err)
	}
	if _, ran, err := y.stopper(Grace).Stop(t.Context(), "ann", y.agent.AID); err != nil || ran {
		t.Errorf("stopped twice: %v %v", ran, err)
	}
}

// Whatever many do at the same time, one agent runs once.
func TestStartedOnce(t *testing.T) {
	t.Parallel()
	y := newYard(t, `echo $$ >> $OUT/pids; exec sleep 1000`)
	var wg sync.WaitGroup
	var mu sync.Mutex
	fresh := 0
	for range 12 {
		wg.Go(func() {
			st, err := y.Start(t.Context(), y.agent)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			} else if !st.Already {
				fresh++
			}
		})
	}
	wg.Wait()
	if fresh != 1 {
		t.Errorf("%d of 12 say that they started it", fresh)
	}
	y.file("pids")
	if n := strings.Count(y.file("pids"), "\n") + 1; n != 1 {
		t.Errorf("started %d times", n)
	}
}

// A start whose starter died is taken over, and its process gives up.
func TestCalledOff(t *testing.T) {
	t.Parallel()
	y := newYard(t, report)
	old := Record{Agent: "ann", AID: y.agent.AID, Token: "old", State: Starting, At: time.Now().Add(-startLimit), How: Detached, Argv: []string{"x"}}
	if err := errors.Join(y.save(old), y.write(y.agent.AID, specExt, spec{Token: "old", Path: "/bin/false"})); err != nil {
		t.Fatal(err)
	}
	if st := y.status(); st.Alive || st.UnderWay(time.Now()) {
		t.Fatalf("%+v", st)
	}
	st := y.start()
	cmd := exec.Command(y.Self, "become", y.FS.Path("."), y.agent.AID, "old")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "called off") {
		t.Errorf("%v: %s", err, out)
	}
	if now := y.status(); !now.Alive || now.Token != st.Token {
		t.Errorf("%+v", now)
	}
}

// A start that is under way is waited for, not repeated; if its process never
// comes, that is said.
func TestStopBeforeItReported(t *testing.T) {
	t.Parallel()
	y := newYard(t, report)
	r := Record{Agent: "ann", AID: y.agent.AID, Token: "slow", State: Starting, At: time.Now(), How: Detached}
	if err := errors.Join(y.save(r), y.write(y.agent.AID, specExt, spec{Token: "slow", Path: "/bin/sh", Argv: []string{"sh", "-c", "echo x > $OUT/ran"}, Env: y.Environ, Dir: "/"})); err != nil {
		t.Fatal(err)
	}
	if _, _, err := y.stopper(Grace).Stop(t.Context(), "ann", y.agent.AID); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command(y.Self, "become", y.FS.Path("."), y.agent.AID, "slow").Run(); err == nil {
		t.Error("it started after it was stopped")
	}
	if _, err := os.Stat(filepath.Join(y.out, "ran")); err == nil {
		t.Error("it ran after it was stopped")
	}
}

// A pid that was given to somebody else is left alone.
func TestReusedPID(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Proc){
		"another start": func(p *Proc) { p.Start = "1" },
		"another boot":  func(p *Proc) { p.Boot = "earlier" },
	} {
		y := newYard(t, report)
		other := exec.Command("sleep", "1000")
		alone(other)
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { other.Process.Kill(); other.Wait() })
		p := y.proc(other.Process.Pid)
		change(p)
		if err := y.save(Record{Agent: "ann", AID: y.agent.AID, Token: "t", State: Running, At: time.Now(), How: Detached, Leader: p}); err != nil {
			t.Fatal(err)
		}
		if _, ran, err := y.stopper(0).Stop(t.Context(), "ann", y.agent.AID); ran || err != nil {
			t.Errorf("%s: %v %v", name, ran, err)
		}
		if !runs(other.Process.Pid) {
			t.Errorf("%s: somebody else's process was killed", name)
		}
	}
}

func TestNotOurs(t *testing.T) {
	t.Parallel()
	y := newYard(t, report)
	if _, _, err := y.stopper(0).Stop(t.Context(), "ann", y.agent.AID); !errors.Is(err, ErrNotOurs) {
		t.Error(err)
	}
	if _, _, err := y.stopper(0).Stop(t.Context(), "ann", "../../x"); mail.KindOf(err) != mail.KindInvalid {
		t.Error(err)
	}
}

// Who does not end when asked to is killed, and whatever it started.
func TestKilled(t *testing.T) {
	t.Parallel()
	y := newYard(t, `trap '' TERM; (trap '' TERM; exec sleep 1000) & echo $! > $OUT/child; while :; do sleep 1000; done`)
	st := y.start()
	child, err := strconv.Atoi(y.file("child"))
	if err != nil {
		t.Fatal(err)
	}
	got, ran, err := y.stopper(100*time.Millisecond).Stop(t.Context(), "ann", y.agent.AID)
	if err != nil || !ran || !strings.HasPrefix(got.Ended, "killed") {
		t.Errorf("%+v %v %v", got, ran, err)
	}
	for _, pid := range []int{st.Leader.PID, child} {
		if runs(pid) {
			t.Errorf("process %d runs on", pid)
		}
	}
}

// A stop that was cut short is done by the next one.
func TestStopAgain(t *testing.T) {
	t.Parallel()
	y := newYard(t, `trap '' TERM; echo x > $OUT/up; while :; do sleep 0.05; done`)
	y.start()
	y.file("up")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := y.stopper(time.Hour)
	r := y.status().Record
	r.State = Stopping
	if err := y.save(r); err != nil {
		t.Fatal(err)
	}
	if st := y.status(); !st.Alive || st.State != Stopping {
		t.Fatalf("%+v", st)
	}
	if again := y.start(); !again.Already {
		t.Errorf("%+v", again)
	}
	if got, ran, err := s.Stop(ctx, "ann", y.agent.AID); err != nil || !ran || got.Alive { // an interrupt cuts the grace short
		t.Errorf("%+v %v %v", got, ran, err)
	}
}

func TestEndedByItself(t *testing.T) {
	t.Parallel()
	y := newYard(t, `echo out; echo err >&2; exit 3`)
	st := y.start()
	settled := y.Settle(t.Context(), []string{y.agent.AID}, time.Minute)[y.agent.AID]
	if settled.Alive {
		t.Fatalf("%+v", settled)
	}
	y.until("the end", func() bool { return y.status().State == Ended && y.status().Ended == "exit status 3" })
	l, err := y.Log(y.agent.AID)
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := l.Tail(3)
	if err != nil || !strings.HasPrefix(string(text), "out\nerr\n--- ") || !strings.Contains(string(text), "ended: exit status 3") {
		t.Errorf("%q %v", text, err)
	}
	if again := y.start(); again.Already || again.Token == st.Token {
		t.Errorf("%+v", again)
	}
}

// An agent never outlives its keeper unseen.
func TestKeeperKilled(t *testing.T) {
	t.Parallel()
	y := newYard(t, `echo $$ > $OUT/pid; exec sleep 1000`)
	st := y.start()
	pid, _ := strconv.Atoi(y.file("pid"))
	y.until("the record", func() bool { return y.status().PID() == pid })
	if err := syscall.Kill(st.Leader.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if boot() == "" { // not Linux: it lives on, and is found
		if !y.status().Alive {
			t.Error("lost")
		}
		return
	}
	y.until("its end", func() bool { return !y.status().Alive && !runs(pid) })
}

func TestCannotStart(t *testing.T) {
	t.Parallel()
	y := newYard(t, report)
	file := filepath.Join(y.out, "plain")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Agent){
		"it has no launch command; give it one: post agent set ann --launch":                              func(a *Agent) { a.Launch = nil },
		"its program nosuch is not on PATH; install it, or name another: post agent set ann --launch":     func(a *Agent) { a.Launch = []string{"nosuch"} },
		"its program ./nosuch does not exist; install it":                                                 func(a *Agent) { a.Launch = []string{"./nosuch"} },
		"its program " + file + " may not be executed; install it":                                        func(a *Agent) { a.Launch = []string{file} },
		"its workspace /nowhere does not exist; make it, or name another: post agent set ann --workspace": func(a *Agent) { a.Workspace = "/nowhere" },
		"its workspace " + file + " is not a directory; name another: post agent set ann --workspace":     func(a *Agent) { a.Workspace = file },
		"it has no workspace; give it one: post agent set ann --workspace":                                func(a *Agent) { a.Workspace = "" },
	} {
		a := y.agent
		change(&a)
		_, err := y.Start(t.Context(), a)
		if mail.KindOf(err) != mail.KindNotFound || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, ok, err := y.Load(y.agent.AID); ok || err != nil {
		t.Errorf("left a record: %v", err)
	}
	// What only the system can refuse is in the record.
	bad := filepath.Join(y.agent.Workspace, "bad")
	if err := os.WriteFile(bad, []byte("#!/nowhere/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	a := y.agent
	a.Launch = []string{"./bad"}
	if _, err := y.Start(t.Context(), a); err == nil || y.status().State != Failed {
		t.Errorf("%v %+v", err, y.status())
	}
	y.start()
}

// A record that can't be read stops a start: what it names may run.
func TestTornRecord(t *testing.T) {
	t.Parallel()
	y := newYard(t, report)
	if err := os.WriteFile(y.Path(y.agent.AID, recordExt), []byte(`{"v":1,`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := y.Start(t.Context(), y.agent); mail.KindOf(err) != mail.KindCorrupt {
		t.Error(err)
	}
	if _, _, err := y.stopper(0).Stop(t.Context(), "ann", y.agent.AID); mail.KindOf(err) != mail.KindCorrupt {
		t.Error(err)
	}
	os.Remove(y.Path(y.agent.AID, recordExt))
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	got := environment([]string{"A=1", "CLAUDECODE=1", "POSTROOM_SESSION=x", "POSTROOM_AGENT=other", "CODEX_HOME=/c", "PWD=/", "TMUX=a"}, Agent{Name: "ann", Office: "/o", Workspace: "/w"})
	if want := []string{"A=1", "CODEX_HOME=/c", "POSTROOM_OFFICE=/o", "POSTROOM_AGENT=ann", "PWD=/w"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	got = inTerminal([]string{"A=1", "TERM=dumb"}, []string{"TERM=screen", "TMUX=s,1,2", "TMUX_PANE=%1", "B=2"})
	if want := []string{"A=1", "TMUX=s,1,2", "TMUX_PANE=%1", "TERM=screen"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
