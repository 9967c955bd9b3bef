package postd

import (
	"context"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/notify"
)

func notifyCommand() cli.Command {
	return cli.Command{
		Name: "notify", Summary: "wake one agent for post", Usage: "KIND", Hidden: true,
		Long: "Reads one request on standard input and writes one reply on standard output.\nThat is between post and postd.",
		Setup: cli.Plain(func(ctx context.Context, e *cli.Env, args []string) error {
			if err := e.NeedArgs(args, 1, 1); err != nil {
				return err
			}
			return notify.ServeOne(ctx, e.Stdin, e.Out, Adapters(e))
		}),
	}
}
