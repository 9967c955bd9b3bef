package search

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
)

// TestSearchIsAScan: the index finds what looking at every message finds, in the
// same order, whenever it took them in.
func TestSearchIsAScan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f := newFilled(t, "ann", "bob", "eve")
		f.t = failer{t, rt}
		defer os.RemoveAll(f.Root)
		vocabulary := []string{"retry", "loop", "Retry", "build", "green", "x1", "über", "NOT", "facet", "a.b"}
		names := []string{"ann", "bob", "eve"}
		words := func(label string) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 6).Draw(rt, label), rapid.SampledFrom([]string{" ", "\n", ", ", "-"}).Draw(rt, "gap"))
		}

		for i := range rapid.IntRange(1, 25).Draw(rt, "messages") {
			m := f.message(rapid.SampledFrom(names).Draw(rt, "from"), rapid.SampledFrom(append(names, "human")).Draw(rt, "to"),
				rapid.SampledFrom(mail.Acts()).Draw(rt, "act"), mail.CleanSubject(fmt.Sprint("s", i, " ", words("subject"))), words("body"))
			if len(f.sent) > 0 && rapid.Bool().Draw(rt, "same") {
				m.Conversation = f.sent[0].Conversation
			}
			f.Clock.Advance(time.Duration(rapid.IntRange(-3, 9).Draw(rt, "hours")) * time.Hour)
			f.add(m)
			if rapid.IntRange(0, 9).Draw(rt, "index") == 0 {
				f.open()
			}
		}
		x := f.open()
		for range 8 {
			terms := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) string { return drawTerm(rt, f, vocabulary, names) }), 1, 4).Draw(rt, "query")
			query := strings.Join(terms, " ")
			who := Reader{}
			if rapid.Bool().Draw(rt, "agent") {
				who = Reader{AID: "a-ann", Name: "ann"}
			}
			got := f.findAs(x, query, Request{Limit: 100, Who: who})
			if want := f.scan(query, who); !slices.Equal(got, want) {
				rt.Fatalf("%s as %q:\n%q, want\n%q", query, who.Name, got, want)
			}
			if len(got) > 1 && len(got) < 6 {
				pages(rt, f, x, query, who, got)
			}
		}
	})
}

// failer lets a helper of a testing.TB fail a property.
type failer struct {
	testing.TB
	rt *rapid.T
}

func (f failer) Fatal(args ...any) { f.rt.Fatal(args...) }

func (f failer) Errorf(format string, args ...any) { f.rt.Errorf(format, args...) }

// pages wants the same hits one by one.
func pages(rt *rapid.T, f *filled, x *Index, query string, who Reader, want []string) {
	q, _ := Parse(query, f.Clock.Now())
	r := Request{Query: q, Limit: 1, Who: who}
	for i, subject := range want {
		found, err := x.Find(context.Background(), r)
		if err != nil || len(found.Hits) != 1 || found.Hits[0].Message.Subject != subject || found.More != (i < len(want)-1) {
			rt.Fatalf("%s, page %d: %+v %v", query, i, found, err)
		}
		r.Above = found.Last
	}
}

func drawTerm(rt *rapid.T, f *filled, vocabulary, names []string) string {
	not := rapid.SampledFrom([]string{"", "", "-"}).Draw(rt, "not")
	switch rapid.IntRange(0, 7).Draw(rt, "kind") {
	case 0:
		return not + `"` + rapid.SampledFrom(vocabulary).Draw(rt, "one") + " " + rapid.SampledFrom(vocabulary).Draw(rt, "two") + `"`
	case 1:
		return not + "from:" + rapid.SampledFrom(names).Draw(rt, "from")
	case 2:
		return not + "to:" + rapid.SampledFrom(append(names, "human")).Draw(rt, "to")
	case 3:
		return not + "act:" + string(rapid.SampledFrom(mail.Acts()).Draw(rt, "act"))
	case 4:
		return not + "thread:" + f.sent[rapid.IntRange(0, len(f.sent)-1).Draw(rt, "thread")].Conversation
	case 5:
		return rapid.SampledFrom([]string{"after:", "before:"}).Draw(rt, "which") + rapid.SampledFrom([]string{"1h", "2d", "5h", "2026-05-30T20:00"}).Draw(rt, "when")
	case 6:
		return not + rapid.SampledFrom([]string{"re", "b", "gr"}).Draw(rt, "start") + "*"
	}
	return not + rapid.SampledFrom(vocabulary).Draw(rt, "word")
}

