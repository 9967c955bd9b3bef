//go:build unix

package roster

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// inTmux is a yard with a server of its own.
func inTmux(t *testing.T, script string) *yard {
	t.Helper()
	path, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("no tmux")
	}
	y := newYard(t, script)
	y.Tmux = path
	for i, kv := range y.Environ { // there is no server around us
		if strings.HasPrefix(kv, "TMUX=") {
			y.Environ[i] = "NOTHING="
		}
	}
	srv := server{path: path, env: y.Environ}
	t.Cleanup(func() { srv.run(t.Context(), "kill-server") })
	return y
}

func TestInTmux(t *testing.T) {
	t.Parallel()
	y := inTmux(t, `echo "out of $0"; `+report)
	st := y.start()
	if !st.Alive || st.Pane == nil || st.Pane.Session != "postroom-o-1" || st.How != InTmux {
		t.Fatalf("%+v", st)
	}
	if got, want := y.file("who"), "two words; |"+y.agent.Workspace+"|ann|/office||"+st.Pane.Pane; got != want {
		t.Errorf("the agent sees %q, want %q", got, want)
	}
	text, err := st.Pane.Screen(t.Context(), st.Leader.PID, false)
	if err != nil || !strings.HasPrefix(text, "out of two words;") {
		t.Errorf("%q %v", text, err)
	}
	two := y.agent
	two.Name, two.AID = "ben", "a-000000000002"
	other, err := y.Start(t.Context(), two)
	if err != nil || other.Pane.Session != st.Pane.Session || other.Pane.Window == st.Pane.Window {
		t.Errorf("%+v %v", other, err)
	}
	if _, ran, err := y.stopper(Grace).Stop(t.Context(), "ann", y.agent.AID); !ran || err != nil || runs(st.Leader.PID) {
		t.Errorf("%v %v", ran, err)
	}
	if _, ok := st.Pane.ask(t.Context(), y.Tmux, st.Leader.PID, ""); ok {
		t.Error("its window is left")
	}
	if now, _, err := y.Status(t.Context(), two.AID); err != nil || !now.Alive {
		t.Errorf("the other one is gone: %+v %v", now, err)
	}
}

func TestHowDead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"1,7,": "exit status 7", "1,0,": "exit status 0", "1,,9": "signal 9", "1,,": "", "0,,": "", "": ""} {
		if got := howDead(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The last words of what ended can be read, and how it ended; the next start
// takes the window away.
func TestEndedInTmux(t *testing.T) {
	t.Parallel()
	y := inTmux(t, `echo last words; exit 7`)
	st := y.start()
	y.until("its end", func() bool { return y.status().State == Ended })
	if how := y.status().Ended; how != "exit status 7" && how != "" { // tmux may not know (howDead)
		t.Error(how)
	}
	y.until("its last words", func() bool {
		text, _ := st.Pane.Screen(t.Context(), st.Leader.PID, false)
		return strings.HasPrefix(text, "last words")
	})
	again := y.start()
	if again.Already || again.Leader.PID == st.Leader.PID {
		t.Errorf("%+v", again)
	}
	if _, ok := st.Pane.ask(t.Context(), y.Tmux, st.Leader.PID, ""); ok {
		t.Error("the old window is left")
	}
}

// Whoever started it died between the window and the record of it.
func TestStarterDied(t *testing.T) {
	t.Parallel()
	y := inTmux(t, report)
	r := Record{Agent: "ann", AID: y.agent.AID, Token: "t", State: Starting, At: time.Now(), How: InTmux, Argv: y.agent.Launch, Dir: y.agent.Workspace}
	sp, err := prepare(y.agent, y.Environ)
	if err != nil {
		t.Fatal(err)
	}
	sp.Token, sp.Env = "t", environment(y.Environ, y.agent)
	if err := y.write(y.agent.AID, specExt, sp); err != nil {
		t.Fatal(err)
	}
	if err := y.save(r); err != nil {
		t.Fatal(err)
	}
	if err := y.spawn(t.Context(), y.agent, &r); err != nil { // r, with its pane, is lost
		t.Fatal(err)
	}
	y.file("who")
	st := y.status()
	if !st.Alive || st.Pane == nil || st.Pane.Window == "" {
		t.Errorf("%+v", st)
	}
	if again := y.start(); !again.Already || again.Leader.PID != st.Leader.PID {
		t.Errorf("%+v", again)
	}
}
