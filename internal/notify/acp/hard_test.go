//go:build unix

package acp_test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/notify/acp"
	"github.com/postroom/postroom/internal/notify/acptest"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/roster"
)

// What is no message, and more of it than anybody wants, stops nobody.
func TestGarbageAndFlood(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.fake.Say(acptest.Garbage)
	k, _ := y.keep()
	y.ready(k)
	y.fake.Say(acptest.Flood)
	if out := y.wake(k, ample); out.State != notify.Notified {
		t.Fatalf("%+v", out)
	}
	y.ready(k)
	y.fake.Unsay(acptest.Flood)
	if out := y.wake(k, ample); out.State != notify.Notified || len(y.fake.Lines("starts")) != 1 {
		t.Fatalf("%+v", out)
	}
	log := y.log()
	if !strings.Contains(log, "its output is not all of the protocol: no message (1 so far)") || len(log) > 8<<10 {
		t.Errorf("%d bytes: %s", len(log), log)
	}
	y.faultless()
}

// A child that asks without end and reads no answer is ended like any that
// hangs, and takes no memory meanwhile.
func TestNag(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	k, _ := y.keep(func(k *acp.Keeper) { k.Stall, k.Patience = 100*time.Millisecond, 10*time.Second })
	y.ready(k)
	y.fake.Say(acptest.Nag)
	y.until("a turn", func() bool { y.wake(k, time.Second); return y.fake.Lines("prompts") != nil })
	y.fake.Unsay(acptest.Nag)
	y.ready(k)
}

// A child that never answers initialize is ended and started again, more and
// more rarely; senders are told.
func TestMute(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.fake.Say(acptest.Mute)
	k, stop := y.keep(func(k *acp.Keeper) { k.Patience = 150 * time.Millisecond })
	if out := y.wake(k, 50*time.Millisecond); out.State != notify.Pending && out.State != notify.Failed {
		t.Fatalf("%+v", out)
	}
	y.until("two crashes", func() bool { return y.state(k).Crashes >= 2 })
	y.until("words about it", func() bool {
		out := y.wake(k, 50*time.Millisecond)
		return out.State == notify.Failed && strings.Contains(out.Evidence, "its worker ended (initialize: no answer in time)") && strings.Contains(out.Evidence, "see post logs coder")
	})
	y.until("the first one's end", func() bool { return !runs(y.pid(0)) })
	y.until("they are on disk", func() bool {
		m := y.store.Remembered(y.agent.AID)
		return m.Crashes >= 2 && m.Why == "initialize: no answer in time"
	})
	stop()
	y.fake.Unsay(acptest.Mute)
	k, _ = y.keep()
	y.ready(k)
}

// One that ends at once, one that wants a login: said so.
func TestDoesNotStart(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{acptest.Dies: "exit status 7", acptest.Login: "session/new: it wants to be logged in first"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			y := newYard(t)
			y.fake.Say(word)
			k, _ := y.keep()
			y.until("crashes", func() bool { h := y.state(k); return h.Crashes >= 3 && strings.Contains(h.Why, want) })
			y.until("words", func() bool {
				out := y.wake(k, 50*time.Millisecond)
				return out.State == notify.Failed && strings.Contains(out.Evidence, want) && strings.Contains(out.Evidence, "times in a row")
			})
		})
	}
	t.Run("no program", func(t *testing.T) {
		t.Parallel()
		y := newYard(t)
		a := y.agent
		a.Launch = []string{"nosuch-agent"}
		y.desk.set(a)
		k, _ := y.keep()
		y.until("words", func() bool { return strings.Contains(y.state(k).Why, "its program nosuch-agent is not on PATH") })
		if st, ok, err := y.store.Status(t.Context(), a.AID); !ok || err != nil || st.State != roster.Failed {
			t.Errorf("%+v %v", st, err)
		}
	})
}

// A turn without a sign of life is cancelled, and its child ended if that does
// not help.
func TestStalledTurn(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	k, _ := y.keep(func(k *acp.Keeper) { k.Stall, k.Patience = 100*time.Millisecond, 8*time.Second })
	y.ready(k)
	y.fake.Say(acptest.Hang)
	y.until("a turn", func() bool { y.wake(k, 200*time.Millisecond); return y.state(k).State == "busy" })
	y.until("a cancel", func() bool { return y.fake.Lines("cancels") != nil })
	y.fake.Unsay(acptest.Hang)
	y.until("a second start", func() bool { return len(y.fake.Lines("starts")) >= 2 })
	y.until("a turn that is seen", func() bool { return y.wake(k, ample).State == notify.Notified })
}

