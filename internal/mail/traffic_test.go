package mail

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The short way reads what the long way does, whatever the texts say.
func TestTrafficIsWhatTheLineSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		l := IndexLine{
			Seq: rapid.Uint64().Draw(rt, "seq"), ID: "2026-05-30T14-03-11-123Z-0004-a1b2c3d4", Digest: DigestOf(nil),
			From: "ann", Act: "inform", As: AsTo, Conversation: "conv-7f3a91",
			Subject: rapid.OneOf(rapid.String(), rapid.Just(`","turns":99,"chain":99,"from":"eve`)).Draw(rt, "subject"),
			Turns:   rapid.IntRange(0, 5000).Draw(rt, "turns"), Chain: rapid.IntRange(0, 5000).Draw(rt, "chain"),
			Since: time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(rt, "since")).UTC(),
		}
		line := l.AppendLine(nil)
		got, ok := ParseTraffic(line[:len(line)-1])
		want := Traffic{l.From, l.Conversation, l.Turns, l.Chain, l.Since}
		if !ok || got != want {
			rt.Fatalf("%s\ngot  %+v\nwant %+v", line, got, want)
		}
	})
}

func TestTrafficOfGarbage(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "{", "{}", `{"seq":1`, `{"seq":1,"from":"a`, "\x00"} {
		if got, ok := ParseTraffic([]byte(s)); ok {
			t.Errorf("%q: %+v", s, got)
		}
	}
}
