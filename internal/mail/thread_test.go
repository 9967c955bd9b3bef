package mail

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestConversation(t *testing.T) {
	t.Parallel()
	c := NewConversation(ownID)
	if c != NewConversation(ownID) || c == NewConversation(parentID) || !ValidConversation(c) || len(c) != len("conv-")+10 {
		t.Errorf("%q", c)
	}
	for _, s := range []string{"conv-7f3a91", "a", "Auth_2.1-x", strings.Repeat("a", 64)} {
		if !ValidConversation(s) {
			t.Errorf("%q refused", s)
		}
	}
	for _, s := range []string{"", ".", "..", "a..b", "-a", "_a", "a/b", `a\b`, "a b", "a\n", "é", "a\x00", "a\u202e", strings.Repeat("a", 65)} {
		if ValidConversation(s) {
			t.Errorf("%q accepted", s)
		}
	}
}

func TestContentKey(t *testing.T) {
	t.Parallel()
	base := func() *Message {
		return &Message{From: "ann", To: "coder", CC: []string{"x", "y"}, Act: Request, Subject: "s", Body: "b", InReplyTo: parentID}
	}
	key := ContentKey(base())
	if len(key) != 64 {
		t.Errorf("%q", key)
	}
	same := base()
	same.CC = []string{"y", "x"}
	same.ID, same.Hops, same.CreatedAt, same.Conversation, same.Envelope = ownID, 3, noon, "conv-1", &Envelope{Turns: 2}
	if ContentKey(same) != key || !slices.Equal(same.CC, []string{"y", "x"}) {
		t.Error("the order of cc or a stamp changes the key")
	}
	for name, change := range map[string]func(*Message){
		"from": func(m *Message) { m.From = "anna" }, "to": func(m *Message) { m.To = "codr" }, "act": func(m *Message) { m.Act = Query },
		"subject": func(m *Message) { m.Subject = "" }, "body": func(m *Message) { m.Body = "b\n" }, "parent": func(m *Message) { m.InReplyTo = "" },
		"cc": func(m *Message) { m.CC = nil }, "cc moved": func(m *Message) { m.CC = []string{"xy"} },
		"to and cc": func(m *Message) { m.To, m.CC = "x", []string{"coder", "y"} },
		"border":    func(m *Message) { m.Subject, m.Body = "sb", "" },
	} {
		m := base()
		change(m)
		if ContentKey(m) == key {
			t.Errorf("%s does not matter", name)
		}
	}
	bare := base()
	bare.Act = ""
	inform := base()
	inform.Act = Inform
	if ContentKey(bare) != ContentKey(inform) {
		t.Error("a missing act is not inform")
	}
}

func TestActs(t *testing.T) {
	t.Parallel()
	for _, a := range Acts() {
		if !a.Known() || a.Obliges() && (a.Terminal() || a.Discharges()) {
			t.Errorf("%s", a)
		}
	}
	if Act("Request").Known() || Act("").Known() || Agree.Discharges() || !Done.Terminal() || !Inform.Terminal() || Refuse.Terminal() {
		t.Error("acts")
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]*Error{
		`deliver 2026-05-30T12-00-00-123Z-0000-b1b2c3d4: inbox of coder: no space; free some`: {Op: "deliver", ID: ownID, Addr: "inbox of coder",
			Err: errText("no space"), Hint: "free some"},
		`send: busy`: {Op: "send", Kind: KindBusy},
	} {
		if err.Error() != want {
			t.Errorf("%s", err)
		}
	}
}

// The exit codes are what scripts and agents go by (design §6).
func TestExit(t *testing.T) {
	t.Parallel()
	for k, want := range map[Kind]int{
		KindUsage: 2, KindNotify: 3, KindDelivery: 4, KindBusy: 4, KindReadOnly: 4, KindUnknown: 5, KindRule: 5, KindTerminal: 5,
		KindParent: 5, KindAmbiguous: 5, KindNotFound: 5, KindIdentity: 5, KindPerson: 5, KindConflict: 5, KindInvalid: 5, KindTooLarge: 5,
		KindTimeout: 6, KindStore: 1, KindCorrupt: 1, KindForeign: 1, KindFound: 1, KindMissingPostd: 1, "": 1,
	} {
		if k.Exit() != want {
			t.Errorf("%s: %d", k, k.Exit())
		}
	}
	if KindOf(nil) != "" || KindOf(errText("x")) != KindStore || KindOf(fmt.Errorf("x: %w", &Error{Kind: KindBusy})) != KindBusy {
		t.Error("KindOf")
	}
}

type errText string

func (e errText) Error() string { return string(e) }

func TestQuoteShort(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := quoteShort(strings.Repeat(rapid.String().Draw(t, "s"), 5))
		if strings.ContainsFunc(q, breaks) || len(q) > 12*quoteMax {
			t.Fatalf("%s", q)
		}
	})
}
