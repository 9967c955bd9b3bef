package internal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// What broke in systems like ours, as tests over whole offices
// (docs/incidents.md). Each fails without its guard.

// unread lists what an agent has not read, as "from: subject".
func (s *scene) unread(name string) []string {
	s.t.Helper()
	items, err := s.box(name).List(true)
	s.must(err)
	var out []string
	for _, it := range items {
		out = append(out, it.From+": "+it.Subject)
	}
	return out
}

func (s *scene) wantUnread(name string, want ...string) {
	s.t.Helper()
	if got := s.unread(name); !slices.Equal(got, want) {
		s.t.Errorf("%s has %q unread, want %q", name, got, want)
	}
}

func (s *scene) body(name string, i int) string {
	s.t.Helper()
	items, err := s.box(name).List(false)
	s.must(err)
	o, err := s.box(name).Open(items[i].ID)
	s.must(err)
	return o.Body
}

func TestTypoReachesNobodyAndMakesNoMailbox(t *testing.T) {
	t.Parallel()
	s := newScene(t, "coder", "ann")
	_, err := s.box("ann").Send(mailbox.Draft{To: []string{"codr"}, Body: "b"})
	if mail.KindOf(err) != mail.KindUnknown || !strings.Contains(err.Error(), "did you mean coder?") {
		t.Errorf("send: %v", err)
	}
	s.drop("ann", "x.json", `{"to":"codr","subject":"s","body":"b"}`)
	s.pass()
	s.wantUnread("ann", "postroom: Not delivered: s")
	s.wantUnread("coder")
	if _, err := s.fs.Lstat("agents/codr"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("agents/codr: %v", err)
	}
}

func TestFullDiskIsNoSuccess(t *testing.T) {
	t.Parallel()
	s := newScene(t, "coder", "ann")
	s.must(s.fs.Rename("agents/ann/outbox", "agents/ann/gone"))
	if sent, err := s.box("ann").Send(mailbox.Draft{To: []string{"coder"}, Body: "b"}); err == nil && (len(sent) == 0 || sent[0].Err == nil) {
		t.Errorf("sent %+v without an outbox", sent)
	}
}

func TestArchivedRecipientIsSaid(t *testing.T) {
	t.Parallel()
	s := newScene(t, "coder", "ann")
	s.edit(func(r *registry.Registry) error { return r.Archive("a-coder", true) })
	s.send("ann", mailbox.Draft{To: []string{"coder"}, Act: mail.Request, Subject: "s", Body: "b"})
	s.wantUnread("ann", "postroom: About: s")
	if got := s.body("ann", 0); !strings.Contains(got, "archived") {
		t.Errorf("told %q", got)
	}
}

func (s *scene) edit(change func(*registry.Registry) error) {
	s.t.Helper()
	reg, err := s.o.Registry()
	s.must(err)
	s.must(change(reg))
	s.must(reg.Save(s.fs))
}

func TestWhereTheSenderStandsChangesNothing(t *testing.T) {
	t.Parallel()
	o := realOffice(t, "coder", "ann")
	t.Run("elsewhere", func(t *testing.T) {
		m, err := mailbox.Open(o, "ann")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Send(mailbox.Draft{To: []string{"coder"}, Body: "b"}); err != nil {
			t.Fatal(err)
		}
	})
	passReal(t, o)
	e, err := os.ReadDir(filepath.Join(o.Dir, "agents", "coder", "inbox"))
	if err != nil || len(e) != 2 {
		t.Errorf("%v %v", e, err)
	}
}

func passReal(t *testing.T, o *office.Office) {
	t.Helper()
	if _, err := (&router.Router{Office: o}).Pass(context.Background(), router.Options{All: true}); err != nil && mail.KindOf(err) != mail.KindBusy {
		t.Error(err)
	}
}

