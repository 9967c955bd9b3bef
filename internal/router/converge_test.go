package router_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/officetest"
)

// babbler is an agent that answers whatever it gets, in one way or another.
type babbler func(d *officetest.Desk, me string, o *mailbox.Opened) mailbox.Draft

var babblers = map[string]babbler{
	"replies": func(d *officetest.Desk, me string, o *mailbox.Opened) mailbox.Draft {
		return mailbox.Draft{To: []string{o.From}, Act: mail.Query, InReplyTo: o.ID}
	},
	"dodges in_reply_to": func(d *officetest.Desk, me string, o *mailbox.Opened) mailbox.Draft {
		return mailbox.Draft{To: []string{o.From}, Act: mail.Query, Conversation: o.Conversation}
	},
	"begins anew": func(d *officetest.Desk, me string, o *mailbox.Opened) mailbox.Draft {
		return mailbox.Draft{To: []string{o.From}, Act: mail.Inform}
	},
	"tells everybody": func(d *officetest.Desk, me string, o *mailbox.Opened) mailbox.Draft {
		return mailbox.Draft{To: []string{"all"}, Act: mail.Inform, Conversation: o.Conversation}
	},
	"passes it on": func(d *officetest.Desk, me string, o *mailbox.Opened) mailbox.Draft {
		next := map[string]string{"a": "b", "b": "c", "c": "a"}[me]
		if _, ok := d.Box(me).Registry.Agent(next); !ok {
			next = "a"
		}
		return mailbox.Draft{To: []string{next}, Act: mail.Query, Conversation: o.Conversation}
	},
}

// TestBabblersComeToRest: agents that never stop of themselves are stopped, and
// a person is told.
func TestBabblersComeToRest(t *testing.T) {
	t.Parallel()
	for how, babble := range babblers {
		for _, agents := range [][]string{{"a", "b"}, {"a", "b", "c"}} {
			t.Run(fmt.Sprint(how, " ", len(agents)), func(t *testing.T) {
				t.Parallel()
				d := officetest.NewDesk(t, agents...)
				d.Configure(func(c *config.Office) { c.Policy.HopCap, c.Policy.FuseTurns, c.Policy.FusePerHour = 4, 6, 20 })
				d.Send("a", mailbox.Draft{To: []string{"b"}, Act: mail.Query, Subject: "Hello", Body: "Hello?"})
				quiet, sent := 0, 0
				for step := 0; quiet < 3; step++ {
					if step > 400 {
						t.Fatalf("no rest after %d messages", sent)
					}
					d.Pass()
					d.Clock.Advance(time.Second)
					n := 0
					for _, me := range agents {
						n += answer(t, d, me, babble)
					}
					sent += n
					quiet++
					if n > 0 {
						quiet = 0
					}
				}
				asked, err := approval.Open(d.Office().FS)
				if err != nil || !slices.ContainsFunc(asked, func(a approval.Approval) bool { return a.Kind == "release" }) {
					t.Errorf("nobody was asked after %d messages: %v", sent, err)
				}
				settled(t, d)
				t.Logf("%d messages, %d approvals", sent, len(asked))
			})
		}
	}
}

// answer has an agent read everything and answer the newest message of another
// agent; 1 if the rules let it.
func answer(t *testing.T, d *officetest.Desk, me string, babble babbler) int {
	t.Helper()
	b := d.Box(me)
	items, err := b.List(true)
	if err != nil {
		t.Fatal(err)
	}
	var last *mailbox.Opened
	for _, it := range items {
		o, err := b.Open(it.ID)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Shown(o, mail.Receipt{Event: mail.EventRead, ID: o.ID, Part: 1, Parts: 1}); err != nil {
			t.Fatal(err)
		}
		if o.From != "postroom" && o.From != "human" {
			last = o
		}
	}
	if last == nil {
		return 0
	}
	draft := babble(d, me, last)
	draft.Subject, draft.Body, draft.Again = "Hello", "Hello!", true
	if _, err := b.Send(draft); err != nil {
		if k := mail.KindOf(err); k != mail.KindRule && k != mail.KindTerminal {
			t.Fatal(err)
		}
		return 0
	}
	return 1
}
