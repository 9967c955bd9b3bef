package postd

import (
	"context"
	"os"
	"path/filepath"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
)

func manCommand() cli.Command {
	return cli.Command{
		Name: "man", Summary: "write the manual pages of postd's commands", Usage: "DIR", Hidden: true,
		Setup: cli.Plain(func(_ context.Context, e *cli.Env, args []string) error {
			if err := e.NeedArgs(args, 1, 1); err != nil {
				return err
			}
			dir := identity.Absolute(e.Dir, args[0])
			for name, text := range ManPages() {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					return e.Fail(mail.KindStore, name, err, "")
				}
			}
			return nil
		}),
	}
}

// ManPages renders a page for each command that post has not got itself; post
// writes the others.
func ManPages() map[string]string {
	pages := map[string]string{}
	all := cli.ManPages(Commands().All())
	for _, c := range Commands().All() {
		if c.Name != "help" && c.Name != "version" && !c.Hidden {
			name := "post-" + c.Name + ".1"
			pages[name] = all[name]
		}
	}
	return pages
}
