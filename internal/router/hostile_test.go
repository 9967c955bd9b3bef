package router_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// mallory's mailbox is hers: she may do with it what the operating system lets
// her. The mail of the others is delivered in the same pass, and unchanged.

// den is mallory's mailbox, relative to the disk.
const den = "office/agents/mallory/"

func newDen(t *testing.T) *officetest.Desk {
	return officetest.NewDesk(t, "researcher", "coder", "mallory")
}

// honest sends a request between the others and fails unless one pass delivers
// it and everything about it agrees.
func honest(t *testing.T, d *officetest.Desk) {
	t.Helper()
	before, err := officetest.Check(d.Office(), "mallory")
	if err != nil {
		t.Fatal(err)
	}
	m := d.Send("researcher", mailbox.Draft{To: []string{"coder"}, Act: mail.Request, Subject: "Review", Body: "Please.", Again: true})
	rep, perr := tryPass(d, router.Options{All: true})
	l, err := officetest.Check(d.Office(), "mallory")
	if err != nil {
		t.Fatalf("%v; the pass said %v %+v", err, perr, rep)
	}
	if len(l.Held[m.ID]) != 1 || len(l.Messages) <= len(before.Messages) {
		t.Fatalf("not delivered: %v %+v", perr, rep)
	}
	o, err := d.Box("coder").Open(m.ID)
	if err != nil || o.Body != "Please." {
		t.Fatalf("%+v %v", o, err)
	}
}

func put(t *testing.T, d *officetest.Desk, name, text string) {
	t.Helper()
	f, err := d.Mem.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// gut removes a name and everything below it.
func gut(t *testing.T, m *vfs.Mem, name string) {
	t.Helper()
	names, err := m.ReadNames(name)
	if err == nil {
		for _, n := range names {
			gut(t, m, name+"/"+n)
		}
	}
	if err := m.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

func TestHostilePlants(t *testing.T) {
	t.Parallel()
	plants := map[string]func(*vfs.Mem, string) error{
		"symlink": func(m *vfs.Mem, name string) error { return m.Symlink("/office/registry.json", name) },
		"fifo":    func(m *vfs.Mem, name string) error { return m.Mkfifo(name) },
		"dir":     func(m *vfs.Mem, name string) error { return m.Mkdir(name, 0o700) },
		"nothing": func(m *vfs.Mem, name string) error { return nil },
		"closed": func(m *vfs.Mem, name string) error {
			return errors.Join(m.Mkdir(name, 0o700), m.Chmod(name, 0))
		},
	}
	places := []string{"", "inbox", "inbox/.done", "outbox", "outbox/.sent", "outbox/.failed", "outbox/.keys", "index.jsonl", "receipts.jsonl",
		".lock", ".clock"}
	for kind, plant := range plants {
		for _, place := range places {
			t.Run(kind+" at "+place, func(t *testing.T) {
				t.Parallel()
				for _, reset := range []bool{false, true} {
					d := newDen(t)
					d.Send("mallory", mailbox.Draft{To: []string{"coder"}, Subject: "x", Body: "x"})
					d.Send("researcher", mailbox.Draft{To: []string{"mallory"}, Act: mail.Request, Subject: "y", Body: "y"})
					d.Write("mallory", "hand.json", `{"to":"coder","body":"by hand"}`)
					d.Write("mallory", "odd.json", `{"to":"cod`)
					if reset { // with mail of hers half-way
						f := &vfs.Fault{}
						f.FailIf(func(c vfs.Call) error {
							if c.Op == "sync" && strings.Contains(c.Name, "transcripts") {
								return errors.New("pulled")
							}
							return nil
						})
						d.Fault = f
						tryPass(d, router.Options{All: true})
						d.Fault = nil
					}
					gut(t, d.Mem, strings.TrimSuffix(den+place, "/"))
					if err := plant(d.Mem, strings.TrimSuffix(den+place, "/")); err != nil {
						t.Fatal(err)
					}
					d.Clock.Advance(time.Minute)
					if !reset {
						tryPass(d, router.Options{All: true}) // her own mail may wait; what of hers arrived must be whole
					}
					for range 3 {
						tryPass(d, router.Options{All: true})
					}
					honest(t, d)
				}
			})
		}
	}
}

func TestHostilePlantsWhereMailGoes(t *testing.T) {
	t.Parallel()
	for kind, plant := range map[string]func(*vfs.Mem, string) error{
		"symlink": func(m *vfs.Mem, name string) error { return m.Symlink("/office/registry.json", name) },
		"fifo":    func(m *vfs.Mem, name string) error { return m.Mkfifo(name) },
		"dir":     func(m *vfs.Mem, name string) error { return m.Mkdir(name, 0o700) },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			d := newDen(t)
			m := d.Send("researcher", mailbox.Draft{To: []string{"mallory"}, Subject: "y", Body: "y"})
			if err := plant(d.Mem, den+"inbox/"+string(m.ID)+".json"); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"outbox/plant.json", "outbox/.sent/plant.json", "outbox/.failed/plant.json"} {
				if err := plant(d.Mem, den+name); err != nil {
					t.Fatal(err)
				}
			}
			d.Clock.Advance(time.Minute)
			d.Pass()
			if o, err := d.Box("mallory").Open(m.ID); err != nil || o.Body != "y" {
				t.Fatalf("%+v %v", o, err)
			}
			honest(t, d)
		})
	}
}

