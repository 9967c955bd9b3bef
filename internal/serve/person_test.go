package serve

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/notify"
)

// phone is a way to tell a person that takes its time.
type phone struct {
	mu      sync.Mutex
	rang    int
	release chan struct{} // closed: it answers at once
}

func (*phone) Kind() string { return "phone" }

func (f *phone) Notify(_ context.Context, _ notify.Agent, _ notify.Pointer) (notify.Outcome, error) {
	f.mu.Lock()
	f.rang++
	f.mu.Unlock()
	<-f.release // whatever its budget: how busy this machine is decides nothing
	return notify.Outcome{State: notify.Notified, Evidence: "phone: answered"}, nil
}

func (f *phone) calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rang
}

// A person is told beside the mail, once, whoever is started again; the evidence
// is in the journal.
func TestPersonIsTold(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "coder", "tester")
	text, err := os.ReadFile(d.path(config.OfficeFile))
	if err == nil {
		text, err = config.SetPerson(text, config.Person{Notify: [][]string{{"phone"}}})
	}
	if err == nil {
		err = os.WriteFile(d.path(config.OfficeFile), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	f := &phone{release: make(chan struct{})}
	server := func() *Server {
		s := d.server()
		s.Table, s.Full = notify.NewTable(notify.None{}, f), 20*time.Millisecond
		return s
	}
	d.serve(server())
	d.drop("coder", "ask.json", `{"to":"human","act":"query","subject":"Private subject","body":"private body"}`)
	eventually(t, "the phone rings", func() bool { return f.calls() == 1 })
	d.drop("coder", "m.json", message("tester", 1)) // while it rings
	d.arrives("tester", 1)
	close(f.release)
	eventually(t, "the evidence is in the journal", func() bool {
		told := 0
		journal.Each(d.office().FS, time.Time{}, time.Time{}, func(r journal.Record) error {
			if r.Event == journal.Notified && r.Agent == "human" && r.Detail["evidence"] == "phone: answered" {
				told++
			}
			return nil
		})
		return told == 1
	})
	d.stop()
	if err := d.wait(); err != nil {
		t.Fatal(err)
	}
	d.serve(server())
	d.drop("coder", "m2.json", message("tester", 2))
	d.arrives("tester", 2)
	d.stop()
	if err := d.wait(); err != nil {
		t.Fatal(err)
	}
	if n := f.calls(); n != 1 {
		t.Errorf("it rang %d times", n)
	}
}
