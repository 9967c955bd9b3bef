package mail

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestClockNext(t *testing.T) {
	t.Parallel()
	ahead := newID(noon.Add(time.Minute).UnixMilli(), 7, "other")
	for _, c := range []struct {
		name string
		last ID
		want string // stem
	}{
		{"new", "", "2026-05-30T12-00-00-123Z-0000"},
		{"same millisecond", newID(noon.UnixMilli(), 41, "x"), "2026-05-30T12-00-00-123Z-0042"},
		{"same millisecond, high tag", ID("2026-05-30T12-00-00-123Z-0041-ffffffff"), "2026-05-30T12-00-00-123Z-0042"},
		{"wall clock behind", ahead, "2026-05-30T12-01-00-123Z-0008"},
		{"wall clock ahead", newID(noon.Add(-time.Hour).UnixMilli(), 9999, "x"), "2026-05-30T12-00-00-123Z-0000"},
		{"counter used up", newID(noon.UnixMilli(), 9999, "x"), "2026-05-30T12-00-00-124Z-0000"},
		{"counter used up at the end of a year", newID(time.Date(2026, 12, 31, 23, 59, 59, 999e6, time.UTC).UnixMilli(), 9999, "x"),
			"2027-01-01T00-00-00-000Z-0000"},
		{"last is torn", "2026-05-30T12-", "2026-05-30T12-00-00-123Z-0000"},
	} {
		clock := Clock{Last: c.last}
		id := clock.Next(noon, "aid-1")
		if id.Stem() != c.want || !id.OwnedBy("aid-1") || clock.Last != id {
			t.Errorf("%s: %s, want %s", c.name, id, c.want)
		}
	}
	end := Clock{Last: "9999-12-31T23-59-59-999Z-9999-00000000"}
	if id := end.Next(noon, "aid-1"); id != "" {
		t.Errorf("after the last id: %s", id)
	}
	for _, now := range []time.Time{{}, time.Unix(-1, 0), time.Unix(1<<40, 0)} {
		if id := new(Clock).Next(now, "x"); !id.Valid() {
			t.Errorf("at %v: %q", now, id)
		}
	}
}

func TestClockObserve(t *testing.T) {
	t.Parallel()
	const drift = 5 * time.Minute
	at := func(d time.Duration) ID { return newID(noon.Add(d).UnixMilli(), 3, "other") }
	for _, c := range []struct {
		name       string
		last, seen ID
		merged     bool
		want       ID
	}{
		{"older", at(0), at(-time.Hour), true, at(0)},
		{"newer", at(0), at(time.Minute), true, at(time.Minute)},
		{"at the limit", "", at(drift), true, at(drift)},
		{"beyond it", at(0), at(drift + time.Millisecond), false, at(0)},
		{"far future", "", "9999-12-31T23-59-59-999Z-9999-ffffffff", false, ""},
		{"no id", at(0), "zzzz", false, at(0)},
		{"none", at(0), "", false, at(0)},
	} {
		clock := Clock{Last: c.last}
		if got := clock.Observe(c.seen, noon, drift); got != c.merged || clock.Last != c.want {
			t.Errorf("%s: %v, %s", c.name, got, clock.Last)
		}
	}
}

// Whatever the wall clocks do, ids only grow, replies sort after what they
// answer, and an id from the far future drags nobody along.
func TestClockProperties(t *testing.T) {
	t.Parallel()
	const drift = time.Minute
	rapid.Check(t, func(t *rapid.T) {
		clocks := [2]Clock{}
		wall := [2]time.Time{noon, noon.Add(-time.Hour)}
		aids := [2]string{"aid-a", "aid-b"}
		latest := noon
		used := map[ID]bool{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			i := rapid.IntRange(0, 1).Draw(t, "who")
			step := rapid.SampledFrom([]time.Duration{0, 0, time.Microsecond, time.Millisecond, time.Second, -time.Hour}).Draw(t, "step")
			wall[i] = wall[i].Add(step)
			latest = time.UnixMilli(max(latest.UnixMilli(), wall[i].UnixMilli()))
			if rapid.Bool().Draw(t, "seldom full") && clocks[i].Last != "" {
				clocks[i].Last = clocks[i].Last[:25] + "9999" + clocks[i].Last[29:]
			}
			before := clocks[i].Last
			id := clocks[i].Next(wall[i], aids[i])
			if id <= before || id.Time().UnixMilli() < wall[i].UnixMilli() || !id.OwnedBy(aids[i]) || used[id] {
				t.Fatalf("after %s at %v: %s", before, wall[i], id)
			}
			used[id] = true
			other := 1 - i
			if clocks[other].Observe(id, wall[other], drift) {
				if reply := clocks[other].Next(wall[other], aids[other]); reply <= id {
					t.Fatalf("the reply %s sorts before %s", reply, id)
				}
			}
			for j := range clocks {
				if last := clocks[j].Last; last != "" && last.Time().Sub(latest) > drift+time.Second {
					t.Fatalf("the clock ran ahead to %s at %v", last, latest)
				}
			}
		}
	})
}

func TestClockText(t *testing.T) {
	t.Parallel()
	for _, c := range []Clock{{}, {Last: ownID}} {
		got, err := ParseClock(c.Text())
		if err != nil || got != c {
			t.Errorf("%q: %v, %v", c.Text(), got, err)
		}
	}
	for _, s := range []string{"", "\n", string(ownID), string(ownID[:20]) + "\n", string(ownID) + "\n\n", "none", "\x00\x00\n"} {
		_, err := ParseClock(s)
		wantError(t, err, KindCorrupt, "read clock")
	}
}
