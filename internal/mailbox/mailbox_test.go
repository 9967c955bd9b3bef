package mailbox_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/spool"
)

// received is an office in which coder got n messages from ann.
func received(t *testing.T, n int) (*officetest.RealDesk, []mail.ID) {
	t.Helper()
	d := officetest.NewRealDesk(t, "ann", "coder")
	var ids []mail.ID
	for range n {
		ids = append(ids, d.Mail("ann", "coder", mail.Inform, "a subject", "a body"))
		d.Clock.Advance(time.Second)
	}
	return d, ids
}

func inbox(d *officetest.RealDesk, name string) string {
	return d.Path("agents", "coder", "inbox", name)
}

func listed(t *testing.T, m *mailbox.Mailbox) (ids []mail.ID) {
	t.Helper()
	items, err := m.List(true)
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range items {
		ids = append(ids, it.ID)
	}
	return ids
}

// read is what a reader shows: nothing, and then the receipt.
func read(o *mailbox.Opened) (*mail.Receipt, error) {
	return &mail.Receipt{Event: mail.EventRead, ID: o.ID}, nil
}

func TestListIsInOrderOfDelivery(t *testing.T) {
	t.Parallel()
	d, ids := received(t, 3)
	for _, stray := range []string{"notes.txt", ".tmp-x.json", "2026.json", "a b.json"} {
		if err := os.WriteFile(inbox(d, stray), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := listed(t, d.Box("coder")); !slices.Equal(got, ids) {
		t.Errorf("listed %v, want %v", got, ids)
	}
}

// Mail whose index line is not there yet is listed from its file, last; one that
// nobody can read is listed too.
func TestListWithoutIndex(t *testing.T) {
	t.Parallel()
	d, ids := received(t, 2)
	if err := os.Remove(d.Path("agents", "coder", "index.jsonl")); err != nil {
		t.Fatal(err)
	}
	d.Edit(inbox(d, spool.FileName(ids[1])), func(s string) string { return s[:len(s)/2] })
	items, err := d.Box("coder").List(true)
	if err != nil || len(items) != 2 {
		t.Fatalf("%+v, %v", items, err)
	}
	if it := items[0]; it.ID != ids[0] || it.From != "ann" || it.Subject != "a subject" || it.Seq != 0 {
		t.Errorf("from its file: %+v", it)
	}
	if it := items[1]; it.ID != ids[1] || !strings.Contains(it.Subject, "can't be read") {
		t.Errorf("the torn one: %+v", it)
	}
}

// A message that was changed after its delivery is never shown, holds up no
// other, and is the error once nothing else is unread.
func TestNextNamesWhatWasChanged(t *testing.T) {
	t.Parallel()
	d, ids := received(t, 2)
	d.Edit(inbox(d, spool.FileName(ids[0])), func(s string) string { return strings.Replace(s, "a body", "a lie!", 1) })
	o, err := d.Box("coder").Next(read)
	if err != nil || o.ID != ids[1] || !slices.Equal(o.Damaged, ids[:1]) {
		t.Fatalf("%+v, %v", o, err)
	}
	if _, err := d.Box("coder").Next(read); mail.KindOf(err) != mail.KindCorrupt {
		t.Errorf("the changed one: %v", err)
	}
	if _, err := d.Box("coder").Open(ids[0]); mail.KindOf(err) != mail.KindCorrupt {
		t.Errorf("by its id: %v", err)
	}
}

// Bytes that did not get out were not read.
func TestNextThatIsNotShownStaysUnread(t *testing.T) {
	t.Parallel()
	d, ids := received(t, 1)
	broken := errors.New("the pipe broke")
	if _, err := d.Box("coder").Next(func(*mailbox.Opened) (*mail.Receipt, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if o, err := d.Box("coder").Next(read); err != nil || o.ID != ids[0] {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := d.Box("coder").Next(read); err != nil || o != nil {
		t.Errorf("twice: %+v, %v", o, err)
	}
}

// Readers of one mailbox, each a process of its own, never get the same message.
func TestReadersNeverShareAMessage(t *testing.T) {
	t.Parallel()
	d, ids := received(t, 24)
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := map[mail.ID]int{}
	for range 6 {
		m := d.Box("coder")
		wg.Go(func() {
			for {
				o, err := m.Next(read)
				if mail.KindOf(err) == mail.KindBusy {
					continue
				}
				if err != nil {
					t.Error(err)
				}
				if err != nil || o == nil {
					return
				}
				mu.Lock()
				got[o.ID]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		if got[id] != 1 {
			t.Errorf("%s was read %d times", id, got[id])
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	d, ids := received(t, 2)
	m := d.Box("coder")
	tail := func(id mail.ID) string { return string(id)[len(id)-8:] }
	for _, test := range []struct {
		ref  string
		want mail.ID
		kind mail.Kind
	}{
		{string(ids[0]), ids[0], ""},
		{tail(ids[0]), ids[0], ""},
		{tail(ids[1]), ids[1], ""},
		{mailbox.Last, ids[1], ""},
		{"abc", "", mail.KindInvalid},
		{"../" + tail(ids[0]), "", mail.KindInvalid},
		{"ffffffff0", "", mail.KindNotFound},
	} {
		got, err := m.Find(test.ref)
		if got != test.want || (err == nil) != (test.kind == "") || err != nil && mail.KindOf(err) != test.kind {
			t.Errorf("%q: %q, %v", test.ref, got, err)
		}
	}
}

// Whoever waits gets what is there already, also a second time, and never what
// somebody else said.
func TestWaitForAnAnswer(t *testing.T) {
	t.Parallel()
	d := officetest.NewRealDesk(t, "ann", "bob", "coder")
	ask := d.Mail("ann", "coder", mail.Request, "please", "do it")
	d.Clock.Advance(time.Second)
	d.Mail("bob", "ann", mail.Inform, "noise", "not an answer")
	d.Clock.Advance(time.Second)
	draft, err := d.Box("coder").ReplyDraft(ask)
	if err != nil {
		t.Fatal(err)
	}
	draft.Act, draft.Body = mail.Done, "it is done"
	sent, err := d.Box("coder").Send(draft)
	if err != nil || sent[0].Err != nil {
		t.Fatal(err, sent)
	}
	d.Pass()
	for range 2 {
		it, err := d.Box("ann").Wait(t.Context(), mailbox.Match{ReplyTo: ask}, nil)
		if err != nil || it.ID != sent[0].Msg.ID {
			t.Fatalf("%+v, %v", it, err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Box("coder").Wait(gone, mailbox.Match{From: "bob"}, nil); mail.KindOf(err) != mail.KindTimeout {
		t.Errorf("nothing from bob: %v", err)
	}
}

// Finishing is a move that happens once.
func TestFinish(t *testing.T) {
	t.Parallel()
	d, ids := received(t, 1)
	for n := range 2 {
		if _, err := d.Box("coder").Finish(ids[0]); err != nil {
			t.Errorf("time %d: %v", n+1, err)
		}
	}
	if left := listed(t, d.Box("coder")); len(left) != 0 {
		t.Errorf("still there: %v", left)
	}
	if o, err := d.Box("coder").Open(ids[0]); err != nil || o.Item.State != mailbox.Done {
		t.Errorf("%+v, %v", o, err)
	}
}
