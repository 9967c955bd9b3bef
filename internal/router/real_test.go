//go:build unix

package router_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// realOffice makes an office on the real file system and returns what opens it
// as another process would.
func realOffice(t *testing.T, agents ...string) func() *office.Office {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "office")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	open := func(dir string) (vfs.FS, error) { return vfs.OpenReal(dir) }
	fsys, err := open(dir)
	if err != nil {
		t.Fatal(err)
	}
	officetest.MakeAt(t, fsys, dir, time.Now(), agents...)
	return func() *office.Office {
		sys := officetest.System(officetest.NewClock(), open)
		sys.Now, sys.Parallel = time.Now, 4
		o, err := office.Open(dir, sys)
		if err != nil {
			t.Error(err)
			panic(err)
		}
		return o
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	const senders, each = 8, 12
	var agents []string
	for i := range senders {
		agents = append(agents, fmt.Sprintf("s%d", i))
	}
	open := realOffice(t, append(agents, "coder", "tester")...)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	routing, enough := context.WithCancel(ctx)
	var routers, all sync.WaitGroup
	for i := range 3 { // one looks once, two linger
		routers.Go(func() {
			r := &router.Router{Office: open()}
			for routing.Err() == nil {
				if _, err := r.Pass(routing, router.Options{All: true, Linger: time.Duration(i) * 10 * time.Millisecond}); err != nil && mail.KindOf(err) != mail.KindBusy && routing.Err() == nil {
					t.Error(err)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	for _, name := range agents {
		all.Go(func() {
			for i := range each {
				o := open()
				m, err := mailbox.Open(o, name)
				if err != nil {
					t.Error(err)
					return
				}
				sent, err := m.Send(mailbox.Draft{To: []string{"coder"}, CC: []string{"tester"}, Subject: "n", Body: fmt.Sprint(name, " ", i)})
				if err != nil || sent[0].Err != nil || sent[0].Duplicate {
					t.Error(err, sent)
					return
				}
				told := 0
				_, err = (&router.Router{Office: o}).Drain(ctx, m.Author, []*mail.Message{sent[0].Msg}, func(r router.Result) {
					for _, f := range r.Fates {
						if f.State == router.Delivered {
							told++
						}
					}
				})
				if err != nil || told != 2 {
					t.Errorf("%s %d: told of %d, %v", name, i, told, err)
				}
			}
		})
	}
	all.Wait()
	enough()
	routers.Wait()
	o := open()
	if _, err := (&router.Router{Office: o}).Pass(ctx, router.Options{All: true}); err != nil {
		t.Fatal(err)
	}
	l, err := officetest.Check(o)
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Messages) != senders*each {
		t.Errorf("%d messages", len(l.Messages))
	}
	inOrderOf(t, o, senders*each)
}

// inOrderOf checks that coder sees n messages, each sender's in its order.
func inOrderOf(t *testing.T, o *office.Office, n int) {
	t.Helper()
	m, err := mailbox.Open(o, "coder")
	if err != nil {
		t.Fatal(err)
	}
	items, err := m.List(true)
	if err != nil || len(items) != n {
		t.Fatalf("%d items, %v", len(items), err)
	}
	last := map[string]mail.ID{}
	for i, it := range items {
		if it.Seq != uint64(i+1) {
			t.Fatalf("item %d has seq %d", i, it.Seq)
		}
		if it.ID <= last[it.From] {
			t.Errorf("%s: %s after %s", it.From, it.ID, last[it.From])
		}
		last[it.From] = it.ID
	}
}

// TestSameCommandAtOnce: two processes of one agent send the same thing.
func TestSameCommandAtOnce(t *testing.T) {
	t.Parallel()
	open := realOffice(t, "researcher", "coder")
	for round := range 10 {
		var wg sync.WaitGroup
		ids := make([]mail.ID, 4)
		for i := range ids {
			wg.Go(func() {
				o := open()
				m, err := mailbox.Open(o, "researcher")
				if err != nil {
					t.Error(err)
					return
				}
				sent, err := m.Send(mailbox.Draft{To: []string{"coder"}, Subject: "n", Body: fmt.Sprint(round)})
				if err != nil || sent[0].Err != nil {
					t.Error(err, sent)
					return
				}
				ids[i] = sent[0].Msg.ID
				if _, err := (&router.Router{Office: o}).Drain(t.Context(), m.Author, []*mail.Message{sent[0].Msg}, func(router.Result) {}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Errorf("round %d: %v", round, ids)
			}
		}
	}
	if _, err := (&router.Router{Office: open()}).Pass(t.Context(), router.Options{All: true}); err != nil { // what is parked
		t.Error(err)
	}
	l, err := officetest.Check(open())
	if err != nil || len(l.Messages) != 10 {
		t.Errorf("%d messages, %v", len(l.Messages), err)
	}
}

// TestLeaseAndChildren: a lease that somebody's child has inherited is held
// until that child ends; ours is inherited by no child.
func TestLeaseAndChildren(t *testing.T) {
	t.Parallel()
	open := realOffice(t, "researcher", "coder")
	o := open()
	f, err := os.OpenFile(filepath.Join(o.Dir, spool.LeaseFile), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	heir := child(t, f)
	f.Close()
	if _, err := spool.AcquireLease(o.FS, spool.Holder{}); mail.KindOf(err) != mail.KindBusy {
		t.Errorf("held by an heir: %v", err)
	}
	heir.Process.Kill()
	heir.Wait()
	lease, err := spool.AcquireLease(o.FS, spool.Holder{})
	if err != nil {
		t.Fatal(err)
	}
	other := child(t)
	defer func() { other.Process.Kill(); other.Wait() }()
	lease.Release()
	if lease, err = spool.AcquireLease(open().FS, spool.Holder{}); err != nil {
		t.Fatalf("a child kept it: %v", err)
	}
	lease.Release()
}

func child(t *testing.T, inherits ...*os.File) *exec.Cmd {
	t.Helper()
	c := exec.Command("sleep", "60")
	c.ExtraFiles = inherits
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}
