package router_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain collects garbage less often: the crash tests make a disk per state.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
