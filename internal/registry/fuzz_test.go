package registry

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/postroom/postroom/internal/mail"
)

type jsonRaw = json.RawMessage

// Whatever sequence of edits: what the lines say, what was edited and what the
// strict parser reads agree, and every name keeps its first owner.
func TestEditsAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newMem()
		r, err := Create(m)
		if err != nil {
			t.Fatal(err)
		}
		owner := map[string]string{}
		name := rapid.SampledFrom([]string{"a", "ab", "b", "c", "c.d", "e-f"})
		aid := rapid.SampledFrom([]string{"a-1", "a-2", "a-3"})
		for range rapid.IntRange(1, 15).Draw(t, "steps") {
			n, a := name.Draw(t, "name"), aid.Draw(t, "aid")
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0:
				_ = r.Add(Entry{AID: a, Name: n, InboxPath: "/o/" + a, Role: rapid.String().Draw(t, "role")})
			case 1:
				_ = r.Rename(a, n)
			case 2:
				_ = r.Archive(a, rapid.Bool().Draw(t, "archived"))
			case 3:
				_ = r.AddChannel(n, a, aid.Draw(t, "other"))
			case 4:
				_ = r.AddMember(n, a)
			case 5:
				_ = r.RemoveChannel(n)
			case 6:
				if err := r.Save(m); err != nil {
					t.Fatal(err)
				}
				if r, err = Load(m); err != nil || r.Edited() {
					t.Fatal("load", err)
				}
			}
			for n, a := range owner {
				if got, ok := r.Agent(n); !ok || got.AID != a {
					t.Fatalf("%s was %s's, is %+v", n, a, got)
				}
			}
			for _, e := range r.Entries() {
				owner[e.Name] = e.AID
			}
		}
		if err := r.Save(m); err != nil {
			t.Fatal(err)
		}
		again, err := Load(m)
		if err != nil {
			t.Fatal(err)
		}
		agree(t, r, again)
	})
}

func agree(t interface{ Fatalf(string, ...any) }, a, b *Registry) {
	if !reflect.DeepEqual(a.Entries(), b.Entries()) || !reflect.DeepEqual(a.Channels(), b.Channels()) {
		t.Fatalf("differ:\n%+v\n%+v", a.Entries(), b.Entries())
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(byHand))
	f.Add(encode(&document{agents: []Entry{entry("a1")}, channels: []Channel{{Name: "t", Members: []string{"a-a1"}}}}))
	f.Add([]byte(head + lineAID + `x","name":"y"` + "\n" + channelHead))
	f.Add([]byte(fmt.Sprintf("%s%s]\n%s00000000%s", head, channelHead, crcHead, crcTail)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := newMem()
		put(t, m, string(raw))
		r, err := Load(m)
		if err != nil {
			if k := mail.KindOf(err); k != mail.KindCorrupt && k != mail.KindForeign {
				t.Fatalf("%s: %v", k, err)
			}
			return
		}
		if err := r.Save(m); err != nil {
			t.Fatal(err)
		}
		again := mustLoad(t, m)
		if again.Edited() {
			t.Fatal("still edited after Save")
		}
		agree(t, r, again)
		for _, e := range r.Entries() {
			if a, ok := again.Agent(e.Name); !ok || a.AID != e.AID {
				t.Fatalf("%s is lost", e.Name)
			}
		}
	})
}
