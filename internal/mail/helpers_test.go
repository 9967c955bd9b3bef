package mail

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// noon is when tests happen.
var noon = time.Date(2026, 5, 30, 12, 0, 0, 123e6, time.UTC)

const (
	parentID = ID("2026-05-30T11-03-11-123Z-0004-a1b2c3d4")
	ownID    = ID("2026-05-30T12-00-00-123Z-0000-b1b2c3d4")
)

// sample returns a message with every field filled.
func sample() *Message {
	return &Message{
		Schema: Schema, ID: ownID, Conversation: "conv-7f3a91", InReplyTo: parentID,
		From: "researcher", To: "coder", CC: []string{"ann", "human"}, Act: Request,
		Subject: "Review the <retry> loop", Body: "Zeile 1\n\t\"zwei\" \\ ü\n",
		Hops: 3, RequiresReply: true, NeedsHuman: true,
		Deadline: noon.Add(time.Hour), CreatedAt: noon, Office: "o-1", Station: "lab", SentWith: "post 0.1.0",
		Envelope: &Envelope{
			Recipients: []string{"aid-1"}, CC: []string{"aid-2"}, Turns: 4, Key: "k", Again: true,
			Origin:    &Origin{Name: "note.json", Inode: 1<<64 - 1, Digest: DigestOf([]byte("x"))},
			ClaimedID: "mine",
		},
		Extra: map[string]json.RawMessage{"b": json.RawMessage(`{"x": [1, 2.50]}`), "a": json.RawMessage(`12345678901234567890`)},
	}
}

func encoded(t testing.TB, m *Message) []byte {
	t.Helper()
	data, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// wantError checks kind and text of an error.
func wantError(t *testing.T, err error, kind Kind, parts ...string) {
	t.Helper()
	if KindOf(err) != kind {
		t.Fatalf("kind %q, want %q: %v", KindOf(err), kind, err)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q lacks %q", err, p)
		}
	}
}

// genTime draws times an id can hold.
func genTime() *rapid.Generator[time.Time] {
	return rapid.Map(rapid.Int64Range(idEpoch, idEnd), func(ms int64) time.Time { return time.UnixMilli(ms).UTC() })
}
