package dispatch_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/officetest"
)

func asked(t *testing.T) (*officetest.RealDesk, string) {
	t.Helper()
	d := officetest.NewRealDesk(t, "ann")
	d.Send("ann", "human", mail.Query, "Ship it?", "Today?")
	d.Pass()
	open, err := approval.Open(d.Office().FS)
	if err != nil || len(open) != 1 {
		t.Fatal(open, err)
	}
	return d, open[0].ID
}

var patient = dispatch.Patience{Op: "answer", For: 20 * time.Second}

// Of many who decide at once, one does: the others learn what it decided, and
// the asker has one answer.
func TestDecideOnce(t *testing.T) {
	t.Parallel()
	d, id := asked(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	won, choices := 0, map[string]bool{}
	for _, text := range []string{"yes", "no", "later", "never"} {
		disp := dispatch.New(d.Office(), notify.NewTable(notify.None{}), "post")
		wg.Go(func() {
			done, err := disp.Decide(context.Background(), id[6:], approval.Decision{Text: text}, patient)
			mu.Lock()
			defer mu.Unlock()
			if done.Decision == nil {
				t.Error("nobody knows what was decided:", err)
				return
			}
			choices[done.Decision.Text] = true
			switch {
			case err == nil:
				won++
				if done.Decision.Text != text {
					t.Errorf("%s decided, and %s stands", text, done.Decision.Text)
				}
			case mail.KindOf(err) != mail.KindConflict || !strings.Contains(err.Error(), "answered by human at 20"):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won != 1 || len(choices) != 1 {
		t.Errorf("%d decided: %v", won, choices)
	}
	d.Pass()
	if items, err := d.Box("ann").List(false); err != nil || len(items) != 1 {
		t.Errorf("%d answers %v", len(items), err)
	}
}

func TestDecideTells(t *testing.T) {
	t.Parallel()
	d, id := asked(t)
	disp := dispatch.New(d.Office(), notify.NewTable(notify.None{}), "post")
	done, err := disp.Decide(context.Background(), id, approval.Decision{Text: "Yes.", By: "mallory"}, patient)
	if err != nil || !done.Told || done.Owing() || done.Pass != nil || done.Decision.By != mail.NameHuman {
		t.Errorf("%+v %v", done, err)
	}
	if _, err := disp.Decide(context.Background(), "ap-0000000000", approval.Decision{}, patient); mail.KindOf(err) != mail.KindNotFound {
		t.Error(err)
	}
}
