package mail

import (
	"strings"
	"testing"
)

func BenchmarkEncode1K(b *testing.B) {
	m := sample()
	m.Body = strings.Repeat("Some words and a line break.\n", 35)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Encode(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse1K(b *testing.B) {
	m := sample()
	m.Body = strings.Repeat("Some words and a line break.\n", 35)
	data := encoded(b, m)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseIndexLine(b *testing.B) {
	line := IndexLine{Seq: 9, ID: ownID, Digest: DigestOf(nil), From: "a", Act: "inform", Subject: "s", Conversation: "c", As: AsTo}.AppendLine(nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseIndexLine(line); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	var c Clock
	b.ReportAllocs()
	for b.Loop() {
		c.Next(noon, "aid-1")
	}
}

func BenchmarkContentKey1K(b *testing.B) {
	m := sample()
	m.Body = strings.Repeat("x", 1000)
	b.ReportAllocs()
	for b.Loop() {
		ContentKey(m)
	}
}
