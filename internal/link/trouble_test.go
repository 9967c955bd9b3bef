package link_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/link/linktest"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/spool"
)

// inform sends n numbered messages, one after the other.
func (l *lab) inform(from, to, what string, n int) (ids []mail.ID) {
	l.t.Helper()
	for i := range n {
		ids = append(ids, l.send(from, mailbox.Draft{To: []string{to}, Act: mail.Inform, Subject: fmt.Sprintf("%s %03d", what, i), Body: "x"}))
	}
	return ids
}

// has lists the subjects in an agent's inbox and .done of one kind, in order of
// delivery.
func (l *lab) has(agent, what string) (subjects []string) {
	l.t.Helper()
	items, err := l.box(agent).History(10000)
	if err != nil {
		l.t.Fatal(err)
	}
	slices.SortFunc(items, func(a, b mailbox.Item) int { return int(int64(a.Seq) - int64(b.Seq)) })
	for _, it := range items {
		if strings.HasPrefix(it.Subject, what) {
			subjects = append(subjects, it.Subject)
		}
	}
	return subjects
}

// all waits until an agent has n numbered messages, and checks that they came
// once and in order.
func (l *lab) all(agent, what string, n int) {
	l.t.Helper()
	l.until(fmt.Sprintf("%s has %d of %s", agent, n, what), func() bool { return len(l.has(agent, what)) >= n })
	for i, s := range l.has(agent, what) {
		if s != fmt.Sprintf("%s %03d", what, i) {
			l.t.Fatalf("%s is number %d of %v", s, i, l.has(agent, what))
		}
	}
}

// nothingWaits waits until all that left has arrived.
func (l *lab) nothingWaits(agent string) {
	l.t.Helper()
	l.until("nothing waits for "+agent, func() bool {
		items, err := l.box(agent).List(false)
		return err == nil && len(items) == 0
	})
}

func (l *lab) alarms() (out []string) {
	for _, a := range l.status().Alarms {
		out = append(out, a.Text)
	}
	return out
}

// TestOffline: what is sent while the link is down stays, and goes when it is
// back.
func TestOffline(t *testing.T) {
	t.Parallel()
	hub, a, b := pair(t)
	hub.SetDown("a", true)
	a.until("it is down", func() bool { return !a.status().Up })
	a.inform("ann", "bob@b", "off", 20)
	a.until("20 wait", func() bool {
		for _, p := range a.status().Peers {
			if p.Waiting == 20 && !p.Oldest.IsZero() {
				return true
			}
		}
		return false
	})
	if got := b.has("bob", "off"); len(got) > 0 {
		t.Errorf("%v", got)
	}
	hub.SetDown("a", false)
	b.all("bob", "off", 20)
	a.nothingWaits("bob@b")
}

// TestOrderAfterRestart: what waited when the station ended goes before what came
// while it was away, which the journal tells first.
func TestOrderAfterRestart(t *testing.T) {
	t.Parallel()
	hub, a, b := pair(t)
	hub.SetDown("a", true)
	a.until("it is down", func() bool { return !a.status().Up })
	send := func(from, to int) {
		for i := from; i < to; i++ {
			a.send("ann", mailbox.Draft{To: []string{"bob@b"}, Act: mail.Inform, Subject: fmt.Sprintf("wait %03d", i), Body: "x"})
		}
	}
	send(0, 5)
	a.until("it has seen them", func() bool { return len(a.status().Peers) == 1 && a.status().Peers[0].Waiting == 5 })
	a.until("it has noted that it has read the journal to its end", func() bool {
		var mark struct{ Offset int64 }
		data, err := os.ReadFile(filepath.Join(a.dir, "link", "follow.json"))
		files, _ := filepath.Glob(filepath.Join(a.dir, "journal", "*.jsonl"))
		if err != nil || len(files) == 0 || json.Unmarshal(data, &mark) != nil {
			return false
		}
		fi, err := os.Stat(files[len(files)-1])
		return err == nil && fi.Size() == mark.Offset
	})
	a.halt()
	a.route(slog.New(slog.DiscardHandler))
	send(5, 10)
	a.until("they are delivered here", func() bool {
		items, err := a.box("bob@b").List(false)
		return err == nil && len(items) == 10
	})
	a.halt()
	a.start()
	a.until("it has seen all", func() bool { return len(a.status().Peers) == 1 && a.status().Peers[0].Waiting == 10 })
	hub.SetDown("a", false)
	b.all("bob", "wait", 10)
}

