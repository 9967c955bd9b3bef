//go:build !race

package router_test

import (
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/vfs"
)

// TestCrashDeliveredBeforeStored: a sender is stopped between its message's name
// in the outbox and the sync of that name, and somebody else's pass finds it.
// What a pass delivers must be in an outbox after any crash.
func TestCrashDeliveredBeforeStored(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]router.Options{
		"by a pass over everything": {All: true},
		"by another sender":         {Own: "a-coder", Park: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := parking(t, 1, parkedSection, parkedCopies, "office/agents/researcher/outbox/.sent")
			delivered := false
			c.watch(func() {
				c.Fault.Before(func(call vfs.Call) {
					if call.Op == "syncdir" && strings.HasSuffix(call.Name, "researcher/outbox") {
						c.Fault.Before(nil)
						c.Clock.Advance(time.Second) // long enough for anybody to think it dead
						c.route(opt)
						delivered = len(c.told) > 0
					}
				})
				c.send("researcher", item("1"))()
			}, c.pass)
			if !delivered {
				t.Fatal("the pass found nothing")
			}
		})
	}
}