func TestHostileIDs(t *testing.T) {
	t.Parallel()
	stamped := func(d *officetest.Desk, id mail.ID) string {
		return fmt.Sprintf(`{"schema":1,"id":%q,"conversation":"conv-x","in_reply_to":null,"from":"mallory","to":"coder","cc":[],"act":"inform",`+
			`"subject":"mine","body":"mine","hops":0,"requires_reply":false,"needs_human":false,"deadline":null,`+
			`"created_at":"2026-05-30T14:03:11.123Z","office":"o-test","station":"","sent_with":"post test","envelope":{"recipients":["a-coder"]}}`, id)
	}
	for _, when := range []string{"before", "same pass", "after", "bounce"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			d := newDen(t)
			m := d.Send("researcher", mailbox.Draft{To: []string{"coder"}, Act: mail.Request, Subject: "Review", Body: "Please."})
			id := m.ID
			src := d.Box("researcher").Author.Box
			path := src.Path(spool.Outbox, spool.FileName(m.ID))
			data, _, err := spool.ReadMail(src.FS, path)
			if err != nil {
				t.Fatal(err)
			}
			switch when {
			case "before": // mallory guesses the id before its owner's file is there
				if err := src.FS.Remove(path); err != nil {
					t.Fatal(err)
				}
			case "after":
				d.Pass()
			case "bounce":
				if err := src.FS.Remove(path); err != nil {
					t.Fatal(err)
				}
				d.Write("researcher", "typo.json", `{"to":"codr","act":"request","subject":"Review","body":"Please."}`)
				// The notice that the office is about to write.
				raw := d.Box("researcher").Author
				id = mail.DerivedID(raw.Box.OpenClock().Next(d.Clock.Now(), raw.Tag()), "postroom", "a-researcher", "bounce", "")
			}
			d.Write("mallory", string(id)+".json", stamped(d, id))
			d.Pass()
			if when == "before" {
				if err := spool.PutNew(src.FS, src.Path(spool.Outbox), spool.FileName(m.ID), data); err != nil {
					t.Fatal(err)
				}
				d.Pass()
			}
			l := settled(t, d)
			if when == "bounce" {
				items, err := d.Box("researcher").List(true)
				if err != nil || len(items) != 1 || items[0].From != "postroom" {
					t.Fatalf("the bounce: %+v %v", items, err)
				}
				return
			}
			got, err := d.Box("coder").Open(m.ID)
			if err != nil || got.Body != "Please." || got.From != "researcher" || len(l.Held[m.ID]) != 1 {
				t.Fatalf("%+v %v", got, err)
			}
			if mails(l) != 2 {
				t.Fatalf("%d messages", mails(l))
			}
		})
	}
}

func TestHostileStamps(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "researcher", "coder")
	last := chain(d)
	// One more, past the cap, that says of itself that it is the first.
	m := d.Send("coder", mailbox.Draft{To: []string{"researcher"}, InReplyTo: last.ID, Act: mail.Query, Body: "?"})
	box := d.Box("coder").Author.Box
	data, _, err := spool.ReadMail(box.FS, box.Path(spool.Outbox, spool.FileName(m.ID)))
	if err != nil {
		t.Fatal(err)
	}
	forged := strings.Replace(string(data), `"hops": 3`, `"hops": 0`, 1)
	forged = strings.Replace(forged, `"requires_reply": true`, `"requires_reply": false`, 1)
	if forged == string(data) {
		t.Fatal("nothing to forge in " + forged)
	}
	put(t, d, "office/agents/coder/outbox/"+spool.FileName(m.ID), forged)
	d.Pass()
	l := settled(t, d)
	if got := l.Messages[m.ID]; got == nil || got.Hops != 3 || !got.RequiresReply || len(l.Held[m.ID]) != 0 {
		t.Fatalf("%+v with %v", got, l.Held[m.ID])
	}
}

