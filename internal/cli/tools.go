package cli

import (
	"context"
	"io"
	"time"

	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/standing"
)

// What the tools of the MCP server are made of: they do what the commands do,
// and say it in the commands' words (docs/mcp.md).

// Desk is where a tool works: one office, one registry and one mailbox.
type Desk = desk

// Outcome is what is known of one sent message for one recipient.
type Outcome = outcome

// These are objects that --json prints (docs/json.md).
type (
	ApprovalView = approvalView
	MoveView     = moveView
	OwedView     = owedView
	MailView     = mailView
	AgentView    = standing.Agent
	TraceView    = traceView
	ErrorView    = errorObject
)

// Call returns the Env of one call that somebody else makes through this
// process. session is the key of the caller's session, "" where the process's
// own surroundings tell it; name is what errors call the operation. Nothing that
// the call prints gets out.
func (e *Env) Call(name, session string) *Env {
	c := *e
	c.name, c.Stdout, c.Out = name, io.Discard, newOutput(io.Discard)
	c.session.key, c.session.known = "", false
	if session != "" {
		c.Getenv = func(key string) string {
			if key == identity.SessionEnv {
				return session
			}
			return e.Getenv(key)
		}
	}
	return &c
}

// Desk finds out where and who this is, and opens the mailbox.
func (e *Env) Desk() (*Desk, error) { return e.openDesk() }

// PersonDesk is a person's desk in o. Whoever calls it has made sure that it is a
// person who asks, as the web page's guard has: no session is looked at.
func (e *Env) PersonDesk(o *office.Office) (*Desk, error) {
	reg, err := o.Book()
	if err != nil {
		return nil, err
	}
	m := &mailbox.Mailbox{Office: o, Registry: reg, Author: o.SystemAuthor(office.Human)}
	return &desk{Mailbox: m, e: e, me: identity.Me{Human: true}}, nil
}

// Agents lists the names of the active agents of the office at hand.
func (e *Env) Agents() ([]string, error) {
	_, reg, err := e.openRegistry()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, r := range reg.Entries() {
		if !r.Archived && !r.Speaks() {
			names = append(names, r.Name)
		}
	}
	return names, nil
}

// Me is who speaks at the desk.
func (d *Desk) Me() identity.Me { return d.me }

// Dispatcher routes and wakes with the adapters that post carries.
func (d *Desk) Dispatcher() *dispatch.Dispatcher { return d.dispatcher() }

// Passes returns what a call that waits calls now and then, so that mail moves
// without a daemon (design §3).
func (d *Desk) Passes() func(context.Context) { return d.passes() }

// Pass routes once, if nobody else does.
func (d *Desk) Pass(ctx context.Context) {
	d.dispatcher().Pass(ctx, router.Options{Own: d.Author.Tag(), All: true})
}

// Post sends a draft and waits until something true can be said of it. An error
// means that nothing was stored.
func (d *Desk) Post(ctx context.Context, draft mailbox.Draft, wait time.Duration) ([]Outcome, error) {
	posted := d.SendAll([]mailbox.Draft{draft})
	if err := posted[0].Err; err != nil {
		return nil, notStored(err)
	}
	if sent := posted[0].Sent; len(sent) == 1 && sent[0].Err != nil {
		return nil, notStored(sent[0].Err)
	}
	return d.deliver(ctx, posted, compose{wait: wait})[0], nil
}

// Text is the line of design §6.
func (o Outcome) Text() string { return o.text() }

// Worst is the exit code that several outcomes give together.
func Worst(list []Outcome) int { return worst(list) }

// ErrorOf is the object that says err.
func ErrorOf(err error) ErrorView { return errorOf(err) }

// FindSeen finds a message of this mailbox to answer or put away; FindAny finds
// one of the whole office.
func (d *Desk) FindSeen(ref string) (mail.ID, error) { return d.findSeen(ref) }

// FindAny is FindSeen for messages of the whole office.
func (d *Desk) FindAny(ref string) (mail.ID, error) { return d.findAny(ref) }

// Inbox lists what is to be shown, unread first, and how many are left out.
func (d *Desk) Inbox(all bool, limit int) ([]mailbox.Item, int, error) {
	return (&inbox{all: all, limit: limit}).items(d)
}

// ViewItem is a message as lists show it.
func ViewItem(it mailbox.Item) MailView { return viewItem(it) }

// ViewAgents lists the active agents with what is known of them.
func (d *Desk) ViewAgents(ctx context.Context) ([]AgentView, error) {
	x, err := d.e.Looker(d.Office)
	if err != nil {
		return nil, err
	}
	var out []AgentView
	for _, r := range d.Registry.Entries() {
		if !r.Archived && !r.Speaks() {
			out = append(out, x.Look(ctx, r))
		}
	}
	return out, nil
}

// Agent is the agent of that name or alias.
func (d *Desk) Agent(name string) (registry.Entry, error) {
	return findAgent(d.Registry, d.e.name, name)
}

// ViewLife is a message's life, and the lines that say where it stands now.
func (d *Desk) ViewLife(l *mailbox.Life) (TraceView, []string) { return d.viewLife(l), d.Stands(l) }

// StepText shows a step's evidence, and what it says besides.
func StepText(s mailbox.Step) string { return s.How() }

// Ago shows an age in its largest unit.
func Ago(d time.Duration) string { return ago(d) }

// When shows a time.
func When(t time.Time) string { return when(t) }
