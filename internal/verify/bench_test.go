package verify_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/transcript"
	"github.com/postroom/postroom/internal/verify"
)

// fill writes n delivered messages as the router would leave them, without its
// syncs.
func fill(b *testing.B, d *officetest.RealDesk, n int) {
	b.Helper()
	o := d.Office()
	j, err := journal.Open(o.FS, d.Clock.Now())
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	box, sender := o.SystemBox("coder"), o.SystemBox("researcher")
	section, err := os.Create(d.Path("transcripts", "_inbox_coder.md"))
	if err != nil {
		b.Fatal(err)
	}
	defer section.Close()
	var clock mail.Clock
	var records []journal.Record
	var lines []mail.IndexLine
	var offset int64
	os.Mkdir(d.Path("messages", "2026-05"), 0o700)
	for i := range n {
		d.Clock.Advance(10 * time.Millisecond)
		m := &mail.Message{Schema: 1, ID: clock.Next(d.Clock.Now(), "a-researcher"), From: "researcher", To: "coder", Act: mail.Inform,
			Conversation: "conv-1", Subject: fmt.Sprint("number ", i), Body: fmt.Sprintf("%0800d", i), CreatedAt: d.Clock.Now(),
			Envelope: &mail.Envelope{Recipients: []string{"a-coder"}}, Office: o.Config.ID}
		data, err := m.Encode()
		if err != nil {
			b.Fatal(err)
		}
		name, digest := spool.FileName(m.ID), mail.DigestOf(data)
		file := d.Path("messages", m.ID.Month(), name)
		os.Mkdir(filepath.Dir(file), 0o700)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			b.Fatal(err)
		}
		for _, to := range []string{box.FS.Path(box.Path(spool.Done, name)), sender.FS.Path(sender.Path(spool.Sent, name))} {
			if err := os.Link(file, to); err != nil {
				b.Fatal(err)
			}
		}
		text := transcript.Render("researcher→coder", m, d.Clock.Now(), "")
		section.Write(text)
		base := journal.Record{At: d.Clock.Now(), ID: m.ID, From: "researcher", Act: "inform", Conversation: "conv-1", Digest: digest}
		delivered := base
		delivered.Event, delivered.Agent, delivered.AID, delivered.Seq, delivered.As = journal.Delivered, "coder", "a-coder", uint64(i+1), mail.AsTo
		records = append(records, delivered, journal.Record{At: d.Clock.Now(), Event: journal.Transcript, ID: m.ID, File: "_inbox_coder.md",
			Offset: offset, Length: int64(len(text)), Digest: mail.DigestOf(text), Detail: map[string]string{"header": "researcher→coder"}},
			journal.Record{At: d.Clock.Now(), Event: journal.Read, ID: m.ID, Agent: "coder", AID: "a-coder"},
			journal.Record{At: d.Clock.Now(), Event: journal.Done, ID: m.ID, Agent: "coder", AID: "a-coder"})
		offset += int64(len(text))
		lines = append(lines, mail.IndexLine{Seq: uint64(i + 1), ID: m.ID, Digest: digest, From: "researcher", Act: "inform", Subject: m.Subject, Conversation: "conv-1", As: mail.AsTo})
		if len(lines) == 1000 || i == n-1 {
			if err := j.Append(records...); err != nil {
				b.Fatal(err)
			}
			if err := j.Append(journal.Record{At: d.Clock.Now(), Event: journal.Settled}); err != nil {
				b.Fatal(err)
			}
			f, err := box.AppendIndex(lines)
			if err != nil {
				b.Fatal(err)
			}
			f.Close()
			records, lines = records[:0], lines[:0]
		}
	}
}

// BenchmarkRun verifies 100,000 messages and tells what that takes in memory.
func BenchmarkRun(b *testing.B) {
	const n = 100_000
	d := officetest.NewRealDesk(b, "researcher", "coder")
	fill(b, d, n)
	var peak uint64
	for b.Loop() {
		runtime.GC()
		rep, err := verify.Run(b.Context(), d.Office(), verify.Options{Progress: func(string, int) {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
		}})
		if err != nil || rep.First != nil || rep.Messages != n {
			b.Fatalf("%+v %v", rep, err)
		}
	}
	b.ReportMetric(float64(peak)/1e6, "peakMB")
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/n*1e6, "µs/message")
}
