package router_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// patience bounds what should take no time: a sender that waits for the lease.
const patience = 20 * time.Second

// deliver sends and waits, as post send does, and checks that what it is told
// is true.
func deliver(d *officetest.Desk, from, to, body string) error {
	m, err := trySend(d, from, mailbox.Draft{To: []string{to}, Subject: "s", Body: body})
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	var got []router.Result
	r := d.Router()
	box := d.Box(from)
	if _, err := r.Drain(ctx, box.Author, []*mail.Message{m}, func(res router.Result) { got = append(got, res) }); err != nil {
		return err
	}
	if len(got) != 1 || len(got[0].Fates) != 1 || got[0].Fates[0].State != router.Delivered {
		return fmt.Errorf("told %+v", got)
	}
	state, err := d.Box(to).Author.Box.Where(m.ID)
	if err != nil || state == spool.Absent {
		return fmt.Errorf("told delivered, and it is not there: %v", err)
	}
	return nil
}

// TestHolderStopped stops the router at each of its calls while somebody sends
// who waits, and then lets it go on or die.
func TestHolderStopped(t *testing.T) {
	t.Parallel()
	for i := range 4 {
		dies, opt := i%2 == 1, router.Options{All: true}
		if i > 1 {
			opt = router.Options{Own: "a-researcher", Park: true}
		}
		t.Run(fmt.Sprintf("dies %v, parks %v", dies, opt.Park), func(t *testing.T) {
			t.Parallel()
			for n := 1; ; n++ {
				d := officetest.NewDesk(t, "researcher", "coder", "tester")
				d.Send("researcher", mailbox.Draft{To: []string{"coder"}, Act: mail.Request, Subject: "News", Body: "Lunch."})
				calls, err := stopAt(d, n, dies, opt)
				if err == nil {
					err = once(d, 2)
				}
				if err != nil {
					t.Fatalf("stopped at call %d: %v", n, err)
				}
				if n > calls {
					t.Logf("%d calls", calls)
					return
				}
			}
		})
	}
}

// stopAt has one process route and stops it before its n-th call until another
// one has sent and begun to wait.
func stopAt(d *officetest.Desk, n int, dies bool, opt router.Options) (calls int, err error) {
	holder := *d
	f := &vfs.Fault{}
	holder.Fault = f
	holder.Sys = officetest.System(d.Clock, holder.Open)
	holder.Sys.Boot = d.Sys.Boot
	stopped, goOn, done := make(chan bool, 1), make(chan bool), make(chan bool)
	f.Before(func(c vfs.Call) {
		if c.N == n {
			stopped <- true
			<-goOn
		}
	})
	if dies { // what a dead process holds is closed
		f.FailFrom(n, syscall.EIO)
	}
	go func() {
		defer close(done)
		tryPass(&holder, opt)
	}()
	select {
	case <-stopped:
	case <-done:
		close(goOn)
		return len(f.Calls()), deliver(d, "tester", "coder", "late")
	}
	sent := make(chan error, 1)
	go func() { sent <- deliver(d, "tester", "coder", "meanwhile") }()
	// The sender is at its wait when it has stored; no more can be known without
	// looking into it.
	for range 100 {
		if names, _ := d.Mem.ReadNames("office/agents/tester/outbox"); len(names) > 3 {
			break
		}
		time.Sleep(100 * time.Microsecond)
	}
	close(goOn)
	<-done
	return len(f.Calls()), <-sent
}

// TestTwoRouters: while one holds the lease nobody else does, whatever becomes
// of the file.
func TestTwoRouters(t *testing.T) {
	t.Parallel()
	for name, meddle := range map[string]func(*vfs.Mem) error{
		"nothing":  func(m *vfs.Mem) error { return nil },
		"unlinked": func(m *vfs.Mem) error { return m.Remove("office/lease") },
		"replaced": func(m *vfs.Mem) error {
			return errors.Join(m.Remove("office/lease"), spool.PutNew(m, "office", "lease", []byte("x")))
		},
		"renamed": func(m *vfs.Mem) error { return m.Rename("office/lease", "office/lease.old") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := officetest.NewDesk(t, "researcher", "coder")
			lease, err := spool.AcquireLease(d.Office().FS, spool.Holder{PID: 7})
			if err != nil {
				t.Fatal(err)
			}
			if err := meddle(d.Mem); err != nil {
				t.Fatal(err)
			}
			d.Send("researcher", mailbox.Draft{To: []string{"coder"}, Subject: "s", Body: "b"})
			if _, err := tryPass(d, router.Options{All: true}); mail.KindOf(err) != mail.KindBusy {
				t.Errorf("a second router: %v", err)
			}
			lease.Release()
			if err := once(d, 1); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNoLease: a sender that can't route says why, and its message stays.
func TestNoLease(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meddle, mend func(*vfs.Mem) error
		kind         mail.Kind
	}{
		"read-only": {func(m *vfs.Mem) error { return m.Chmod("office/lease", 0o400) }, func(m *vfs.Mem) error { return m.Chmod("office/lease", 0o600) }, mail.KindReadOnly},
		"directory": {func(m *vfs.Mem) error {
			return errors.Join(m.Remove("office/lease"), m.Mkdir("office/lease", 0o700))
		}, func(m *vfs.Mem) error { return m.Remove("office/lease") }, mail.KindStore},
		"fifo": {func(m *vfs.Mem) error {
			return errors.Join(m.Remove("office/lease"), m.Mkfifo("office/lease"))
		}, func(m *vfs.Mem) error { return m.Remove("office/lease") }, mail.KindStore},
		"office read-only": {func(m *vfs.Mem) error {
			return errors.Join(m.Remove("office/lease"), m.Chmod("office", 0o500))
		}, func(m *vfs.Mem) error { return m.Chmod("office", 0o700) }, mail.KindReadOnly},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := officetest.NewDesk(t, "researcher", "coder")
			if err := c.meddle(d.Mem); err != nil {
				t.Fatal(err)
			}
			m := d.Send("researcher", mailbox.Draft{To: []string{"coder"}, Subject: "s", Body: "b"})
			_, err := d.Router().Drain(context.Background(), d.Box("researcher").Author, []*mail.Message{m}, func(r router.Result) {
				t.Errorf("told %+v", r)
			})
			if mail.KindOf(err) != c.kind {
				t.Errorf("%q: %v", mail.KindOf(err), err)
			}
			if err := c.mend(d.Mem); err != nil {
				t.Fatal(err)
			}
			if err := once(d, 1); err != nil {
				t.Error(err)
			}
		})
	}
}