// At the end of serve the child ends, and what it started: when its input is
// closed, or by force.
func TestShutdown(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"nothing", acptest.Deaf} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			y := newYard(t)
			y.fake.Say(word)
			y.fake.Say(acptest.Child)
			k, stop := y.keep()
			y.ready(k)
			child, err := strconv.Atoi(y.fake.Lines("children")[0])
			if err != nil || !runs(child) {
				t.Fatal(child, err)
			}
			stop()
			if runs(y.pid(0)) || runs(child) {
				t.Errorf("left: worker %t, its child %t", runs(y.pid(0)), runs(child))
			}
			st, ok, err := y.store.Status(t.Context(), y.agent.AID)
			if !ok || err != nil || st.State != roster.Ended || st.How != roster.Worker {
				t.Errorf("%+v %v", st, err)
			}
			if s := y.desk.last(); s.State != presence.Ended {
				t.Errorf("%+v", s)
			}
			if _, kept := y.store.KeptBy(); kept {
				t.Error("somebody is said to keep the workers")
			}
			v := acp.Visitor{Look: func(string) (*roster.Store, error) { return y.store, nil }}
			if out := y.wake(v, ample); out.State != notify.Pending || out.Evidence != "acp: no postd serve runs for this office, and it keeps the worker of coder; start it: post serve" {
				t.Errorf("%+v", out)
			}
		})
	}
}

// Two keepers of one office: one child. When the first is gone the other takes
// over, and loads the session.
func TestTwoKeepers(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	one, stop := y.keep()
	y.ready(one)
	two, _ := y.keep()
	y.until("the other to stand by", func() bool {
		h := y.state(two)
		return h.State == "off" && strings.Contains(h.Why, "it runs already")
	})
	if out := y.wake(two, ample); out.State != notify.Pending || !strings.Contains(out.Evidence, "it runs already") {
		t.Errorf("%+v", out)
	}
	v := acp.Visitor{Look: func(string) (*roster.Store, error) { return y.store, nil }}
	if out := y.wake(v, ample); out.State != notify.Notified || len(y.fake.Lines("starts")) != 1 {
		t.Errorf("%+v", out)
	}
	y.ready(one)
	stop()
	y.ready(two)
	y.until("the other at the door", func() bool { return y.wake(v, ample).State == notify.Notified })
	if opened := y.fake.Lines("opened"); len(opened) != 2 || !strings.HasPrefix(opened[1], "load ") {
		t.Errorf("%q", opened)
	}
	y.faultless()
}