// scan is the search as it reads in docs/search.md, by looking at each message.
func (f *filled) scan(query string, who Reader) []string {
	q, err := Parse(query, f.Clock.Now())
	f.check(err)
	out := []string{}
	for _, m := range slices.Backward(f.sent) {
		fits := who.AID == "" || m.From == who.Name || m.To == who.Name
		either := map[string]bool{}
		for _, t := range q.Terms {
			got := false
			switch t.Field {
			case "":
				p := wordsOf(Query{Terms: []Term{{Value: t.Value, Prefix: t.Prefix}}})
				got = len(spans(words(m.Subject), p))+len(spans(words(m.Body), p)) > 0
			case fieldFrom:
				got = m.From == t.Value
			case fieldTo:
				got = m.To == t.Value
			case fieldAct:
				got = string(m.Act) == t.Value
			case fieldThread:
				got = m.Conversation == t.Value
			}
			if t.Field == "" || t.Not {
				fits = fits && got != t.Not
			} else {
				either[t.Field] = either[t.Field] || got
			}
		}
		for _, ok := range either {
			fits = fits && ok
		}
		if fits && (q.After.IsZero() || !m.CreatedAt.Before(q.After)) && (q.Before.IsZero() || m.CreatedAt.Before(q.Before)) {
			out = append(out, m.Subject)
		}
	}
	return out
}

// TestStates: what recipients' receipts say counts, and nothing else does.
func TestStates(t *testing.T) {
	t.Parallel()
	f := newFilled(t, "ann", "bob")
	f.RealDesk.Mail("ann", "bob", mail.Request, "first", "x")
	f.RealDesk.Mail("ann", "bob", mail.Inform, "second", "x")
	f.RealDesk.Mail("ann", "bob", mail.Inform, "third", "x")
	f.RealDesk.Mail("ann", "human", mail.Query, "asked", "x")
	x := f.open()
	f.wants(x, "state:unread", "third", "second", "first")
	f.wants(x, "state:asked", "asked")
	f.wants(x, "is:owed", "first")
	f.wants(x, "state:bounced")
	bob := f.Box("bob")
	ids := map[string]mail.ID{}
	items, err := bob.List(true)
	f.check(err)
	for _, it := range items {
		ids[it.Subject] = it.ID
	}
	f.check(bob.Receipt(mail.Receipt{Event: mail.EventRead, ID: ids["first"], Part: 1, Parts: 2}, mail.Receipt{Event: mail.EventSurfaced, ID: ids["second"]}))
	f.wants(x, "state:unread", "third", "second", "first")
	f.check(bob.Receipt(mail.Receipt{Event: mail.EventRead, ID: ids["first"], Part: 2, Parts: 2}, mail.Receipt{Event: mail.EventDone, ID: ids["second"]}))
	f.wants(x, "state:read", "first")
	f.wants(x, "state:done", "second")
	f.wants(x, "state:unread state:done", "third", "second")
	f.wants(x, "state:unread to:ann")
	if got := f.findAs(x, "state:unread", Request{Limit: 9, Who: Reader{"a-bob", "bob"}}); !slices.Equal(got, []string{"third"}) {
		t.Error(got)
	}
	f.check(os.Remove(filepath.Join(f.Dir, "agents/bob/receipts.jsonl")))
	f.check(os.Mkdir(filepath.Join(f.Dir, "agents/bob/receipts.jsonl"), 0o700))
	found, err := x.Find(context.Background(), Request{Limit: 9})
	if err != nil || !slices.Equal(found.Blind, []string{"bob"}) {
		t.Errorf("%v %v", found.Blind, err)
	}
}

// TestReadBeforeIndexed: an owner is faster than the index.
func TestReadBeforeIndexed(t *testing.T) {
	t.Parallel()
	f := newFilled(t, "ann", "bob")
	f.RealDesk.Mail("ann", "bob", mail.Inform, "first", "x")
	x := f.open()
	id := f.RealDesk.Mail("ann", "bob", mail.Inform, "second", "x")
	f.check(f.Box("bob").Receipt(mail.Receipt{Event: mail.EventRead, ID: id}))
	_, err := x.Receipts(context.Background()) // before the journal is read on
	f.check(err)
	_, err = x.Update(context.Background())
	f.check(err)
	f.wants(x, "state:read", "second")
	f.wants(x, "state:unread", "first")
}

// TestWhoMaySee: an agent finds its own mail only, under all its names, whatever
// it asks for.
func TestWhoMaySee(t *testing.T) {
	t.Parallel()
	f := newFilled(t, "ann", "bob", "eve")
	f.add(f.message("ann", "bob", mail.Inform, "secret", "plan"), f.message("eve", "ann", mail.Inform, "to ann", "plan"), f.message("eve", "bob", mail.Inform, "to bob", "plan"))
	x := f.open()
	eve := Reader{"a-eve", "eve"}
	for _, q := range []string{"plan", "from:ann plan", "-nothing", "to:bob", "state:unread", "after:1d", `plan* "plan"`} {
		for _, s := range f.findAs(x, q, Request{Limit: 9, Who: eve}) {
			if s == "secret" {
				t.Errorf("%s shows eve what is not hers", q)
			}
		}
	}
	if got := f.findAs(x, "plan", Request{Limit: 9, Who: eve}); !slices.Equal(got, []string{"to bob", "to ann"}) {
		t.Error(got)
	}
	if got := f.findAs(x, "plan", Request{Limit: 9, MayRead: func(m *mail.Message) bool { return m.From == "ann" }}); !slices.Equal(got, []string{"secret"}) {
		t.Error(got)
	}
	reg := f.Registry()
	f.check(reg.Rename("a-eve", "eva"))
	f.check(reg.Save(f.Office().FS))
	x = f.open()
	f.wants(x, "from:eva", "to bob", "to ann")
	f.wants(x, "from:eve", "to bob", "to ann")
	if got := f.findAs(x, "plan", Request{Limit: 9, Who: Reader{"a-eve", "eva"}}); !slices.Equal(got, []string{"to bob", "to ann"}) {
		t.Error(got)
	}
}

