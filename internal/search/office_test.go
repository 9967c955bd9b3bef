package search

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/vfs"
)

// fewer divides how much mail there is in tests of amounts.
var fewer = 1

// TestMain makes the test binary a process that indexes an office and is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("TEST_SEARCH_OFFICE"); dir != "" {
		if err := indexForever(dir, os.Getenv("TEST_SEARCH_INDEX")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	if fewer > 1 {
		flag.Set("rapid.checks", strconv.Itoa(100/fewer))
	}
	os.Exit(m.Run())
}

// filled is an office whose copies and journal are written directly: much mail in
// little time.
type filled struct {
	*officetest.RealDesk
	t     testing.TB
	index string
	sent  []*mail.Message // in the order of the journal
	clock map[string]*mail.Clock
}

func newFilled(t testing.TB, agents ...string) *filled {
	t.Helper()
	d := officetest.NewRealDesk(t, agents...)
	return &filled{RealDesk: d, t: t, index: filepath.Join(d.Root, "index"), clock: map[string]*mail.Clock{}}
}

func (f *filled) check(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// message stamps a message without sending it.
func (f *filled) message(from, to string, act mail.Act, subject, body string) *mail.Message {
	f.t.Helper()
	if f.clock[from] == nil {
		f.clock[from] = &mail.Clock{}
	}
	now := f.Clock.Now()
	f.Clock.Advance(time.Second)
	id := f.clock[from].Next(now, "a-"+from)
	m := &mail.Message{Schema: mail.Schema, ID: id, Conversation: mail.NewConversation(id), From: from, To: to, Act: act, Subject: subject, Body: body,
		CreatedAt: id.Time(), RequiresReply: act.Obliges(), Office: "o-test", SentWith: "post test", Envelope: &mail.Envelope{Recipients: []string{}}}
	if to != mail.NameHuman {
		m.Envelope.Recipients = []string{"a-" + to}
	}
	return m
}

// put makes the office's copies.
func (f *filled) put(list ...*mail.Message) {
	f.t.Helper()
	for _, m := range list {
		data, err := m.Encode()
		f.check(err)
		path := filepath.Join(f.Dir, filepath.FromSlash(office.MessagePath(m.ID)))
		f.check(os.MkdirAll(filepath.Dir(path), 0o700))
		f.check(os.WriteFile(path, data, 0o600))
	}
}

// journal writes that they were delivered, or put before a person.
func (f *filled) journal(list ...*mail.Message) {
	f.t.Helper()
	var rs []journal.Record
	for _, m := range list {
		data, err := m.Encode()
		f.check(err)
		r := journal.Record{At: f.Clock.Now(), Event: journal.Delivered, ID: m.ID, From: m.From, Act: string(m.Act), Conversation: m.Conversation,
			Digest: mail.DigestOf(data), Agent: m.To, AID: "a-" + m.To}
		if m.To == mail.NameHuman {
			r.Event, r.AID = journal.Escalated, ""
		}
		rs = append(rs, r)
	}
	f.records(rs...)
	f.sent = append(f.sent, list...)
}

func (f *filled) records(rs ...journal.Record) {
	f.t.Helper()
	j, err := journal.Open(f.Office().FS, f.Clock.Now())
	f.check(err)
	f.check(j.Append(rs...))
	f.check(j.Close())
}

func (f *filled) add(list ...*mail.Message) {
	f.t.Helper()
	f.put(list...)
	f.journal(list...)
}

// many sends n messages whose words are numbered.
func (f *filled) many(n int) {
	f.t.Helper()
	var list []*mail.Message
	for range n {
		k := len(f.sent) + len(list)
		list = append(list, f.message("ann", "bob", mail.Inform, fmt.Sprint("number ", k), fmt.Sprintf("word%d common text", k)))
	}
	f.add(list...)
}

// open opens the index and takes in what is new.
func (f *filled) open() *Index {
	f.t.Helper()
	x, err := openIndex(f.Dir, f.index, f.Sys)
	f.check(err)
	f.t.Cleanup(func() { x.Close() })
	_, err = x.Update(context.Background())
	f.check(err)
	return x
}

func openIndex(dir, index string, sys office.System) (*Index, error) {
	o, err := office.Open(dir, sys)
	if err != nil {
		return nil, err
	}
	reg, err := o.Registry()
	if err != nil {
		return nil, err
	}
	return Open(context.Background(), index, o, reg)
}

func indexForever(dir, index string) error {
	sys := officetest.System(officetest.NewClock(), func(dir string) (vfs.FS, error) { return vfs.OpenReal(dir) })
	for {
		x, err := openIndex(dir, index, sys)
		if err != nil {
			return err
		}
		fmt.Println("indexing")
		if _, err := x.Update(context.Background()); err != nil {
			return err
		}
		if err := x.Rebuild(context.Background()); err != nil {
			return err
		}
		x.Close()
	}
}

// find returns the hits of a query as a person, by their subjects.
func (f *filled) find(x *Index, query string) []string {
	f.t.Helper()
	return f.findAs(x, query, Request{Limit: 1000})
}

func (f *filled) findAs(x *Index, query string, r Request) []string {
	f.t.Helper()
	q, err := Parse(query, f.Clock.Now())
	f.check(err)
	r.Query = q
	found, err := x.Find(context.Background(), r)
	f.check(err)
	out := []string{}
	for _, h := range found.Hits {
		out = append(out, h.Message.Subject)
	}
	if len(found.Doubtful) > 0 {
		out = append(out, fmt.Sprint("doubtful: ", len(found.Doubtful)))
	}
	return out
}

func (f *filled) wants(x *Index, query string, subjects ...string) {
	f.t.Helper()
	if got := strings.Join(f.find(x, query), "|"); got != strings.Join(subjects, "|") {
		f.t.Errorf("%s: %s, want %s", query, got, strings.Join(subjects, "|"))
	}
}

// whole wants everything that was sent in the index, once, and the index sound.
func (f *filled) whole(x *Index) {
	f.t.Helper()
	if got := f.find(x, "common"); len(got) != min(len(f.sent), 1000) {
		f.t.Errorf("%d messages found, %d sent", len(got), len(f.sent))
	}
	n, err := x.Count(context.Background())
	f.check(err)
	if n != len(f.sent) {
		f.t.Errorf("%d messages in the index, %d sent", n, len(f.sent))
	}
	r, err := x.Verify(context.Background())
	f.check(err)
	if r.Wrong > 0 || r.Messages != len(f.sent) || r.Sampled == 0 {
		f.t.Errorf("%+v", r)
	}
}
