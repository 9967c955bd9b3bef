// Package officetest makes offices for tests: on the strict in-memory file
// system or on a real one, with a clock that only the test moves.
package officetest

import (
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/transcript"
	"github.com/postroom/postroom/internal/vfs"
)

// Start is the time at which every test office's clock starts.
var Start = time.Date(2026, 5, 30, 14, 3, 11, 123e6, time.UTC)

// Dir is where in-memory offices stand.
const Dir = "/office"

// Clock is a clock that a test moves.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock at Start.
func NewClock() *Clock { return &Clock{now: Start} }

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock, back if d is negative.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// System is a world with that clock in which every directory is served by open.
func System(c *Clock, open func(dir string) (vfs.FS, error)) office.System {
	return office.System{
		Now: c.Now, OpenFS: open,
		Machine: func() string { return "m-test" },
		Boot:    func() (string, time.Duration, bool) { return "boot", c.Now().Sub(Start), true },
		Host:    "test", PID: 1, Version: "post test", Parallel: 1,
	}
}

// Make makes an office with agents (aid "a-"+name) in fsys, which is Dir in
// memory, and syncs it.
func Make(t testing.TB, fsys vfs.FS, now time.Time, agents ...string) {
	t.Helper()
	MakeAt(t, fsys, Dir, now, agents...)
}

// MakeAt is Make for an office in dir.
func MakeAt(t testing.TB, fsys vfs.FS, dir string, now time.Time, agents ...string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{office.AgentsDir, office.MessagesDir, office.ApprovalsDir, office.ApprovalsDir + "/.done",
		office.ApprovalsDir + "/.rejected", transcript.Dir, journal.Dir, "fuses", "wake", "folded"} {
		must(fsys.Mkdir(d, 0o700))
	}
	for _, name := range []string{office.Human, office.Postroom} {
		must(spool.Box{FS: fsys, Dir: office.AgentsDir + "/" + name, Shared: true}.Make())
	}
	reg, err := registry.Create(fsys)
	must(err)
	for _, name := range agents {
		must(spool.Box{FS: fsys, Dir: office.AgentsDir + "/" + name, Shared: true}.Make())
		must(reg.Add(registry.Entry{Name: name, AID: "a-" + name, InboxPath: dir + "/agents/" + name + "/inbox",
			Transcript: "_inbox_" + name + ".md", Notify: []string{"none"}, Joined: now}))
	}
	must(reg.Save(fsys))
	must(spool.PutNew(fsys, ".", spool.LeaseFile, nil))
	cfg := config.New("post test", config.PersonCheckOff, now)
	cfg.ID, cfg.Machine = "o-test", "m-test"
	fi, err := fsys.Lstat(".")
	must(err)
	if _, ino, ok := vfs.Inode(fi); ok {
		cfg.Inode = ino
	}
	data, err := cfg.Encode()
	must(err)
	must(spool.PutNew(fsys, ".", config.OfficeFile, data))
	must(fsys.SyncDir("."))
}