// TestFates: what the office refused and what became of questions, as real passes
// journal it.
func TestFates(t *testing.T) {
	t.Parallel()
	f := newFilled(t, "ann", "bob")
	id := f.RealDesk.Mail("ann", "bob", mail.Inform, "news", "x")
	out, err := f.Box("bob").Send(mailbox.Draft{To: []string{"ann"}, Act: mail.Inform, Subject: "Re: news", Body: "x", InReplyTo: id})
	if err == nil && out[0].Err == nil {
		t.Fatal("the rules let a reply to inform through")
	}
	f.check(os.WriteFile(filepath.Join(f.Dir, "agents/bob/outbox/x.json"), []byte(`{"to":"nobody","body":"lost","subject":"typo"}`), 0o600))
	f.RealDesk.Pass()
	x := f.open()
	f.wants(x, "state:bounced", "typo")
	f.wants(x, "from:postroom to:bob", "Not delivered: typo")
}

// TestCopies: a copy that comes late is taken in then; one that is not what was
// delivered is not, and neither is silently left out.
func TestCopies(t *testing.T) {
	t.Parallel()
	f := newFilled(t, "ann", "bob")
	late, forged := f.message("ann", "bob", mail.Inform, "late", "x"), f.message("ann", "bob", mail.Inform, "forged", "x")
	f.journal(late, forged)
	forged.Body = "y"
	f.put(forged)
	x := f.open()
	update := func(missing int) {
		t.Helper()
		if taken, err := x.Update(context.Background()); err != nil || taken.Missing != missing {
			t.Fatalf("%+v %v", taken, err)
		}
	}
	update(2)
	f.wants(x, "x")
	f.wants(x, "y")
	f.put(late)
	update(1)
	f.wants(x, "state:unread", "late")
	late.Body = "z"
	f.put(late)
	f.wants(x, "x", "doubtful: 1")
	stray := f.message("bob", "ann", mail.Inform, "stray", "old")
	f.put(stray)
	f.add(f.message("ann", "bob", mail.Inform, "new", "new"))
	f.Clock.Advance(2 * time.Hour)
	f.check(x.Rebuild(context.Background()))
	update(2)
	f.wants(x, "from:ann from:bob", "new", "stray")
}

// TestInjection: nothing of a query is syntax of SQL or FTS5.
func TestInjection(t *testing.T) {
	t.Parallel()
	f := newFilled(t, "ann", "bob")
	m := f.message("ann", "bob", mail.Inform, "one", "alpha AND beta NEAR gamma facet of z1")
	f.add(m, f.message("ann", "bob", mail.Inform, "two", "delta"))
	x := f.open()
	f.wants(x, "delta AND")
	f.wants(x, "alpha AND NEAR", "one")
	f.wants(x, `NEAR(alpha,beta)`)
	f.wants(x, `facet:z1`)
	f.wants(x, `z1`, "one")
	f.wants(x, `{subject body} delta`)
	f.wants(x, `x"OR"delta`)
	for _, q := range []string{`'; DROP TABLE message; --`, `") OR ("delta`, `a" OR 1=1 "b`, `a^2`, `(delta)`, `thread:x'or`, `"delta" + "x"`, "*delta", `a""b`, strings.Repeat("a ", 60)} {
		parsed, err := Parse(q, f.Clock.Now())
		if err == nil {
			_, err = x.Find(context.Background(), Request{Query: parsed, Limit: 9})
		}
		if k := mail.KindOf(err); err != nil && k != mail.KindInvalid {
			t.Errorf("%s: %v", q, err)
		}
	}
	f.wants(x, "delta", "two")
}

func TestRank(t *testing.T) {
	t.Parallel()
	f := newFilled(t, "ann", "bob")
	f.add(f.message("ann", "bob", mail.Inform, "about builds", "builds builds builds"), f.message("ann", "bob", mail.Inform, "other", "a long text that says builds once and then goes on for long about something else"))
	x := f.open()
	f.wants(x, "builds", "other", "about builds")
	if got := f.findAs(x, "builds", Request{Limit: 9, Rank: true}); !slices.Equal(got, []string{"about builds", "other"}) {
		t.Error(got)
	}
}
