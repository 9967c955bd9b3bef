package search

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/postroom/postroom/internal/mail"
)

// listed pages through the conversations that have a message which fits.
func (f *filled) listed(x *Index, query string, limit int) (out []Thread) {
	f.t.Helper()
	q, err := Parse(query, f.Clock.Now())
	f.check(err)
	for r := (Request{Query: q, Limit: limit}); ; {
		list, more, err := x.Threads(context.Background(), r)
		f.check(err)
		if len(list) > limit || more && len(list) < limit {
			f.check(fmt.Errorf("%s: a page of %d of %d, more: %v", query, len(list), limit, more))
		}
		out = append(out, list...)
		if !more {
			return out
		}
		r.Above = list[len(list)-1].Fits
	}
}

// TestThreadsAreAScan: whatever is asked for and however small the pages, each
// conversation is listed once, where its newest fitting message stands.
func TestThreadsAreAScan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f := newFilled(t, "ann", "bob")
		f.t = failer{t, rt}
		defer os.RemoveAll(f.Root)
		vocabulary := []string{"retry", "loop", "build"}
		names := []string{"ann", "bob"}
		for range rapid.IntRange(1, 30).Draw(rt, "messages") {
			m := f.message(rapid.SampledFrom(names).Draw(rt, "from"), rapid.SampledFrom(append(names, "human")).Draw(rt, "to"),
				rapid.SampledFrom(mail.Acts()).Draw(rt, "act"), rapid.SampledFrom(vocabulary).Draw(rt, "subject"), rapid.SampledFrom(vocabulary).Draw(rt, "body"))
			m.Conversation = fmt.Sprint("c", rapid.IntRange(0, 6).Draw(rt, "conversation"))
			f.Clock.Advance(time.Hour)
			f.add(m)
			if rapid.IntRange(0, 9).Draw(rt, "index") == 0 {
				f.open()
			}
		}
		x := f.open()
		for range 6 {
			query := ""
			if rapid.IntRange(0, 3).Draw(rt, "any") > 0 {
				query = drawTerm(rt, f, vocabulary, names)
			}
			got := f.listed(x, query, rapid.IntRange(1, 4).Draw(rt, "page"))
			if want := f.scanThreads(x, query); !slices.Equal(got, want) {
				rt.Fatalf("%q:\n%+v, want\n%+v", query, got, want)
			}
		}
		if r, err := x.Verify(context.Background()); err != nil || r.Wrong > 0 {
			rt.Fatalf("%+v %v", r, err)
		}
	})
}

// scanThreads makes the list of what a search for the same finds.
func (f *filled) scanThreads(x *Index, query string) (out []Thread) {
	f.t.Helper()
	q, err := Parse(query, f.Clock.Now())
	f.check(err)
	found, err := x.Find(context.Background(), Request{Query: q, Limit: 1000})
	f.check(err)
	for _, h := range found.Hits {
		name := h.Message.Conversation
		if slices.ContainsFunc(out, func(t Thread) bool { return t.Name == name }) {
			continue
		}
		th := Thread{Name: name, Fits: h.Message.ID}
		for _, m := range f.sent {
			if m.Conversation == name {
				if th.Messages++; th.First == "" {
					th.First = m.ID
				}
				th.Last = m.ID
			}
		}
		out = append(out, th)
	}
	return out
}

// TestThreadIsPaged: a long conversation, both ways and from its middle.
func TestThreadIsPaged(t *testing.T) {
	t.Parallel()
	f := newFilled(t, "ann", "bob")
	f.many(30)
	fresh, err := openIndex(f.Dir, f.index, f.Sys)
	f.check(err)
	if whole, err := fresh.Whole(context.Background()); err != nil || whole {
		t.Errorf("an index that has read nothing is whole: %v %v", whole, err)
	}
	f.check(fresh.Close())
	var list []*mail.Message
	for i := range 25 {
		m := f.message("ann", "bob", mail.Inform, fmt.Sprint("turn ", i), "common")
		m.Conversation = "long"
		list = append(list, m)
	}
	f.add(list[:20]...)
	x := f.open()
	f.add(list[20:]...)
	_, err = x.Update(context.Background())
	f.check(err)
	if whole, err := x.Whole(context.Background()); err != nil || !whole {
		t.Errorf("%v %v", whole, err)
	}

	th, err := x.Thread(context.Background(), "long", list[9].ID)
	f.check(err)
	if want := (Thread{"long", 25, list[0].ID, list[24].ID, list[24].ID, 15}); th != want {
		t.Errorf("%+v, want %+v", th, want)
	}
	if none, err := x.Thread(context.Background(), "nobody", ""); err != nil || none != (Thread{}) {
		t.Errorf("%+v %v", none, err)
	}
	q, err := Parse("thread:long", f.Clock.Now())
	f.check(err)
	for _, c := range []struct {
		r    Request
		want string
		more bool
	}{
		{Request{Limit: 3}, "turn 24|turn 23|turn 22", true},
		{Request{Limit: 3, Above: list[2].ID}, "turn 1|turn 0", false},
		{Request{Limit: 3, Below: list[9].ID}, "turn 10|turn 11|turn 12", true},
		{Request{Limit: 3, Below: list[22].ID}, "turn 23|turn 24", false},
		{Request{Limit: 2, From: list[9].ID}, "turn 9|turn 10", true},
	} {
		c.r.Query = q
		found, err := x.Find(context.Background(), c.r)
		f.check(err)
		var got []string
		for _, h := range found.Hits {
			got = append(got, h.Message.Subject)
		}
		if strings.Join(got, "|") != c.want || found.More != c.more {
			t.Errorf("%+v: %v %v", c.r, got, found.More)
		}
	}
	if _, _, err := x.Threads(context.Background(), Request{Limit: 3, Above: "2026-01-01T00-00-00-000Z-0000-00000000"}); mail.KindOf(err) != mail.KindNotFound {
		t.Errorf("an unknown cursor: %v", err)
	}
	f.whole(x)
}
