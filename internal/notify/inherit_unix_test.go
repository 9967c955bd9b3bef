//go:build unix

package notify_test

import (
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/vfs"
)

// A program that stays in the background has not got the wake lock with it.
func TestLockIsNotInherited(t *testing.T) {
	t.Parallel()
	office := t.TempDir()
	fsys, err := vfs.OpenReal(office)
	if err != nil {
		t.Fatal(err)
	}
	defer fsys.Close()
	g, background := newTarget(t), newTarget(t)
	g.mode("daemon " + background.dir)
	background.mode("hang")
	t.Cleanup(func() { killRecorded(t, g.dir); killRecorded(t, background.dir) })
	arb := &notify.Arbiter{FS: fsys, Office: office, Table: notify.NewTable(notify.Exec{}), Budget: time.Minute}
	agent := notify.Agent{Name: "coder", AID: "a-1", Notify: g.notify()}
	unread := func() (notify.Waiting, error) {
		return notify.Waiting{IDs: []mail.ID{"2026-05-30T14-03-11-123Z-0004-a1b2c3d4"}}, nil
	}
	now := time.Date(2026, 5, 30, 14, 0, 0, 0, time.UTC)
	if out, err := arb.Wake(t.Context(), agent, unread, now); out.State != notify.Notified || err != nil {
		t.Fatalf("%+v, %v", out, err)
	}
	if recordedPID(t, g.dir) == 0 {
		t.Fatal("nothing stays in the background")
	}
	if out, err := arb.Wake(t.Context(), agent, unread, now); out.State != notify.Notified || err != nil {
		t.Errorf("the lock is still taken: %+v, %v", out, err)
	}
}