// A child whose keeper was killed is ended before another is started.
func TestOrphan(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.fake.Say(acptest.Deaf)
	k := &roster.Keeper{Store: y.store, Environ: []string{"PATH=/usr/bin:/bin"}, Grace: 100 * time.Millisecond}
	child, err := k.Start(t.Context(), roster.Agent{Name: "coder", AID: y.agent.AID, Workspace: y.agent.Workspace, Launch: y.agent.Launch, Worker: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.End("the test ended") })
	y.until("its start", func() bool { return y.fake.Lines("starts") != nil })
	// As if the process that started it were gone.
	path := y.store.Path(y.agent.AID, ".json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	i := strings.Index(string(data), `"keeper":{"pid":`)
	text := string(data[:i]) + `"keeper":{"pid":` + strconv.Itoa(os.Getpid()) + `,"start":"another","x":{` + string(data[i+len(`"keeper":{`):]) + "}"
	text = strings.TrimSuffix(strings.TrimRight(text, "}\n"), "}") + "}}}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	keeper, _ := y.keep()
	y.ready(keeper)
	if runs(child.PID) || len(y.fake.Lines("starts")) != 2 {
		t.Errorf("the orphan runs: %t; %q", runs(child.PID), y.fake.Lines("starts"))
	}
}

// post stop and post start: what a person stopped stays down, whoever writes.
func TestStopAndStart(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	k, _ := y.keep()
	y.ready(k)
	stopper := &roster.Stopper{Store: y.store, Grace: 5 * time.Second}
	if _, ran, err := stopper.Stop(t.Context(), "coder", y.agent.AID); err != nil || !ran || runs(y.pid(0)) {
		t.Fatal(ran, err)
	}
	y.until("words", func() bool {
		out := y.wake(k, 100*time.Millisecond)
		return out.State == notify.Pending && strings.Contains(out.Evidence, "acp: it was stopped; start it: post start coder")
	})
	if h := y.state(k); h.Crashes != 0 {
		t.Errorf("that was no crash: %+v", h)
	}
	starter := &roster.Starter{Store: y.store, Environ: []string{"PATH=/usr/bin:/bin"}}
	st, err := starter.Start(t.Context(), roster.Agent{Name: "coder", AID: y.agent.AID, Workspace: y.agent.Workspace, Launch: y.agent.Launch, Worker: true})
	if err != nil || st.Already || st.State != roster.Running || st.How != roster.Worker {
		t.Fatalf("%+v %v", st, err)
	}
	y.ready(k)
	if opened := y.fake.Lines("opened"); !strings.HasPrefix(opened[1], "load ") {
		t.Errorf("%q", opened)
	}
	if st, err := starter.Start(t.Context(), roster.Agent{Name: "coder", AID: y.agent.AID, Workspace: y.agent.Workspace, Launch: y.agent.Launch, Worker: true}); err != nil || !st.Already {
		t.Errorf("%+v %v", st, err)
	}
	// One that waits to be started again after a crash is stopped, too.
	y.fake.Say(acptest.Dies)
	if err := syscall.Kill(y.pid(1), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	y.until("crashes", func() bool { return y.state(k).Crashes >= 2 })
	y.until("it to be stopped between two starts", func() bool {
		st, _, err := stopper.Stop(t.Context(), "coder", y.agent.AID)
		return err == nil && st.State == roster.Stopped
	})
	y.until("it to be down", func() bool { return y.state(k).State == "off" })
}

// A session of the agent's own is not disturbed: no worker beside it.
func TestTaken(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.desk.taken = "a live session speaks as coder"
	k, _ := y.keep()
	y.until("off", func() bool { return y.state(k).State == "off" })
	if out := y.wake(k, ample); out.State != notify.Pending || !strings.Contains(out.Evidence, "a live session speaks as coder") || y.fake.Lines("starts") != nil {
		t.Errorf("%+v", out)
	}
	y.desk.mu.Lock()
	y.desk.taken = ""
	y.desk.mu.Unlock()
	y.ready(k)
}

// Permissions as the real programs ask for them.
func TestPermissions(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	k, _ := y.keep()
	y.ready(k)
	for _, c := range []struct{ call, want, log string }{
		{`{"toolCallId":"x","title":"post inbox --as coder --office /office","kind":"execute","rawInput":{"command":"post inbox --as coder --office /office"}}`, "yes", "permission allowed: post inbox"},
		{`{"toolCallId":"x","title":"post inbox","kind":"execute"}`, "yes", "permission allowed: post inbox"},
		{`{"toolCallId":"x","title":"post inbox","kind":"execute","rawInput":{"command":"rm -rf canary-secret"}}`, "no", "permission refused: execute: rm"},
		{`{"toolCallId":"x","title":"post inbox; rm -rf canary-secret","kind":"execute"}`, "no", "permission refused: execute: not a plain command"},
		{`{"toolCallId":"x","title":"write canary-secret","kind":"edit"}`, "no", "permission refused: edit"},
		{`{"toolCallId":"x","title":"post inbox"}`, "no", "permission refused: unknown"},
	} {
		y.fake.Say(acptest.Ask, c.call)
		had := len(y.fake.Lines("answers"))
		if out := y.wake(k, ample); out.State != notify.Notified {
			t.Fatalf("%+v", out)
		}
		y.until("an answer", func() bool { return len(y.fake.Lines("answers")) > had })
		y.ready(k)
		if got := y.fake.Lines("answers")[had]; !strings.Contains(got, `"optionId":"`+c.want+`"`) {
			t.Errorf("%s: %s", c.call, got)
		}
		if !strings.Contains(y.log(), c.log) {
			t.Errorf("%s is not in the log: %s", c.log, y.log())
		}
	}
	if strings.Contains(y.log(), "canary") {
		t.Errorf("the log tells too much: %s", y.log())
	}
	if got := slices.Compact(y.fake.Lines("faults")); got != nil {
		t.Error(got)
	}
}