func TestHostileRewrite(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"", "/mallory"} {
		t.Run("mailbox at "+at, func(t *testing.T) {
			t.Parallel()
			d := officetest.NewDesk(t, "researcher", "coder")
			root := "office/agents/mallory/"
			if at != "" {
				if err := d.Mem.Mkdir("mallory", 0o700); err != nil {
					t.Fatal(err)
				}
				root = "mallory/"
			}
			d.Join("mallory", at)
			m := d.Send("mallory", mailbox.Draft{To: []string{"coder"}, Subject: "x", Body: "Good morning."})
			kept, err := d.Mem.OpenFile(root+"outbox/"+spool.FileName(m.ID), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			d.Pass()
			if _, err := kept.WriteAt([]byte("X"), 60); err != nil {
				t.Fatal(err)
			}
			_, err = d.Box("coder").Open(m.ID)
			if changed := mail.KindOf(err) == mail.KindCorrupt; changed != (at == "") || err != nil && !changed {
				t.Fatalf("read: %v", err)
			}
			if _, err := officetest.Check(d.Office()); err == nil {
				t.Fatal("the check sees nothing")
			}
			if at == "" { // nor does it keep the other mail from being read
				d.Clock.Advance(time.Second)
				d.Send("researcher", mailbox.Draft{To: []string{"coder"}, Subject: "z", Body: "z"})
				d.Pass()
				o, err := d.Box("coder").Next(func(o *mailbox.Opened) (*mail.Receipt, error) { return nil, nil })
				if err != nil || o == nil || o.Body != "z" {
					t.Fatalf("next: %+v %v", o, err)
				}
			}
		})
	}
}

func TestHostileSwap(t *testing.T) {
	t.Parallel()
	// The file is another one at any moment after it was looked at first.
	for n := 1; ; n++ {
		d := newDen(t)
		m := d.Send("mallory", mailbox.Draft{To: []string{"coder"}, Subject: "x", Body: "Good morning."})
		name := "office/agents/mallory/outbox/" + spool.FileName(m.ID)
		f := &vfs.Fault{}
		touched := 0
		f.Before(func(c vfs.Call) {
			if !strings.HasPrefix("office/"+c.Name, name) {
				return
			}
			if touched++; touched == n {
				if d.Mem.Remove(name) == nil {
					put(t, d, name, `{"to":"coder","body":"Good evening."}`)
				}
			}
		})
		d.Fault = f
		if _, err := tryPass(d, router.Options{All: true}); err != nil {
			t.Fatal(err)
		}
		d.Fault = nil
		d.Pass()
		honest(t, d)
		items, err := d.Box("coder").List(false)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range items {
			if _, err := d.Box("coder").Open(it.ID); err != nil {
				t.Errorf("swapped at touch %d: %v", n, err)
			}
		}
		if touched < n {
			t.Logf("%d touches", n-1)
			return
		}
	}
}

