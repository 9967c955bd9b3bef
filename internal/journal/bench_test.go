package journal

import (
	"fmt"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

func benchRecords(n int) []Record {
	rs := make([]Record, n)
	for i := range rs {
		id := mail.ID(fmt.Sprintf("2026-05-30T14-03-11-123Z-%04d-a1b2c3d4", i%10000))
		rs[i] = Record{At: day1, Event: Delivered, ID: id, Agent: "worker-0001", AID: "a-1f2e3d4c", Seq: uint64(i + 1),
			Digest: mail.DigestOf([]byte(id)), As: "to", From: "researcher", Act: "request", Conversation: "conv-7f3a91"}
	}
	return rs
}

func benchJournal(b *testing.B, records int) vfs.FS {
	fsys, err := vfs.OpenReal(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	j, err := Open(fsys, day1)
	if err == nil {
		err = j.Append(append(benchRecords(records), Record{At: day1, Event: Settled})...)
	}
	if err != nil {
		b.Fatal(err)
	}
	return fsys
}

func BenchmarkOpen(b *testing.B) {
	fsys := benchJournal(b, 100_000)
	for b.Loop() {
		j, err := Open(fsys, day1)
		if err != nil {
			b.Fatal(err)
		}
		j.Close()
	}
}

func BenchmarkAppend100(b *testing.B) {
	j, err := Open(benchJournal(b, 1), day1)
	if err != nil {
		b.Fatal(err)
	}
	rs := benchRecords(100)
	b.ReportAllocs()
	for b.Loop() {
		if err := j.Append(rs...); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEachMatching(b *testing.B) {
	fsys := benchJournal(b, 100_000)
	fi, err := fsys.Lstat(path(file1))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(fi.Size())
	for b.Loop() {
		n := 0
		err := EachMatching(fsys, time.Time{}, []byte("Z-0042-a1b2"), func(Record) error { n++; return nil })
		if err != nil || n != 10 {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	fsys := benchJournal(b, 20_000)
	for b.Loop() {
		if r, err := Verify(fsys); err != nil || r.Break != nil {
			b.Fatal(r.Break, err)
		}
	}
}
