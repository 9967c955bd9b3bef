package router_test

import (
	"fmt"
	"testing"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/officetest"
)

// TestManyJoinsAreSettled: what needs no redoing is read by passes until it is much,
// and then never again; with the mark before it, it is durable.
func TestManyJoinsAreSettled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		joins int
		marks int
	}{{10, 0}, {63, 0}, {64, 1}, {200, 1}} {
		d := officetest.NewDesk(t, "researcher", "coder")
		joined(t, d, c.joins)
		had := len(events(t, d))
		d.Pass()
		d.Mem.SyncAll() // the mark itself is not synced
		d.Pass()
		got := events(t, d)
		if len(got) != had+c.marks || c.marks > 0 && got[len(got)-1] != journal.Settled {
			t.Errorf("%d joins: %d records and then %v", c.joins, had, got[had:])
		}
		head, err := journal.Durable(d.Office().FS)
		if err != nil || c.marks > 0 && head.N != uint64(had) {
			t.Errorf("%d joins: durable to %+v, %v", c.joins, head, err)
		}
	}
}

// joined writes the records of joins that left nothing else behind.
func joined(t *testing.T, d *officetest.Desk, n int) {
	t.Helper()
	j, err := journal.Open(d.Office().FS, d.Clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for i := range n {
		if err := j.Append(journal.Record{At: d.Clock.Now(), Event: journal.Joined, Agent: fmt.Sprint("a", i), AID: fmt.Sprint("a-", i)}); err != nil {
			t.Fatal(err)
		}
	}
}