func TestHostileReceipts(t *testing.T) {
	t.Parallel()
	d := newDen(t)
	m := d.Send("researcher", mailbox.Draft{To: []string{"coder"}, Act: mail.Request, Subject: "Review", Body: "Please."})
	d.Pass()
	var line []byte
	for _, e := range []string{mail.EventRead, mail.EventDone, "delivered"} {
		line = mail.Receipt{Event: e, ID: m.ID, At: d.Clock.Now(), Part: 1, Parts: 1}.AppendLine(line)
	}
	put(t, d, den+"receipts.jsonl", string(line))
	// An index of her own making doesn't make it hers.
	data, _, err := spool.ReadFile(d.Box("coder").Author.Box.FS, "agents/coder/index.jsonl", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	put(t, d, den+"index.jsonl", string(data))
	d.Pass()
	life, err := d.Box("researcher").Trace(m.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range life.Steps {
		if s.Event == mail.EventRead || s.Event == mail.EventDone || s.Agent == "mallory" {
			t.Errorf("forged: %+v", s)
		}
	}
	again, err := d.Box("researcher").Send(mailbox.Draft{To: []string{"coder"}, Act: mail.Request, Subject: "Review", Body: "Please."})
	if err != nil || !again[0].Duplicate {
		t.Errorf("%+v %v", again, err)
	}
}

func TestHostileGarbage(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"x", "\n", "{\"seq\":1}\n", "\x00"} {
		t.Run(fmt.Sprintf("%q", unit), func(t *testing.T) {
			t.Parallel()
			d := newDen(t)
			garbage := strings.Repeat(unit, 8<<20/len(unit))
			put(t, d, den+"index.jsonl", garbage)
			put(t, d, den+"receipts.jsonl", garbage)
			d.Send("mallory", mailbox.Draft{To: []string{"coder"}, Subject: "x", Body: "x"})
			m := d.Send("researcher", mailbox.Draft{To: []string{"mallory"}, Subject: "y", Body: "y"})
			if n := calls(d, func() { d.Pass() }); n > 3000 {
				t.Errorf("the pass made %d calls", n)
			}
			if o, err := d.Box("mallory").Open(m.ID); err != nil || o.Body != "y" {
				t.Errorf("%+v %v", o, err)
			}
			honest(t, d)
		})
	}
}

func TestHostileLock(t *testing.T) {
	t.Parallel()
	d := newDen(t)
	unlock, err := d.Box("mallory").Author.Box.Lock(0)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	for i := range 100 {
		d.Write("mallory", fmt.Sprintf("%03d.json", i), `{"to":"coder","body":"by hand"}`)
	}
	if n := calls(d, func() { honest(t, d) }); n > 3000 { // each try for the lock is one
		t.Errorf("%d calls", n)
	}
}

// calls counts what fn asks of the file system: what a hostile owner can make
// others do is bounded in work, which is what a slow machine does slowly.
func calls(d *officetest.Desk, fn func()) int {
	fault := new(vfs.Fault)
	d.Fault = fault
	fn()
	d.Fault = nil
	return len(fault.Calls())
}

func TestHostileFlood(t *testing.T) {
	t.Parallel()
	d := newDen(t)
	for i := range 3000 {
		text := `{"to":"coder","subject":"flood","body":"by hand"}`
		if i%2 == 0 {
			text = `{"to":`
		}
		put(t, d, fmt.Sprintf(den+"outbox/%06d.json", i), text)
	}
	m := d.Send("researcher", mailbox.Draft{To: []string{"coder"}, Act: mail.Request, Subject: "Review", Body: "Please."})
	first := mail.ID("")
	_, err := d.Router().Pass(context.Background(), router.Options{All: true, Delivered: func(r router.Result) {
		if r.Author == "a-researcher" {
			first = r.ID
		}
	}})
	if err != nil || first != m.ID {
		t.Fatalf("%v %v", first, err)
	}
	items, err := d.Box("coder").List(true)
	if err != nil {
		t.Fatal(err)
	}
	for i, it := range items {
		if it.ID == m.ID && i > 64 {
			t.Errorf("it came %dth", i)
		}
	}
}

func TestHostileTimes(t *testing.T) {
	t.Parallel()
	d := newDen(t)
	for i, id := range []string{"9999-12-31T23-59-59-999Z-9999-a1b2c3d4", "1970-01-01T00-00-00-000Z-0000-a1b2c3d4", "2026-05-30T14-03-11-123Z-0004-a1b2c3d4"} {
		d.Write("mallory", id+".json", fmt.Sprintf(`{"id":%q,"to":"coder","created_at":"9999-01-01T00:00:00Z","body":"%d"}`, id, i))
	}
	if err := d.Mem.SetModTime(den+"outbox", time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	for i, at := range []time.Time{{}, time.Unix(0, 0), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)} {
		name := fmt.Sprintf("odd%d.json", i)
		d.Write("mallory", name, `{"to`)
		if err := d.Mem.SetModTime(den+"outbox/"+name, at); err != nil {
			t.Fatal(err)
		}
	}
	d.Pass()
	d.Pass()
	l := settled(t, d)
	if mails(l) != 3 {
		t.Errorf("%d messages", mails(l))
	}
	honest(t, d)
}
