// Package postd is the command table of postd, the second program (design §2):
// one file per command, wiring only. What the commands do is in serve, audit,
// service, search, web and notify/remote.
//
// Invariants. The flags, errors, exit codes and help are those of post, which
// execs postd for these very words. Adapters are listed here and register
// nothing by themselves.
package postd

import (
	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/notify/remote"
)

// Commands is the table of everything postd can do.
func Commands() cli.Table {
	return cli.Table{
		{Name: "serve", Make: serveCommand},
		{Name: "ui", Make: uiCommand},
		{Name: "hub", Make: hubCommand},
		{Name: "link", Make: linkCommand},
		{Name: "audit", Make: auditCommand},
		{Name: "service", Make: serviceCommand},
		{Name: "mcp", Make: mcpCommand},
		{Name: "search", Make: searchCommand},
		{Name: "top", Make: topCommand},
		{Name: "notify", Make: notifyCommand},
		{Name: "help", Make: cli.HelpCommand},
		{Name: "man", Make: manCommand},
		{Name: "version", Make: cli.VersionCommand},
	}
}

// Adapters are the ways to wake an agent that postd carries itself.
func Adapters(e *cli.Env) notify.Table {
	return notify.NewTable(append(e.LightAdapters(), remote.NewWebhook(), visitor(e))...)
}
