package reach_test

import (
	"context"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/reach"
	"github.com/postroom/postroom/internal/vfs"
)

const underWay = 10 * time.Second

// Whatever a crash leaves on the disk, at any call, another process that comes
// afterwards makes no second notice; and if there was none, it makes one or says
// that it is in doubt.
func TestCrash(t *testing.T) {
	t.Parallel()
	h := newHome(t, "coder")
	a := h.ask("May I?")
	h.Mem.SyncAll()
	states, doubts := 0, 0
	h.Fault = &vfs.Fault{}
	h.Fault.After(func(call vfs.Call) {
		if !call.Edits() || t.Failed() {
			return
		}
		before := h.phone.calls()
		for disk := range h.Mem.CrashStates(10000) {
			states++
			next := &home{Desk: h.On(disk), t: t, phone: &phone{}, set: h.set}
			for range 3 {
				next.Clock.Advance(underWay)
				next.run()
			}
			after := next.phone.calls()
			doubt := next.status(a.ID).State == reach.InDoubt
			if doubt {
				doubts++
			}
			if before+after > 1 || before+after == 0 && !doubt {
				t.Errorf("crash after %v: %d notices before it and %d after; in doubt: %t\n%v", call, before, after, doubt, disk)
				return
			}
		}
	})
	if err := h.reacher().Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	h.Fault = nil
	if h.phone.calls() != 1 || states < 20 || doubts == 0 {
		t.Errorf("%d notices; %d disks looked at, %d in doubt", h.phone.calls(), states, doubts)
	}
	t.Logf("%d disks, %d in doubt", states, doubts)
}
