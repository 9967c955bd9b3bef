package cli

import (
	"context"
	"flag"
)

func replyCommand() Command {
	return Command{
		Name: "reply", Summary: "answer a message", Usage: "ID|last [--act ACT] [-m TEXT | -f FILE | <stdin]", Sends: true,
		Long: `The answer goes to the message's sender alone, in its conversation. It is
inform unless --act says otherwise, which ends the matter: use agree and later
done, or refuse, where work was asked for. inform and done themselves take no
reply.

last is the newest message that you received. It is refused while that one is
unread and another one is read and not done: that may be the one you mean.`,
		Examples: []string{`post reply 4f0c11d2 --act done -m "Fixed and pushed."`, `post reply last --act refuse < why.md`},
		Setup: func(fs *flag.FlagSet) Run {
			var c compose
			c.declare(fs)
			return c.reply
		},
	}
}

func (c *compose) reply(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 1, -1); err != nil {
		return err
	}
	dash := len(args) == 2 && args[1] == "-"
	if len(args) > 1 && !dash {
		return usageError(e.name, "does not know what to do with "+quote(args[1]), `the text is given with -m "…", -f or on standard input`)
	}
	d, err := e.openDesk()
	if err != nil {
		return err
	}
	id, err := d.findSeen(args[0])
	if err != nil {
		return err
	}
	draft, err := d.ReplyDraft(id)
	if err != nil {
		return err
	}
	if err := c.fill(e, &draft, dash); err != nil {
		return err
	}
	return d.post(ctx, draft, *c)
}
