package standing

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/spool"
)

// A memo is used while a mailbox is as it was, and never when something in it
// is another.
func TestMemo(t *testing.T) {
	t.Parallel()
	d := officetest.NewRealDesk(t, "ann", "bob")
	first := d.Mail("ann", "bob", mail.Inform, "one", "…")
	var memo Memo
	look := func() Agent {
		t.Helper()
		o := d.Office()
		x, err := NewLooker(o, View{RosterDir: d.Root, Memo: &memo})
		if err != nil {
			t.Fatal(err)
		}
		reg, err := o.Book()
		if err != nil {
			t.Fatal(err)
		}
		e, _ := reg.Entry("bob")
		return x.Look(context.Background(), e)
	}
	if v := look(); v.Unread != 1 || v.Oldest == nil || !v.Oldest.Equal(first.Time()) {
		t.Errorf("%+v", v)
	}
	if len(memo.boxes) != 0 {
		t.Error("what changed just now is trusted")
	}
	box := d.Box("bob")
	rest := func() {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if _, sure := stateOf(box.Author.Box); sure {
				return
			}
			if time.Now().After(end) {
				t.Fatal("it never comes to rest")
			}
		}
	}
	rest()
	look()
	known, ok := memo.boxes["a-bob"]
	if !ok || known.unread != 1 {
		t.Fatalf("%+v", memo.boxes)
	}
	known.unread = 77 // so that it shows whether it is used
	memo.boxes["a-bob"] = known
	if v := look(); v.Unread != 77 {
		t.Errorf("with nothing changed it counts %d", v.Unread)
	}
	if err := box.Receipt(mail.Receipt{Event: mail.EventRead, ID: first}); err != nil {
		t.Fatal(err)
	}
	if v := look(); v.Unread != 0 || v.Oldest != nil {
		t.Errorf("having read: %d, %v", v.Unread, v.Oldest)
	}
	d.Mail("ann", "bob", mail.Inform, "two", "…")
	if v := look(); v.Unread != 1 {
		t.Errorf("with new mail: %d", v.Unread)
	}
	rest()
	look()
	if err := os.Rename(d.Path("agents", "bob", spool.Inbox), d.Path("agents", "bob", "gone")); err != nil {
		t.Fatal(err)
	}
	if v := look(); v.Problem == "" {
		t.Errorf("without an inbox: %+v", v)
	}
}

// What is owed is read from the ledger when that is another one, and else not.
func TestMemoOfDebts(t *testing.T) {
	t.Parallel()
	d := officetest.NewRealDesk(t, "ann", "bob")
	var memo Memo
	owed := func() int {
		t.Helper()
		list, err := memo.Debts(d.Office())
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if n := owed(); n != 0 {
		t.Errorf("%d without a ledger", n)
	}
	id := d.Mail("ann", "bob", mail.Request, "one", "…")
	if n := owed(); n != 1 {
		t.Errorf("%d after a request", n)
	}
	memo.debts = append(memo.debts, memo.debts[0]) // so that it shows whether it is used
	if n := owed(); n != 2 {
		t.Errorf("with nothing changed it reads %d", n)
	}
	box := d.Box("bob")
	draft, err := box.ReplyDraft(id)
	if err != nil {
		t.Fatal(err)
	}
	draft.Act = mail.Done
	if _, err := box.Send(draft); err != nil {
		t.Fatal(err)
	}
	d.Pass()
	if n := owed(); n != 0 {
		t.Errorf("%d after the answer", n)
	}
	var none *Memo
	if list, err := none.Debts(d.Office()); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
}
