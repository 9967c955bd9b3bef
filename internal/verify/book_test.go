package verify

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
)

func TestKey(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(0, 253402300799999).Draw(t, "ms")).UTC()
		var c mail.Clock
		id := c.Next(at, rapid.String().Draw(t, "aid"))
		for range rapid.IntRange(0, 3).Draw(t, "more") {
			id = c.Next(at, "a")
		}
		k, ok := keyOf(id)
		if !ok || k.id() != id {
			t.Fatalf("%s became %s", id, k.id())
		}
	})
	if _, ok := keyOf("../registry"); ok {
		t.Error("took a path for an id")
	}
}

// TestBook compares the book with plain maps.
func TestBook(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type to struct {
			id  mail.ID
			aid string
		}
		var ids []mail.ID
		var c mail.Clock
		for range 40 {
			ids = append(ids, c.Next(time.UnixMilli(1e12), "a"))
		}
		b, seqs, done := &Book{}, map[to]uint64{}, map[to]bool{}
		for n := range rapid.IntRange(0, 200).Draw(t, "records") {
			x := to{rapid.SampledFrom(ids).Draw(t, "id"), rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "aid")}
			r := journal.Record{N: uint64(n + 1), Event: journal.Delivered, ID: x.id, AID: x.aid, Seq: uint64(n), Digest: mail.DigestOf([]byte(x.id))}
			if rapid.Bool().Draw(t, "done") {
				r.Event = journal.Done
				if _, ok := seqs[x]; ok {
					done[x] = true
				}
			} else if _, ok := seqs[x]; !ok {
				seqs[x] = r.Seq
			}
			b.add(r)
		}
		n := 0
		for d := range b.Deliveries() {
			n++
			x := to{d.ID, d.AID}
			if seq, ok := seqs[x]; !ok || seq != d.Seq || done[x] != d.Done || d.Digest != mail.DigestOf([]byte(d.ID)) {
				t.Fatalf("%+v", d)
			}
		}
		if n != len(seqs) {
			t.Fatalf("%d deliveries, want %d", n, len(seqs))
		}
	})
}

// BenchmarkBook holds a million messages and tells what that takes in memory.
func BenchmarkBook(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	var peak uint64
	for b.Loop() {
		book, clock, at := &Book{}, mail.Clock{}, time.UnixMilli(1e12)
		for n := range 1_000_000 {
			at = at.Add(time.Millisecond)
			id := clock.Next(at, "a")
			book.add(journal.Record{N: uint64(n + 1), Event: journal.Delivered, ID: id, AID: "a", Seq: uint64(n + 1), Digest: mail.DigestOf([]byte(id))})
			if n%10_000 == 0 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapInuse)
			}
		}
		runtime.KeepAlive(book)
	}
	b.ReportMetric(float64(peak)/1e6, "peakMB")
}
