package cli

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/postroom/postroom/internal/mailbox"
)

func waitCommand() Command {
	return Command{
		Name: "wait", Summary: "wait for a message", Usage: "[--reply-to ID | --conversation C | --from A] [--timeout LONG]",
		Long: `Prints one line about the first unread message that fits, at once if it is
there already, and ends. With --reply-to it is the first answer to ID, read or
not. Exits 6 if nothing came in time: wait again, or do something else first.`,
		Examples: []string{"post wait --reply-to 4f0c11d2 --timeout 90s"},
		Setup: func(fs *flag.FlagSet) Run {
			var x waiter
			fs.StringVar(&x.replyTo, "reply-to", "", "an answer to the message `ID`")
			fs.StringVar(&x.conversation, "conversation", "", "mail in the conversation `C`")
			fs.StringVar(&x.from, "from", "", "mail from the agent `A`")
			fs.DurationVar(&x.timeout, "timeout", 10*time.Minute, "how `LONG` to wait; 0 is for ever")
			return x.run
		},
	}
}

type waiter struct {
	replyTo, conversation, from string
	timeout                     time.Duration
}

func (x *waiter) run(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 0, 0); err != nil {
		return err
	}
	given := 0
	for _, s := range []string{x.replyTo, x.conversation, x.from} {
		if s != "" {
			given++
		}
	}
	if given > 1 {
		return usageError(e.name, "--reply-to, --conversation and --from exclude each other", "give one of them")
	}
	d, err := e.openDesk()
	if err != nil {
		return err
	}
	if d.me.Human {
		return usageError(e.name, "a person has no inbox, so nothing would come", `see "post approvals", or watch the office: post watch --as human`)
	}
	match, err := x.match(d)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	if x.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, x.timeout)
		defer cancel()
	}
	pass := d.passes()
	pass(ctx)
	it, err := d.Wait(ctx, match, pass)
	if err != nil {
		return err
	}
	e.printPointer(*it)
	return d.surfaced("post wait", *it)
}

func (x *waiter) match(d *desk) (m mailbox.Match, err error) {
	m.Conversation = x.conversation
	if x.replyTo != "" {
		m.ReplyTo, err = d.Find(x.replyTo)
	}
	m.From = x.from
	if x.from != "" && x.from != "human" && x.from != "postroom" {
		r, ferr := findAgent(d.Registry, d.e.name, x.from)
		if ferr != nil {
			return m, ferr
		}
		m.From = r.Name
	}
	return m, err
}

// printPointer prints one line about a message: never its text.
func (e *Env) printPointer(it mailbox.Item) {
	if e.JSON {
		e.Out.Object(viewItem(it))
		return
	}
	e.Out.Printf("%s from %s: %s; post read %s\n", Line(it.Act), Line(it.From), it.ID, short(it.ID))
}

// interruptible is ctx until somebody asks the process to end.
func interruptible(ctx context.Context) (context.Context, func()) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

func watchCommand() Command {
	return Command{
		Name: "watch", Summary: "print a line for each new message, for ever",
		Long:     "Begins with what is unread. It ends when it is interrupted, or when nobody\nreads its output any more.\n\nA person, with --as human, sees whatever moves in the whole office from now on:\nwhat is delivered, put before a person, bounced, read and done.",
		Examples: []string{"post watch", "post watch --as human"},
		Setup:    plain(runWatch),
	}
}

func runWatch(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 0, 0); err != nil {
		return err
	}
	d, err := e.openDesk()
	if err != nil {
		return err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	if d.me.Human {
		return d.watchOffice(ctx)
	}
	pass := d.passes()
	pass(ctx)
	return d.Watch(ctx, pass, func(it mailbox.Item) error {
		e.printPointer(it)
		return d.surfaced("post watch", it)
	})
}