func TestHalfWrittenFileWaitsThenFailsThenIsMended(t *testing.T) {
	t.Parallel()
	s := newScene(t, "coder", "ann")
	s.drop("ann", "x.json", `{"to":"coder","bo`)
	s.pass()
	s.wantUnread("ann")
	s.clock.Advance(10 * time.Second)
	s.pass()
	s.wantUnread("ann", "postroom: Not sent: x.json")
	s.clock.Advance(time.Second)
	f, err := s.fs.OpenFile("agents/ann/outbox/.failed/x.json", os.O_WRONLY|os.O_TRUNC, 0)
	s.must(err)
	_, err = f.Write([]byte(`{"to":"coder","subject":"mended","body":"b"}`))
	s.must(errors.Join(err, f.Close()))
	s.pass()
	s.wantUnread("coder", "ann: mended")
}

func TestRawLineBreaksAreMail(t *testing.T) {
	t.Parallel()
	s := newScene(t, "coder", "ann")
	s.drop("ann", "x.json", "{\"to\":\"coder\",\"subject\":\"s\",\"body\":\"one\ntwo\",}")
	s.pass()
	s.wantUnread("coder", "ann: s")
	if got := s.body("coder", 0); got != "one\ntwo" {
		t.Errorf("%q", got)
	}
}

