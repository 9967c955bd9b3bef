//go:build e2e && linux

package links

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// twoOffices is ann at one and bob at two: she sent him three messages, he read
// one and owes an answer, one was refused, and all is well.
func twoOffices() (map[string]*books, []claim) {
	one, two := emptyBooks("one"), emptyBooks("two")
	ann, proxy := one.put("ann", "a-ann", ""), two.put("ann@one", "a-ann", "one")
	box, bob := one.put("bob@two", "a-bob", "two"), two.put("bob", "a-bob", "")
	var claims []claim
	for i := range 4 {
		id := fmt.Sprintf("2026-05-30T14-00-0%d-000Z-0000-00000000", i)
		l := letter{ID: id, From: "ann", To: "bob@two", Act: "inform", Body: fmt.Sprint("number ", i)}
		l.Envelope = &struct{ Recipients, CC []string }{Recipients: []string{"a-bob"}}
		l.raw = fmt.Sprint(l)
		one.messages[id], ann.sent[id] = l, l
		one.deliver(box, l, true)
		claims = append(claims, claim{"one", "ann", "bob@two", id, l.Body, 0})
		if i == 3 {
			claims[i].exit = 4
			one.note("refused", id, "a-bob")
			bounce := letter{ID: "2026-05-30T14-00-03-000Z-0000-11111111", From: "postroom", InReplyTo: id, To: "ann", raw: "x"}
			bounce.Envelope = &struct{ Recipients, CC []string }{Recipients: []string{"a-ann"}}
			one.messages[bounce.ID] = bounce
			one.deliver(ann, bounce, false)
			continue
		}
		there := l
		there.From, there.To, there.raw = "ann@one", "bob", "there"+l.raw
		two.messages[id], proxy.sent[id] = there, there
		two.deliver(bob, there, false)
		one.note("arrived", id, "a-bob")
	}
	first := claims[0].id
	one.note("read", first, "a-bob")
	two.note("read", first, "a-bob")
	one.open[first+" a-bob"], two.open[first+" a-bob"] = "a-ann", "a-ann"
	return map[string]*books{"one": one, "two": two}, claims
}

func emptyBooks(station string) *books {
	b := &books{station: station, agents: map[string]*agent{}, byAID: map[string]*agent{}, messages: map[string]letter{}, asked: map[string]int{}, open: map[string]string{}}
	b.put("human", "", "")
	b.put("postroom", "", "")
	return b
}

func (b *books) put(name, aid, station string) *agent {
	a := &agent{name: name, aid: aid, station: station}
	for _, m := range []*map[string]letter{&a.inbox, &a.done, &a.outbox, &a.sent, &a.failed} {
		*m = map[string]letter{}
	}
	b.agents[name] = a
	if aid != "" {
		b.byAID[aid] = a
	}
	return a
}

func (b *books) deliver(a *agent, l letter, done bool) {
	a.index = append(a.index, indexed{Seq: len(a.index) + 1, ID: l.ID, From: l.From})
	if done {
		a.done[l.ID] = l
	} else {
		a.inbox[l.ID] = l
	}
	b.note("delivered", l.ID, a.aid)
}

func (b *books) note(event, id, aid string) {
	b.journal = append(b.journal, record{N: len(b.journal) + 1, Event: event, ID: id, AID: aid})
}