// TestLostOnTheWay: what the hub had acknowledged and lost is sent again, and
// what came after it waits, so the order is kept. The same for receipts.
func TestLostOnTheWay(t *testing.T) {
	t.Parallel()
	hub, a, b := pair(t)
	b.halt()
	a.inform("ann", "bob@b", "lost", 10)
	a.until("the hub has them", func() bool { return hub.Waiting("b") >= 10 })
	if n := hub.Lose("b"); n < 10 {
		t.Fatalf("lost %d", n)
	}
	b.start()
	a.inform("ann", "bob@b", "lost 010", 0)
	for i := 10; i < 15; i++ {
		a.send("ann", mailbox.Draft{To: []string{"bob@b"}, Act: mail.Inform, Subject: fmt.Sprintf("lost %03d", i), Body: "x"})
	}
	b.all("bob", "lost", 15)
	a.nothingWaits("bob@b")

	a.halt()
	b.inform("bob", "ann@a", "back", 5)
	b.until("the hub has them", func() bool { return hub.Waiting("a") >= 5 })
	hub.Lose("a")
	a.start()
	a.all("ann", "back", 5)
	b.nothingWaits("ann@a")
}

// TestRestarts: both stations come and go while mail moves both ways.
func TestRestarts(t *testing.T) {
	t.Parallel()
	_, a, b := pair(t)
	const n = 60
	for i := range n {
		a.send("ann", mailbox.Draft{To: []string{"bob@b"}, Act: mail.Inform, Subject: fmt.Sprintf("there %03d", i), Body: "x"})
		b.send("bob", mailbox.Draft{To: []string{"ann@a"}, Act: mail.Inform, Subject: fmt.Sprintf("back %03d", i), Body: "x"})
		switch i % 10 {
		case 3:
			a.halt()
			a.start()
		case 7:
			b.halt()
			b.start()
		}
	}
	b.all("bob", "there", n)
	a.all("ann", "back", n)
	a.nothingWaits("bob@b")
	b.nothingWaits("ann@a")
	for _, l := range []*lab{a, b} {
		if al := l.alarms(); len(al) > 0 {
			t.Errorf("%s: %v", l.name, al)
		}
	}
}

// backup copies an office; restore puts the copy back in its place.
func (l *lab) backup() (restore func()) {
	l.t.Helper()
	to := filepath.Join(l.t.TempDir(), "backup")
	l.run("cp", "-a", l.dir, to)
	return func() {
		l.t.Helper()
		names, err := os.ReadDir(l.dir)
		if err != nil {
			l.t.Fatal(err)
		}
		for _, n := range names {
			if err := os.RemoveAll(filepath.Join(l.dir, n.Name())); err != nil {
				l.t.Fatal(err)
			}
		}
		l.run("cp", "-a", to+"/.", l.dir)
	}
}