func TestManyWritersLoseNothingAndTwoRoutersDeliverOnce(t *testing.T) {
	t.Parallel()
	const writers, each = 6, 20
	names := []string{"coder"}
	for i := range writers {
		names = append(names, "w"+string(rune('a'+i)))
	}
	o := realOffice(t, names...)
	var wg sync.WaitGroup
	for _, n := range names[1:] {
		wg.Go(func() {
			m, err := mailbox.Open(o, n)
			for i := 0; i < each && err == nil; i++ {
				_, err = m.Send(mailbox.Draft{To: []string{"coder"}, Subject: n + string(rune('a'+i)), Body: "b"})
				passReal(t, o)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	passReal(t, o)
	m, err := mailbox.Open(o, "coder")
	if err != nil {
		t.Fatal(err)
	}
	items, err := m.List(true)
	seen := map[string]bool{}
	for i, it := range items {
		if seen[it.Subject] || it.Seq != uint64(i+1) {
			t.Errorf("%s is there twice, or out of order: %d at %d", it.Subject, it.Seq, i)
		}
		seen[it.Subject] = true
	}
	if err != nil || len(seen) != writers*each {
		t.Errorf("%d of %d, %v", len(seen), writers*each, err)
	}
}

func TestFailedOutputLeavesMailUnread(t *testing.T) {
	t.Parallel()
	s := newScene(t, "coder", "ann")
	s.send("ann", mailbox.Draft{To: []string{"coder"}, Subject: "s", Body: "b"})
	_, err := s.box("coder").Next(func(*mailbox.Opened) (*mail.Receipt, error) { return nil, errors.New("broken pipe") })
	if err == nil {
		t.Error("no error")
	}
	s.wantUnread("coder", "ann: s")
}

func TestFirstLookShowsEverything(t *testing.T) {
	t.Parallel()
	s := newScene(t, "coder", "ann")
	for _, n := range []string{"1", "2", "3"} {
		s.send("ann", mailbox.Draft{To: []string{"coder"}, Subject: n, Body: n})
	}
	s.wantUnread("coder", "ann: 1", "ann: 2", "ann: 3")
	s.read("coder")
	s.must(s.fs.Remove("agents/coder/.clock")) // what a wiped cache loses
	s.wantUnread("coder", "ann: 2", "ann: 3")
}

func TestListenerArmedOnAnEmptyInboxFires(t *testing.T) {
	t.Parallel()
	s := newScene(t, "coder", "ann")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	sent := false
	it, err := s.box("coder").Wait(ctx, mailbox.Match{From: "ann"}, func(context.Context) {
		if !sent {
			sent = true
			s.send("ann", mailbox.Draft{To: []string{"coder"}, Subject: "late", Body: "b"})
		}
	})
	if err != nil || it.Subject != "late" {
		t.Errorf("%+v %v", it, err)
	}
	if it, err := s.box("coder").Wait(ctx, mailbox.Match{}, nil); err != nil || it.Subject != "late" {
		t.Errorf("what is there already: %+v %v", it, err)
	}
}

func TestLargeMailArrives(t *testing.T) {
	t.Parallel()
	s := newScene(t, "coder", "ann")
	body := strings.Repeat("x", 900<<10)
	s.send("ann", mailbox.Draft{To: []string{"coder"}, Subject: "large", Body: body})
	s.send("ann", mailbox.Draft{To: []string{"coder"}, Subject: "after", Body: "b"})
	s.wantUnread("coder", "ann: large", "ann: after")
	if got := s.body("coder", 0); got != body {
		t.Errorf("%d bytes", len(got))
	}
}

func TestRetryGivesTheFirstOne(t *testing.T) {
	t.Parallel()
	s := newScene(t, "coder", "ann")
	d := mailbox.Draft{To: []string{"coder"}, Subject: "s", Body: "b"}
	first := s.send("ann", d)
	again, err := s.box("ann").Send(d)
	s.must(err)
	if !again[0].Duplicate || again[0].Msg.ID != first {
		t.Errorf("%+v", again[0])
	}
	s.pass()
	s.wantUnread("coder", "ann: s")
}

func TestBroadcastReachesTheRestDespiteOneBrokenMailbox(t *testing.T) {
	t.Parallel()
	s := newScene(t, "coder", "ann", "bob", "cat")
	s.must(s.fs.Rename("agents/bob/inbox", "agents/bob/gone"))
	sent, err := s.box("ann").Send(mailbox.Draft{To: []string{"broadcast"}, Subject: "s", Body: "b"})
	s.must(err)
	s.must(sent[0].Err)
	s.pass()
	s.pass()
	s.wantUnread("coder", "ann: s")
	s.wantUnread("cat", "ann: s")
	s.must(s.fs.Rename("agents/bob/gone", "agents/bob/inbox"))
	s.pass()
	for _, n := range []string{"coder", "cat", "bob"} {
		s.wantUnread(n, "ann: s")
	}
}

func TestNoCursorHidesMail(t *testing.T) {
	t.Parallel()
	s := newScene(t, "coder", "ann", "bob")
	s.clock.Advance(20 * time.Hour)
	s.send("ann", mailbox.Draft{To: []string{"coder"}, Subject: "from a fast clock", Body: "b"})
	s.read("coder")
	s.clock.Advance(-20 * time.Hour)
	s.send("bob", mailbox.Draft{To: []string{"coder"}, Subject: "sorts before", Body: "b"})
	s.wantUnread("coder", "bob: sorts before")
}

func TestRepliesSortAfterWhatTheyAnswerWhateverTheClock(t *testing.T) {
	t.Parallel()
	s := newScene(t, "coder", "ann")
	ask := s.send("ann", mailbox.Draft{To: []string{"coder"}, Act: mail.Query, Subject: "s", Body: "b"})
	s.clock.Advance(-6 * time.Hour)
	d, err := s.box("coder").ReplyDraft(ask)
	s.must(err)
	d.Act, d.Body = mail.Done, "b"
	if reply := s.send("coder", d); reply <= ask {
		t.Errorf("%s answers %s", reply, ask)
	}
}

func TestFromIsTheOwnerOfTheOutbox(t *testing.T) {
	t.Parallel()
	s := newScene(t, "coder", "ann")
	s.drop("ann", "x.json", `{"from":"human","to":"coder","subject":"s","body":"b","id":"../../../registry","hops":-1}`)
	s.pass()
	s.wantUnread("coder", "ann: s")
	if _, err := s.o.Registry(); err != nil {
		t.Error(err)
	}
}

func TestSimilarNamesDoNotShareMail(t *testing.T) {
	t.Parallel()
	s := newScene(t, "ann", "anna", "an", "v12", "v1x2", "coder")
	s.edit(func(r *registry.Registry) error { return r.Rename("a-v12", "v1.2") })
	for _, to := range []string{"ann", "v1.2"} {
		s.send("coder", mailbox.Draft{To: []string{to}, Subject: "for " + to, Body: "b"})
	}
	s.wantUnread("ann", "coder: for ann")
	s.wantUnread("v1.2", "coder: for v1.2")
	for _, n := range []string{"an", "anna", "v1x2"} {
		s.wantUnread(n)
	}
}

// A hostile mailbox changes, suppresses and delays nobody else's mail
// (design §16).
func TestHostileMailbox(t *testing.T) {
	t.Parallel()
	o := realOffice(t, "coder", "ann", "mallory")
	dir := filepath.Join(o.Dir, "agents")
	ann, err := mailbox.Open(o, "ann")
	if err != nil {
		t.Fatal(err)
	}
	sent, err := ann.Send(mailbox.Draft{To: []string{"coder"}, Subject: "true", Body: "b"})
	if err != nil {
		t.Fatal(err)
	}
	id := string(sent[0].Msg.ID)
	pending, err := os.ReadFile(filepath.Join(dir, "ann", "outbox", id+".json"))
	if err != nil {
		t.Fatal(err)
	}
	forged := strings.Replace(string(pending), `"true"`, `"forged"`, 1)
	future := time.Now().AddDate(4, 0, 0)
	out := filepath.Join(dir, "mallory", "outbox")
	for name, text := range map[string]string{
		id + ".json": forged, "a.json": string(pending), // a pending id of somebody else's, and his very bytes
		"late.json": `{"to":"coder","subject":"late","body":"b"}`, "broken.json": `{`,
		"../receipts.jsonl": string(mail.Receipt{At: time.Now().Add(time.Second), Event: mail.EventRead, ID: mail.ID(id)}.AppendLine(nil)),
	} {
		if err := os.WriteFile(filepath.Join(out, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err = errors.Join(os.Chtimes(filepath.Join(out, "late.json"), future, future), os.Chtimes(filepath.Join(out, "broken.json"), future, future),
		os.Symlink("../../ann/outbox/"+id+".json", filepath.Join(out, "link.json")),
		os.Symlink("/etc/passwd", filepath.Join(out, "passwd.json")), os.Mkdir(filepath.Join(out, "dir.json"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	passReal(t, o)
	passReal(t, o)
	coder, err := mailbox.Open(o, "coder")
	if err != nil {
		t.Fatal(err)
	}
	items, err := coder.List(true)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, it := range items {
		got[it.From+": "+it.Subject]++
		if drift := time.Until(it.ID.Time()); drift > 24*time.Hour {
			t.Errorf("%s lies %v in the future", it.ID, drift)
		}
	}
	if got["ann: true"] != 1 || got["mallory: late"] != 1 {
		t.Errorf("coder has %v", got)
	}
	for _, n := range items {
		if n.From == "ann" && string(n.ID) != id {
			t.Errorf("ann's mail is %s now", n.ID)
		}
	}
	mallory, err := mailbox.Open(o, "mallory")
	if err != nil {
		t.Fatal(err)
	}
	notices, err := mallory.List(true)
	if err != nil || len(notices) < 4 {
		t.Errorf("mallory was told %d things, %v", len(notices), err)
	}
	for _, it := range notices {
		if drift := time.Until(it.ID.Time()); drift > 24*time.Hour {
			t.Errorf("the notice %q has an id %v in the future", it.Subject, drift)
		}
	}
	life, err := ann.Trace(sent[0].Msg.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range life.Steps {
		if step.Event == "read" {
			t.Errorf("a forged receipt counts: %+v", step)
		}
	}
}

// An id of one's own in the far future is not accepted: nothing could sort
// after it any more (design §4).
func TestFarFutureIDIsReplaced(t *testing.T) {
	t.Parallel()
	s := newScene(t, "coder", "ann")
	stem := "2031-01-01T00-00-00-000Z-0000"
	id := stem + "-" + mail.OwnerTag("a-ann", stem)
	m := plainMail()
	m.ID, m.From, m.To, m.Act, m.RequiresReply, m.Office = mail.ID(id), "ann", "coder", mail.Inform, false, "o-test"
	m.Envelope.Recipients = []string{"a-coder"}
	data, err := m.Encode()
	s.must(err)
	s.drop("ann", id+".json", string(data))
	s.pass()
	items, err := s.box("coder").List(true)
	s.must(err)
	if len(items) != 1 || items[0].ID.Time().After(officetest.Start.Add(24*time.Hour)) {
		t.Fatalf("%+v", items)
	}
	s.wantUnread("ann", "postroom: Another id was given")
	s.read("coder")
	s.wantUnread("coder")
	// A clock that was wrong once doesn't keep the mailbox in the future.
	f, err := s.fs.OpenFile("agents/ann/.clock", os.O_WRONLY, 0)
	s.must(err)
	_, err = f.WriteAt([]byte(id), 0)
	s.must(errors.Join(err, f.Close()))
	if next := s.send("ann", mailbox.Draft{To: []string{"coder"}, Subject: "next", Body: "b"}); next.Time().After(officetest.Start.Add(24 * time.Hour)) {
		t.Errorf("the next id is %s", next)
	}
	s.wantUnread("coder", "ann: next")
}

// A message is read once, also by two processes of one agent at the same time.
func TestTwoReadersNeverGetTheSame(t *testing.T) {
	t.Parallel()
	o := realOffice(t, "coder", "ann")
	ann, err := mailbox.Open(o, "ann")
	if err != nil {
		t.Fatal(err)
	}
	const n = 20
	for i := range n {
		if _, err := ann.Send(mailbox.Draft{To: []string{"coder"}, Subject: string(rune('a' + i)), Body: "b"}); err != nil {
			t.Fatal(err)
		}
	}
	passReal(t, o)
	var mu sync.Mutex
	got := map[mail.ID]int{}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				m, err := mailbox.Open(o, "coder")
				if err != nil {
					t.Error(err)
					return
				}
				op, err := m.Next(func(op *mailbox.Opened) (*mail.Receipt, error) {
					return &mail.Receipt{Event: mail.EventRead, ID: op.ID}, nil
				})
				if err != nil || op == nil {
					if err != nil {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				got[op.ID]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for id, times := range got {
		if times != 1 {
			t.Errorf("%s was read %d times", id, times)
		}
	}
	if len(got) != n {
		t.Errorf("%d of %d", len(got), n)
	}
}

// The lease file deleted while it is held makes no second router.
func TestLeaseDeletedWhileHeld(t *testing.T) {
	t.Parallel()
	o := realOffice(t)
	lease, err := spool.AcquireLease(o.FS, spool.Holder{PID: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(o.Dir, spool.LeaseFile)); err != nil {
		t.Fatal(err)
	}
	if second, err := spool.AcquireLease(o.FS, spool.Holder{PID: 2}); mail.KindOf(err) != mail.KindBusy {
		t.Errorf("a second lease: %v %v", second, err)
	}
	lease.Release()
	if third, err := spool.AcquireLease(o.FS, spool.Holder{PID: 3}); err != nil {
		t.Error(err)
	} else {
		third.Release()
	}
}

// An office that was copied refuses to be written.
func TestCopiedOfficeRefusesWrites(t *testing.T) {
	t.Parallel()
	o := realOffice(t, "coder", "ann")
	to := o.Dir + "-copy"
	if err := os.CopyFS(to, os.DirFS(o.Dir)); err != nil {
		t.Fatal(err)
	}
	twin, err := office.Open(to, o.Sys)
	if err != nil {
		t.Fatal(err)
	}
	m, err := mailbox.Open(twin, "ann")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Send(mailbox.Draft{To: []string{"coder"}, Body: "b"}); mail.KindOf(err) != mail.KindForeign {
		t.Errorf("send in a copy: %v", err)
	}
	if _, err := (&router.Router{Office: twin}).Pass(context.Background(), router.Options{All: true}); mail.KindOf(err) != mail.KindForeign {
		t.Errorf("route in a copy: %v", err)
	}
}

// A copy's registry still names the mailboxes of the original: nobody who looks
// into the copy may mark the original's mail as read, or put it away.
func TestCopiedOfficeLeavesTheOriginalUnread(t *testing.T) {
	t.Parallel()
	d := officetest.NewRealDesk(t, "ann", "coder")
	id := d.Mail("ann", "coder", mail.Request, "s", "b")
	twin := d.Dir + "-copy"
	if err := os.CopyFS(twin, os.DirFS(d.Dir)); err != nil {
		t.Fatal(err)
	}
	o, err := office.Open(twin, d.Sys)
	if err != nil {
		t.Fatal(err)
	}
	m, err := mailbox.Open(o, "coder")
	if err != nil {
		t.Fatal(err)
	}
	_, next := m.Next(func(o *mailbox.Opened) (*mail.Receipt, error) {
		return &mail.Receipt{Event: mail.EventRead, ID: o.ID}, nil
	})
	_, finish := m.Finish(id)
	for what, err := range map[string]error{"next": next, "done": finish,
		"receipt": m.Receipt(mail.Receipt{Event: mail.EventRead, ID: id})} {
		if mail.KindOf(err) != mail.KindForeign {
			t.Errorf("%s in a copy: %v", what, err)
		}
	}
	if items, err := d.Box("coder").List(true); err != nil || len(items) != 1 {
		t.Errorf("the original has %d unread messages, %v; want 1", len(items), err)
	}
}

// Somebody else's office, put above where we stand, is not ours to write, and
// has us run nothing.
func TestOfficeOfAnotherUser(t *testing.T) {
	t.Parallel()
	d := officetest.NewRealDesk(t, "ann", "coder")
	sys, open := d.Sys, d.Sys.OpenFS
	sys.OpenFS = func(dir string) (vfs.FS, error) {
		fsys, err := open(dir)
		return othersFS{fsys}, err
	}
	o, err := office.Open(d.Dir, sys)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.CheckWritable(); mail.KindOf(err) != mail.KindForeign || !strings.Contains(err.Error(), "another user") {
		t.Errorf("an office of another user: %v", err)
	}
	if err := d.Office().CheckWritable(); err != nil {
		t.Errorf("one's own: %v", err)
	}
}

// othersFS belongs to another user.
type othersFS struct{ vfs.FS }

func (f othersFS) Lstat(name string) (fs.FileInfo, error) {
	fi, err := f.FS.Lstat(name)
	return othersInfo{fi}, err
}

type othersInfo struct{ fs.FileInfo }

func (i othersInfo) Sys() any { return vfs.Sys{Owner: os.Geteuid() + 1} }

// An office that was not made here, such as one that comes with a repository,
// runs no command that its registry names, though it says that a wake is owed.
func TestForeignOfficeWakesNobody(t *testing.T) {
	t.Parallel()
	d := officetest.NewRealDesk(t, "ann", "coder")
	var bell bell
	wake := func(dir string) *dispatch.Dispatcher {
		o, err := office.Open(dir, d.Sys)
		if err != nil {
			t.Fatal(err)
		}
		return dispatch.New(o, notify.NewTable(&bell), "post")
	}
	reg := d.Registry()
	e, _ := reg.Entry("coder")
	if err := errors.Join(reg.Update(e.AID, func(e *registry.Entry) { e.Notify = []string{"bell"} }), reg.Save(d.Office().FS)); err != nil {
		t.Fatal(err)
	}
	e, _ = d.Registry().Entry("coder")
	d.Mail("ann", "coder", mail.Request, "s", "b")
	repo := filepath.Join(d.Root, "repo")
	if err := os.CopyFS(repo, os.DirFS(d.Dir)); err != nil {
		t.Fatal(err)
	}
	// Its mailbox can be read where it stands: /proc/self/cwd would say so, too.
	text, err := os.ReadFile(filepath.Join(repo, "registry.json"))
	text = []byte(strings.ReplaceAll(string(text), d.Dir+"/", repo+"/"))
	if err = errors.Join(err, os.WriteFile(filepath.Join(repo, "registry.json"), text, 0o600),
		os.WriteFile(filepath.Join(repo, "wake", e.AID+".more"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if _, _, err := wake(repo).Pass(ctx, router.Options{All: true}); mail.KindOf(err) != mail.KindForeign {
		t.Errorf("pass: %v", err)
	}
	wake(repo).Retry(ctx, true)
	wake(repo).Wake(ctx, []registry.Entry{e})
	wake(repo).Renotify(ctx, e)
	if n := bell.rung.Load(); n > 0 {
		t.Errorf("woken %d times from an office that was not made here", n)
	}
	before := bell.rung.Load()
	if wake(d.Dir).Retry(ctx, true); bell.rung.Load() != before+1 {
		t.Error("not woken from the office itself: this test shows nothing")
	}
}

// bell is an adapter that counts.
type bell struct{ rung atomic.Int32 }

func (*bell) Kind() string { return "bell" }

func (b *bell) Notify(context.Context, notify.Agent, notify.Pointer) (notify.Outcome, error) {
	b.rung.Add(1)
	return notify.Outcome{State: notify.Notified, Evidence: "rung"}, nil
}

// Mail without new mail to look at costs one directory listing, whatever has
// been handled before.
func TestEmptyCheckReadsNoArchive(t *testing.T) {
	t.Parallel()
	s := newScene(t, "coder", "ann")
	id := s.send("ann", mailbox.Draft{To: []string{"coder"}, Subject: "s", Body: "b"})
	s.read("coder")
	_, err := s.box("coder").Finish(id)
	s.must(err)
	s.must(s.fs.Remove("agents/coder/index.jsonl"))
	s.must(s.fs.Mkdir("agents/coder/index.jsonl", 0o700)) // reading it would fail
	s.wantUnread("coder")
}

// A flood in one outbox delays nobody else by more than its share of a round.
func TestFloodDelaysNobody(t *testing.T) {
	t.Parallel()
	s := newScene(t, "coder", "mallory", "zoe")
	for i := range 600 {
		s.drop("mallory", fmt.Sprintf("%03d.json", i), `{"to":"coder","body":"b"}`)
	}
	s.drop("zoe", "x.json", `{"to":"coder","body":"b"}`)
	f, err := s.fs.OpenFile("agents/zoe/.clock", os.O_WRONLY, 0) // zoe's id sorts after all of mallory's
	s.must(err)
	_, err = f.WriteAt([]byte("2026-05-30T14-03-11-123Z-5000-00000000"), 0)
	s.must(errors.Join(err, f.Close()))
	before, found := 0, false
	_, err = (&router.Router{Office: s.o}).Pass(context.Background(), router.Options{All: true, Delivered: func(r router.Result) {
		found = found || r.Author == "a-zoe"
		if !found {
			before++
		}
	}})
	s.must(err)
	if !found || before > 256 {
		t.Errorf("zoe's mail came after %d of mallory's (%v)", before, found)
	}
	if items, err := s.box("coder").List(true); err != nil || len(items) != 601 {
		t.Errorf("%d, %v", len(items), err)
	}
}

// Who sits on a mailbox's lock delays that mailbox's hand-written mail only.
func TestHeldMailboxLockDelaysOnlyItsOwner(t *testing.T) {
	t.Parallel()
	o := realOffice(t, "coder", "mallory", "zoe")
	for _, n := range []string{"mallory", "zoe"} {
		if err := os.WriteFile(filepath.Join(o.Dir, "agents", n, "outbox", "x.json"), []byte(`{"to":"coder","subject":"`+n+`","body":"b"}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	unlock, err := o.SystemBox("mallory").Lock(time.Second)
	if err != nil {
		t.Fatal(err)
	}
	subjects := func() (out []string) {
		m, err := mailbox.Open(o, "coder")
		if err != nil {
			t.Fatal(err)
		}
		items, err := m.List(true)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range items {
			out = append(out, it.Subject)
		}
		return out
	}
	passReal(t, o)
	if got := subjects(); !slices.Equal(got, []string{"zoe"}) {
		t.Errorf("while it is held: %q", got)
	}
	unlock()
	passReal(t, o)
	if got := subjects(); !slices.Equal(got, []string{"zoe", "mallory"}) {
		t.Errorf("afterwards: %q", got)
	}
}

// What was changed after it was delivered is not shown as if it were the mail.
func TestChangedAfterDeliveryIsSaid(t *testing.T) {
	t.Parallel()
	s := newScene(t, "coder", "ann")
	id := s.send("ann", mailbox.Draft{To: []string{"coder"}, Subject: "s", Body: "pay 10"})
	path := "agents/ann/outbox/.sent/" + string(id) + ".json"
	text := strings.Replace(readFile(t, s.fs, path), "pay 10", "pay 99", 1)
	f, err := s.fs.OpenFile(path, os.O_WRONLY, 0)
	s.must(err)
	_, err = f.WriteAt([]byte(text), 0)
	s.must(errors.Join(err, f.Close()))
	if _, err := s.box("coder").Open(id); mail.KindOf(err) != mail.KindCorrupt {
		t.Errorf("read: %v", err)
	}
}

// A mailbox outside the office gets a copy that its sender cannot reach.
func TestMailFromOutsideIsACopy(t *testing.T) {
	t.Parallel()
	o := realOffice(t, "coder")
	dir := filepath.Join(filepath.Dir(o.Dir), "workspace", ".mail")
	reg, err := o.Registry()
	if err == nil {
		err = errors.Join(o.MakeOutside(dir, "ann", "a-ann"), reg.Add(registry.Entry{Name: "ann", AID: "a-ann", InboxPath: filepath.Join(dir, "inbox"), Joined: time.Now()}), reg.Save(o.FS))
	}
	if err != nil {
		t.Fatal(err)
	}
	ann, err := mailbox.Open(o, "ann")
	if err != nil {
		t.Fatal(err)
	}
	sent, err := ann.Send(mailbox.Draft{To: []string{"coder"}, Body: "b"})
	if err != nil {
		t.Fatal(err)
	}
	passReal(t, o)
	name := string(sent[0].Msg.ID) + ".json"
	mine, err1 := os.Stat(filepath.Join(dir, "outbox", ".sent", name))
	theirs, err2 := os.Stat(filepath.Join(o.Dir, "agents", "coder", "inbox", name))
	copied, err3 := os.Stat(filepath.Join(o.Dir, "messages", sent[0].Msg.ID.Month(), name))
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if os.SameFile(mine, theirs) || os.SameFile(mine, copied) {
		t.Error("delivered mail shares an inode with a file that its sender can write")
	}
}

// Bounces and notices are the end of it: nothing answers them by itself.
func TestBouncesDoNotBounce(t *testing.T) {
	t.Parallel()
	s := newScene(t, "coder", "ann")
	s.drop("ann", "x.json", `{"to":"codr","act":"request","subject":"s","body":"b"}`)
	s.edit(func(r *registry.Registry) error { return r.Archive("a-ann", true) })
	for range 5 {
		s.pass()
		s.clock.Advance(2 * time.Hour)
	}
	s.wantUnread("ann", "postroom: Not delivered: s")
	s.wantUnread("coder")
}

// Overdue debts are chased once, then a person hears of it; not again.
func TestOverdueIsSaidOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, "coder", "ann")
	s.send("ann", mailbox.Draft{To: []string{"coder"}, Act: mail.Request, Subject: "s", Body: "b"})
	for range 8 {
		s.clock.Advance(time.Hour)
		s.pass()
	}
	s.wantUnread("coder", "ann: s", "postroom: Overdue")
	s.wantUnread("ann", "postroom: Overdue")
	open, err := approval.Open(s.fs)
	if err != nil || len(open) != 1 {
		t.Errorf("%d approvals, %v", len(open), err)
	}
}
