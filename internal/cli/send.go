package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/router"
)

func sendCommand() Command {
	return Command{
		Name: "send", Summary: "send a message", Usage: "TO[,TO…] [-s SUBJECT] [-m TEXT | -f FILE | <stdin]", Sends: true,
		Long: `TO is an agent, a channel, "human" or "broadcast"; on linked offices also
NAME@STATION. Several recipients get one message each, in one conversation; one
unknown name refuses all of them.

The text comes from standard input or -f FILE; -m is for short, plain text,
since many shells run what stands between backticks. The first line printed
says what is known, and so does the exit code: see "post help exit-codes".

The same thing sent again within ten minutes is not sent twice: the answer is
the first one's id and state. --key K does the same for ever, --again overrides.

With --batch each line of standard input is one message, a JSON object:
  {"to": "coder", "act": "request", "subject": "…", "body": "…"}
to may be a list; cc, in_reply_to, conversation, needs_human, deadline, key,
again and options may stand there too. Each message gets its line of answer,
in order.`,
		Examples: []string{
			`post send coder --act request -s "Review the retry loop" < note.md`,
			`post send coder,tester -m "The build is green again."`,
			`post send human --act query -s "May I delete the old branch?" -f why.md`,
			`post send human --act query -m "Which first?" --option api --option "the page"`,
			`post send --batch --json < messages.jsonl`,
		},
		Setup: func(fs *flag.FlagSet) Run {
			var s send
			s.declare(fs)
			fs.StringVar(&s.replyTo, "reply-to", "", "the `ID` of the message that this answers")
			fs.StringVar(&s.conversation, "conversation", "", "the conversation `C` that it belongs to")
			fs.Var(&s.options, "option", "one `ANSWER` of those that a person may choose; once for each")
			fs.BoolVar(&s.batch, "batch", false, "read messages from standard input, one JSON object a line")
			return s.run
		},
	}
}

type send struct {
	compose
	replyTo, conversation string
	batch                 bool
	options               List
}

func (s *send) run(ctx context.Context, e *Env, args []string) error {
	if s.batch {
		return s.runBatch(ctx, e, args)
	}
	if err := needArgs(e, args, 1, -1); err != nil {
		return err
	}
	dash := len(args) == 2 && args[1] == "-"
	if len(args) > 1 && !dash {
		return usageError(e.name, "does not know what to do with "+quote(args[1]), `several recipients are one argument: a,b; the text is given with -m "…", -f or on standard input`)
	}
	d, err := e.openDesk()
	if err != nil {
		return err
	}
	draft := mailbox.Draft{To: splitNames(args[0]), Conversation: s.conversation, Options: s.options}
	if s.replyTo != "" {
		if draft.InReplyTo, err = d.Find(s.replyTo); err != nil {
			return err
		}
	}
	if err := s.fill(e, &draft, dash); err != nil {
		return err
	}
	return d.post(ctx, draft, s.compose)
}

// post sends one draft and says what became of it.
func (d *desk) post(ctx context.Context, draft mailbox.Draft, c compose) error {
	posted := d.SendAll([]mailbox.Draft{draft})
	if err := posted[0].Err; err != nil {
		return notStored(err)
	}
	if sent := posted[0].Sent; len(sent) == 1 && sent[0].Err != nil {
		return notStored(sent[0].Err)
	}
	stop := d.e.slowly(func() string { return "stored; not delivered yet: " + routing(d.Office) })
	list := d.deliver(ctx, posted, c)[0]
	stop()
	d.e.report(list)
	return Said(d.e.told(list))
}

// told hands the outcomes to the system and returns the exit code. If nobody
// takes them they are said on standard error, and the code never says that
// nothing was stored when something was.
func (e *Env) told(list []outcome) int {
	code, err := worst(list), e.Out.Flush()
	if err == nil {
		return code
	}
	e.Out.abandon()
	e.Warn("%v; what became of the mail follows", err)
	for _, o := range list {
		fmt.Fprintln(e.Stderr, o.text())
	}
	if code == mail.ExitOK {
		return mail.ExitNotSurfaced
	}
	return code
}

// report prints outcomes, one a line.
func (e *Env) report(list []outcome) {
	for _, o := range list {
		if e.JSON {
			e.Out.Object(o)
		} else {
			e.Out.Printf("%s\n", o.text())
		}
	}
}

// deliver routes what was posted until something true can be said of each
// message, and says it, draft by draft.
func (d *desk) deliver(ctx context.Context, posted []mailbox.Posted, c compose) [][]outcome {
	var msgs []*mail.Message
	for _, p := range posted {
		for _, s := range p.Sent {
			if s.Err == nil {
				msgs = append(msgs, s.Msg)
			}
		}
	}
	byID := map[mail.ID]router.Result{}
	left := ""
	var woken []dispatch.Woken
	var over crossed
	if len(msgs) > 0 {
		wait, cancel := context.WithTimeout(ctx, c.wait)
		defer cancel()
		results, wakes, err := d.dispatcher().Deliver(wait, d.Author, msgs, nil)
		for _, res := range results {
			byID[res.ID] = res
		}
		left, woken = d.whyLeft(err), wakes
		over = d.cross(wait, c.wait, results)
	}
	out := make([][]outcome, len(posted))
	for i, p := range posted {
		if p.Err != nil {
			out[i] = []outcome{failed("", notStored(p.Err))}
		}
		for _, s := range p.Sent {
			res, ok := router.Result{}, false
			if s.Err == nil {
				res, ok = byID[s.Msg.ID]
			}
			list := outcomes(s, res, ok, left, woken)
			over.tell(list, res)
			if s.Duplicate {
				d.retell(list)
			}
			out[i] = append(out[i], list...)
		}
	}
	return out
}

// whyLeft says why messages are still in the outbox.
func (d *desk) whyLeft(err error) string {
	switch mail.KindOf(err) {
	case "":
		return "it waits in the outbox"
	case mail.KindBusy:
		return routing(d.Office)
	case mail.KindReadOnly:
		return "this process may not write the office (a sandbox?); whoever runs post outside of it delivers the mail"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "it took longer than --wait"
	}
	return shortReason(err)
}

// retell adds to a duplicate's outcomes the last that is known of the first
// copy: an agent that sends again wants to know whether it was read.
func (d *desk) retell(list []outcome) {
	lives := map[mail.ID]*mailbox.Life{} // a trace looks into every recipient's mailbox
	for i := range list {
		o := &list[i]
		if o.State != stateDelivered && o.State != stateNotSurfaced {
			continue
		}
		life, known := lives[o.ID]
		if !known {
			life, _ = d.Trace(o.ID)
			lives[o.ID] = life
		}
		if life == nil {
			continue
		}
		for _, s := range life.Steps {
			if s.Agent == o.To && (s.Event == mail.EventRead || s.Event == mail.EventDone) {
				o.Reached, o.State, o.Exit = s.Event, stateDelivered, mail.ExitOK
			}
		}
	}
}