// The checker sees what is wrong, each thing for itself.
func TestCheckerSees(t *testing.T) {
	t.Parallel()
	all, claims := twoOffices()
	if v := judge(all, claims); len(v.wrong) > 0 || v.crossings != 3 || v.refused != 1 || v.read != 1 {
		t.Fatalf("all is well, and: %v\n%s", v, strings.Join(v.wrong, "\n"))
	}
	id := func(i int) string { return fmt.Sprintf("2026-05-30T14-00-0%d-000Z-0000-00000000", i) }
	for _, c := range []struct {
		what, want string
		plant      func(one, two *books, ann, box, bob *agent)
	}{
		{"a loss", "said to have arrived, and is not there", func(_, two *books, _, _, bob *agent) {
			delete(bob.inbox, id(1))
			bob.index = slices.Delete(bob.index, 1, 2)
		}},
		{"a loss of the file alone", "its mailbox does not", func(_, _ *books, _, _, bob *agent) { delete(bob.inbox, id(1)) }},
		{"a duplicate", "there 2 times", func(_, two *books, _, _, bob *agent) {
			l := bob.inbox[id(1)]
			l.ID = "2026-05-30T14-00-09-000Z-0000-00000000"
			two.messages[l.ID] = l
			two.deliver(bob, l, false)
		}},
		{"a duplicate in the index", "has .* 2 times", func(_, _ *books, _, _, bob *agent) {
			bob.index = append(bob.index, indexed{Seq: 9, ID: id(1), From: "ann@one"})
		}},
		{"the wrong order there", "from ann@one to bob@two: number 1", func(_, _ *books, _, _, bob *agent) {
			bob.index[0].ID, bob.index[1].ID = bob.index[1].ID, bob.index[0].ID
		}},
		{"the wrong order here", "came to bob@two after what was sent later", func(_, _ *books, _, box, bob *agent) {
			box.index[0].ID, box.index[1].ID = box.index[1].ID, box.index[0].ID
			bob.index[0].ID, bob.index[1].ID = bob.index[1].ID, bob.index[0].ID
		}},
		{"a receipt of what is not there", "1 records of its arrival, 1 of a refusal", func(one, _ *books, _, _, _ *agent) { one.note("arrived", id(3), "a-bob") }},
		{"a false receipt", "said to have arrived, and is not there", func(one, _ *books, _, _, _ *agent) {
			for i, r := range one.journal {
				if r.Event == "refused" {
					one.journal[i].Event = "arrived"
				}
			}
		}},
		{"no receipt", "0 records of its arrival", func(one, _ *books, _, _, _ *agent) {
			one.journal = slices.DeleteFunc(one.journal, func(r record) bool { return r.Event == "arrived" && r.ID == id(1) })
		}},
		{"refused and there all the same", "said to be refused, and is there", func(_, two *books, _, box, bob *agent) {
			l := box.done[id(3)]
			l.From = "ann@one"
			two.messages[l.ID] = l
			two.deliver(bob, l, false)
		}},
		{"no bounce", "refused 1 times, and ann has 0 bounces", func(one, _ *books, ann, _, _ *agent) {
			clear(ann.inbox)
			ann.index = nil
		}},
		{"two bounces", "has 2 bounces", func(one, _ *books, ann, _, _ *agent) {
			l := letter{ID: "2026-05-30T14-00-09-000Z-0000-22222222", From: "postroom@two", InReplyTo: id(3), raw: "y",
				Envelope: &struct{ Recipients, CC []string }{}}
			one.messages[l.ID] = l
			one.put("postroom@two", "", "two")
			one.deliver(ann, l, false)
		}},
		{"a read that nobody did", "read 0 times by the far office, 1", func(one, _ *books, _, _, _ *agent) { one.note("read", id(1), "a-bob") }},
		{"a read that nobody heard of", "read 1 times by the far office, 0", func(_, two *books, _, _, _ *agent) { two.note("read", id(1), "a-bob") }},
		{"a debt that one office forgot", "an answer is owed here true, there false", func(_, two *books, _, _, _ *agent) { clear(two.open) }},
		{"mail of nobody", "who never wrote that", func(_, two *books, _, _, bob *agent) {
			l := letter{ID: "2026-05-30T14-00-09-000Z-0000-33333333", From: "ann@one", Body: "forged", raw: "z"}
			two.messages[l.ID] = l
			two.deliver(bob, l, false)
		}},
		{"a changed word", "who never wrote that", func(_, two *books, _, _, bob *agent) {
			l := two.messages[id(1)]
			l.Body = "changed"
			two.messages[id(1)] = l
		}},
		{"mail that waits", "is still in the outbox", func(one, _ *books, ann, _, _ *agent) { ann.outbox["x"] = letter{} }},
		{"mail that is not settled", "is not settled", func(_, _ *books, _, box, _ *agent) { box.inbox[id(1)] = box.done[id(1)] }},
		{"a message that was accepted and is nowhere", "in .sent false, in .failed false", func(_, _ *books, ann, _, _ *agent) { delete(ann.sent, id(1)) }},
	} {
		all, claims := twoOffices()
		c.plant(all["one"], all["two"], all["one"].agents["ann"], all["one"].agents["bob@two"], all["two"].agents["bob"])
		v := judge(all, claims)
		if !regexp.MustCompile(c.want).MatchString(strings.Join(v.wrong, "\n")) {
			t.Errorf("%s: want %q, got %q", c.what, c.want, v.wrong)
		}
	}
	all, claims = twoOffices()
	all["one"].note("arrived", id(1), "a-bob")
	if v := judge(all, claims); len(v.wrong) > 0 || v.repeated != 1 {
		t.Errorf("a receipt that was repeated: %v %q", v, v.wrong)
	}
	all, claims = twoOffices()
	claims[3].exit = 0
	if v := judge(all, claims); len(v.wrong) != 1 || !strings.Contains(v.wrong[0], "said to be delivered, and is refused") {
		t.Errorf("a promise that was not kept: %q", v.wrong)
	}
	all, claims = twoOffices()
	if v := judge(all, append(claims, claim{"one", "ann", "bob@two", "", "number 1", 5})); len(v.wrong) == 0 {
		t.Error("a refusal of what was stored is not seen")
	}
}