func (l *lab) run(name string, args ...string) {
	l.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		l.t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

// TestReceiverSetBack: an office that was restored from a backup gets again what
// it had got since, in order, and both sides are told.
func TestReceiverSetBack(t *testing.T) {
	t.Parallel()
	_, a, b := pair(t)
	a.inform("ann", "bob@b", "m", 3)
	b.all("bob", "m", 3)
	b.halt()
	restore := b.backup()
	b.start()
	for i := 3; i < 8; i++ {
		a.send("ann", mailbox.Draft{To: []string{"bob@b"}, Act: mail.Inform, Subject: fmt.Sprintf("m %03d", i), Body: "x"})
	}
	b.all("bob", "m", 8)
	a.nothingWaits("bob@b")
	b.halt()
	restore()
	if got := len(b.has("bob", "m")); got != 3 {
		t.Fatalf("%d after the restore", got)
	}
	b.start()
	b.all("bob", "m", 8)
	a.until("it is said", func() bool { return strings.Contains(strings.Join(a.alarms(), "\n"), "set back") })
}

// TestSenderSetBack: an office that was restored from a backup does not use
// numbers again: a new sequence begins, and it is said.
func TestSenderSetBack(t *testing.T) {
	t.Parallel()
	_, a, b := pair(t)
	a.inform("ann", "bob@b", "m", 3)
	b.all("bob", "m", 3)
	a.nothingWaits("bob@b")
	a.halt()
	restore := a.backup()
	a.start()
	for i := 3; i < 8; i++ {
		a.send("ann", mailbox.Draft{To: []string{"bob@b"}, Act: mail.Inform, Subject: fmt.Sprintf("m %03d", i), Body: "x"})
	}
	b.all("bob", "m", 8)
	a.nothingWaits("bob@b")
	a.halt()
	restore()
	a.start()
	a.inform("ann", "bob@b", "new", 5)
	b.all("bob", "new", 5)
	b.all("bob", "m", 8)
	a.nothingWaits("bob@b")
	a.until("it is said", func() bool { return strings.Contains(strings.Join(a.alarms(), "\n"), "set back") })
	a.inform("ann", "bob@b", "later", 3)
	b.all("bob", "later", 3)
}

// TestSenderForgot: an office that was restored to before it had ever written
// there begins a new sequence by itself; what the far office has of the one
// before shows that something was forgotten.
func TestSenderForgot(t *testing.T) {
	t.Parallel()
	_, a, b := pair(t)
	a.halt()
	restore := a.backup()
	a.start()
	a.inform("ann", "bob@b", "m", 3)
	b.all("bob", "m", 3)
	a.nothingWaits("bob@b")
	a.halt()
	restore()
	a.start()
	a.inform("ann", "bob@b", "new", 2)
	b.all("bob", "new", 2)
	b.all("bob", "m", 3)
	a.until("it is said", func() bool { return strings.Contains(strings.Join(a.alarms(), "\n"), "set back") })
}

// TestRefused: what the far office will not have bounces, once, with its reason,
// and does not come again.
func TestRefused(t *testing.T) {
	t.Parallel()
	hub, a, b := pair(t)
	b.halt()
	id := a.send("ann", mailbox.Draft{To: []string{"bob@b"}, Act: mail.Request, Subject: "Gone", Body: "x"})
	a.until("it left", func() bool { return hub.Waiting("b") > 0 })
	b.withLease(func() error { // bob is struck from the book by hand
		data, err := os.ReadFile(filepath.Join(b.dir, "registry.json"))
		if err != nil {
			return err
		}
		text := strings.Replace(string(data), `"aid":"a-bob-b","name":"bob"`, `"aid":"a-robert-b","name":"robert"`, 1)
		text = text[:strings.Index(text, `"crc32"`)] + "\"x\":0}\n"
		return os.WriteFile(filepath.Join(b.dir, "registry.json"), []byte(text), 0o600)
	})
	b.start()
	a.says(id, "refused bob@b")
	note := a.gets("ann", "Not delivered: Gone")
	if note.From != "postroom@b" || note.InReplyTo != id {
		t.Errorf("%+v", note)
	}
	a.nothingWaits("bob@b")
	time.Sleep(time.Second) // three times the time after which it would come again
	if n := strings.Count(strings.Join(a.events(id), "\n"), "refused"); n != 1 {
		t.Errorf("refused %d times", n)
	}
	if got := a.has("ann", "Not delivered"); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// TestTooLargeThere: a message that fits at home, and with the longer names over
// there no more, is refused; the notice that the author's office writes
// in the other's name is no mail of the other's, and no receipt goes there.
func TestTooLargeThere(t *testing.T) {
	t.Parallel()
	hub := linktest.NewHub(t.TempDir())
	a, b := newLab(t, hub, "a-station-with-a-long-name", "ann"), newLab(t, hub, "b", "bob")
	a.knows("bob@b")
	d := mailbox.Draft{To: []string{"bob@b"}, Act: mail.Inform, Subject: "Large"}
	id, err := mail.ID(""), error(nil)
	for size := mail.MaxSize - 400; id == ""; size-- { // the largest that is taken here
		d.Body = strings.Repeat("x", size)
		if id, err = a.trySend("ann", d); err != nil && mail.KindOf(err) != mail.KindTooLarge {
			t.Fatal(err)
		}
	}
	a.says(id, "refused bob@b")
	note := a.gets("ann", "Not delivered: Large")
	if _, err := a.box("ann").Finish(note.ID); err != nil {
		t.Fatal(err)
	}
	after := b.send("bob", mailbox.Draft{To: []string{"ann"}, Act: mail.Inform, Subject: "After", Body: "x"})
	a.gets("ann", "After")
	b.says(after, "arrived ann@"+a.name) // receipts go in order
	for _, l := range []*lab{a, b} {
		if got := l.alarms(); len(got) > 0 {
			t.Errorf("%s: %v", l.name, got)
		}
	}
}

// TestForms: channel, copy, broadcast and the far person, by the rules of both
// offices.
func TestForms(t *testing.T) {
	t.Parallel()
	_, a, b := pair(t)
	a.withLease(func() error {
		o := a.office()
		reg, err := o.Registry()
		if err != nil {
			return err
		}
		bob, _ := reg.Entry("bob@b")
		if err := reg.AddChannel("team", "a-ann-a", "a-carol-a", bob.AID); err != nil {
			return err
		}
		return reg.Save(o.FS)
	})
	a.send("ann", mailbox.Draft{To: []string{"team"}, Act: mail.Inform, Subject: "In the channel", Body: "x"})
	if m := b.gets("bob", "In the channel"); m.To != "team@a" {
		t.Errorf("to %s", m.To)
	}
	a.gets("carol", "In the channel")
	a.send("ann", mailbox.Draft{To: []string{"carol"}, CC: []string{"bob@b"}, Act: mail.Request, Subject: "With a copy", Body: "x"})
	if m := b.gets("bob", "With a copy"); m.To != "carol@a" || len(m.CC) != 1 || m.CC[0] != "bob" {
		t.Errorf("to %s cc %v", m.To, m.CC)
	}
	id := a.send("ann", mailbox.Draft{To: []string{"broadcast"}, Act: mail.Inform, Subject: "To all", Body: "x"})
	for _, name := range []string{"bob", "dave"} {
		b.gets(name, "To all")
		a.says(id, "arrived "+name+"@b")
	}
	a.gets("carol", "To all")
	time.Sleep(300 * time.Millisecond)
	if got := a.has("ann", "To all"); len(got) > 0 {
		t.Error("a broadcast came back")
	}
	q := a.send("ann", mailbox.Draft{To: []string{"human@b"}, Act: mail.Query, Subject: "May I?", Body: "x", Options: []string{"yes", "no"}})
	a.says(q, "arrived human@b")
	open, err := b.box("human").Approvals()
	if err != nil || len(open) != 1 || open[0].Asker != "ann@a" || !slices.Equal(open[0].Options, []string{"yes", "no"}) {
		t.Errorf("%+v %v", open, err)
	}
	if _, err := a.trySend("ann", mailbox.Draft{To: []string{"human@b"}, Act: mail.Inform, Body: "x", Options: []string{"yes"}}); mail.KindOf(err) != mail.KindInvalid {
		t.Errorf("options of what asks nothing: %v", err)
	}
}

// TestForeignHands: a station that is in the team and hostile can neither write
// as another, nor take another's mail off, nor forge a receipt.
func TestForeignHands(t *testing.T) {
	t.Parallel()
	hub, a, b := pair(t)
	c := newLab(t, hub, "c", "eve")
	b.knows("eve@c")
	b.halt()
	id := a.send("ann", mailbox.Draft{To: []string{"bob@b"}, Act: mail.Request, Subject: "True", Body: "x"})
	a.until("it left", func() bool { return hub.Waiting("b") > 0 })
	c.halt()
	keys, err := link.OpenKeys(c.office().FS)
	if err != nil {
		t.Fatal(err)
	}
	wire := hub.Wire("c")
	forge := func(to string, h link.Header, body []byte) {
		t.Helper()
		data, err := link.Forge(keys, h, body)
		if err == nil {
			err = <-wire.Publish(to, h.Kind, string(h.Kind)+fmt.Sprint(time.Now().UnixNano()), data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	lie := strings.Replace(string(read(t, a, id)), `"subject": "True"`, `"subject": "False"`, 1)
	cargo := `{"aid":"a-ann-a","recipients":["a-bob-b"]}` + "\n"
	// In a's name, signed by c; and in c's name, as the author ann@a would be read.
	forge("b", link.Header{Team: "t", Kind: link.Mail, From: "a", To: "b", Epoch: "e-0123456789ab-01234567", Seq: 1, ID: id}, []byte(cargo+lie))
	forge("b", link.Header{Team: "t", Kind: link.Mail, From: "c", To: "b", Epoch: "e-0123456789ab-01234567", Seq: 1, ID: id}, []byte(cargo+lie))
	forge("b", link.Header{Team: "t", Kind: link.Mail, From: "c", To: "b", Epoch: "e-0123456789ab-01234567", Seq: 2, ID: id},
		[]byte(cargo+strings.Replace(lie, `"from": "ann"`, `"from": "ann@a"`, 1)))
	// Receipts for mail that never went to c.
	forge("a", link.Header{Team: "t", Kind: link.Receipt, From: "c", To: "a"},
		[]byte(`{"events":[{"event":"arrived","id":"`+string(id)+`","aid":"a-bob-b","at":"2026-05-30T14:03:11Z"},{"event":"refused","id":"`+string(id)+`","at":"2026-05-30T14:03:11Z","text":"no"}]}`))
	// Garbage.
	if err := <-wire.Publish("b", link.Mail, "garbage", []byte("\x00\x01")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	if got := a.events(id); slices.Contains(got, "arrived bob@b") || slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "refused") }) {
		t.Errorf("a believed it: %v", got)
	}
	b.start()
	a.says(id, "arrived bob@b")
	if m := b.gets("bob", "True"); m.From != "ann@a" {
		t.Errorf("%+v", m)
	}
	time.Sleep(500 * time.Millisecond)
	if got := b.has("bob", "False"); len(got) > 0 {
		t.Errorf("bob reads %v", got)
	}
	if got := strings.Join(b.alarms(), "\n"); !strings.Contains(got, "it says that it is from a") || !strings.Contains(got, "no envelope") {
		t.Errorf("b was not told: %s", got)
	}
	b.until("a person is told", func() bool {
		open, err := b.box("human").Approvals()
		return err == nil && slices.ContainsFunc(open, func(a approval.Approval) bool {
			return a.Subject == "The link needs a look: station c" && strings.Contains(a.Body, "it says that it is from a")
		})
	})
}

func read(t *testing.T, l *lab, id mail.ID) []byte {
	t.Helper()
	_, data, err := l.office().ReadMessage(id)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestQuarantine: an envelope that ended the station twice, alone, is set aside;
// what lies behind it arrives.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	hub, a, b := pair(t)
	b.halt()
	a.inform("ann", "bob@b", "m", 3)
	a.until("they left", func() bool { return hub.Waiting("b") >= 3 })
	var first []byte
	files, err := os.ReadDir(filepath.Join(hub.Dir, "mail"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), " b msg") {
			if first, err = os.ReadFile(filepath.Join(hub.Dir, "mail", f.Name())); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	// As a crash leaves it, twice.
	suspects := fmt.Sprintf(`{"%s":1}`, mail.DigestOf(first))
	trying := fmt.Sprintf(`["%s"]`, mail.DigestOf(first))
	for name, text := range map[string]string{"suspects.json": suspects, "trying.json": trying} {
		if err := os.WriteFile(filepath.Join(b.dir, "link", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.start()
	b.until("the others came", func() bool { return len(b.has("bob", "m")) == 2 })
	if got := strings.Join(b.alarms(), "\n"); !strings.Contains(got, "set aside") {
		t.Errorf("%s", got)
	}
	if names, _ := os.ReadDir(filepath.Join(b.dir, "link", "quarantine")); len(names) != 1 {
		t.Errorf("%v", names)
	}
}

// TestRevoked: a station that the hub threw out is out here at once: its agents
// are archived, and what waits for it goes back to its author.
func TestRevoked(t *testing.T) {
	t.Parallel()
	hub, a, b := pair(t)
	b.halt()
	hub.SetDown("a", true)
	a.until("it is down", func() bool { return !a.status().Up })
	id := a.send("ann", mailbox.Draft{To: []string{"bob@b"}, Act: mail.Request, Subject: "Too late", Body: "x"})
	a.says(id, "delivered bob@b")
	hub.Revoke("b")
	hub.SetDown("a", false)
	a.says(id, "refused bob@b")
	a.gets("ann", "Not delivered: Too late")
	a.until("archived", func() bool {
		reg, err := a.office().Registry()
		if err != nil {
			return false
		}
		e, _ := reg.Entry("bob@b")
		return e.Archived
	})
	x, _ := spool.Exists(a.office().FS, "link/peers/b.json")
	if !x {
		t.Error("it is forgotten")
	}
}

// TestRevokedComesBack: what was given back to its author because its station was
// revoked stays undelivered, also if a station of that name is let in later.
func TestRevokedComesBack(t *testing.T) {
	t.Parallel()
	hub, a, b := pair(t)
	say := func(subject string) mail.ID {
		return a.send("ann", mailbox.Draft{To: []string{"bob@b"}, Act: mail.Inform, Subject: subject, Body: "x"})
	}
	say("Before")
	b.gets("bob", "Before")
	b.halt()
	id := say("Too late")
	a.until("it left", func() bool { return hub.Waiting("b") > 0 })
	hub.Revoke("b")
	hub.Lose("b")
	a.says(id, "refused bob@b")
	a.says(say("While it was out"), "refused bob@b")
	if note := a.gets("ann", "Not delivered: While it was out"); !strings.Contains(note.Body, "revoked, or has left") {
		t.Error(note.Body) // other stations are not told which of the two
	}
	hub.Readmit("b")
	b.start()
	a.until("in service again", func() bool {
		reg, err := a.office().Registry()
		if err != nil {
			return false
		}
		e, _ := reg.Entry("bob@b")
		return !e.Archived
	})
	say("After")
	b.gets("bob", "After")
	if got := b.has("bob", ""); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// TestRotated: a new key that the one before vouches for is taken without a
// word; one that nobody vouches for waits for a person.
func TestRotated(t *testing.T) {
	t.Parallel()
	_, a, b := pair(t)
	fs := a.office().FS
	newKey := func(vouched bool) {
		t.Helper()
		pair, err := nkeys.CreateUser()
		if err != nil {
			t.Fatal(err)
		}
		seed, err := pair.Seed()
		if err != nil {
			t.Fatal(err)
		}
		if vouched {
			err = link.ReplaceSign(fs, seed)
		} else {
			err = os.WriteFile(filepath.Join(a.dir, "link", "seed"), seed, 0o600)
		}
		id, ierr := link.LoadIdentity(fs, a.office().Config.ID)
		if err == nil && ierr == nil {
			id.Joined = time.Now()
			err = link.SaveIdentity(fs, id, "jwt")
		}
		if err != nil || ierr != nil {
			t.Fatal(err, ierr)
		}
	}
	a.send("ann", mailbox.Draft{To: []string{"bob@b"}, Act: mail.Inform, Subject: "before", Body: "x"})
	b.gets("bob", "before")
	newKey(true)
	a.send("ann", mailbox.Draft{To: []string{"bob@b"}, Act: mail.Inform, Subject: "after", Body: "x"})
	b.gets("bob", "after")
	if al := b.alarms(); len(al) > 0 {
		t.Errorf("%v", al)
	}
	newKey(false)
	b.until("it is said", func() bool { return strings.Contains(strings.Join(b.alarms(), "\n"), "another key") })
	a.send("ann", mailbox.Draft{To: []string{"bob@b"}, Act: mail.Inform, Subject: "by whom?", Body: "x"})
	b.until("that is said, too", func() bool { return strings.Contains(strings.Join(b.alarms(), "\n"), "its signature is not that of a") })
	if got := b.has("bob", "by whom?"); len(got) > 0 {
		t.Error("mail with a key that nobody vouches for was taken")
	}
	if _, err := link.Trust(b.office().FS, "a"); err != nil {
		t.Fatal(err)
	}
	b.gets("bob", "by whom?")
	b.until("what is settled is no alarm any more", func() bool { return len(b.alarms()) == 0 })
}
