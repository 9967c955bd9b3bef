package postd

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"os/signal"
	"syscall"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mcpserver"
)

func mcpCommand() cli.Command {
	return cli.Command{
		Name: "mcp", Summary: "mail as MCP tools for an agent's session", Usage: "[--http ADDR --token-file FILE]",
		Long: `Serves the Model Context Protocol on standard input and output, for a coding CLI
that starts it. Its tools are send_mail, reply_mail, list_mail, read_mail,
mark_done, wait_for_mail, list_agents, ask_human and trace_mail; its resources
postroom://inbox and postroom://thread/CONVERSATION. Log lines go to standard
error and never hold a subject or a body.

Each call finds out who makes it: by the session that the client names, by the
session that started this process, or by --as. Where that is not certain the
call is refused, and says what to do. Nobody speaks as a person here.

With --http it serves streamable HTTP at http://ADDR/mcp, which must be a
loopback address; it is printed. Clients send "Authorization: Bearer TOKEN" with
the token of FILE. A FILE that does not exist is made, with a new token. There a
call says which session it belongs to, or --as says who all of them are.`,
		Examples: []string{
			"claude mcp add postroom -- post mcp",
			"codex mcp add postroom -- post mcp",
			"post mcp --as coder --http 127.0.0.1:0 --token-file ~/.postroom-token",
		},
		Setup: func(fs *flag.FlagSet) cli.Run {
			var m mcpRun
			fs.StringVar(&m.http, "http", "", "serve HTTP on the loopback `ADDR`; port 0 lets the system choose")
			fs.StringVar(&m.token, "token-file", "", "the `FILE` that holds the token for --http")
			fs.StringVar(&m.format, "log", "text", "how log lines look: `text|json`")
			return m.run
		},
	}
}

type mcpRun struct{ http, token, format string }

func (m *mcpRun) run(ctx context.Context, e *cli.Env, args []string) error {
	if err := e.NeedArgs(args, 0, 0); err != nil {
		return err
	}
	switch {
	case e.As == mail.NameHuman:
		return e.Fail(mail.KindPerson, "--as human", errors.New("an MCP client is an agent's session"), "name an agent, or leave it out")
	case m.http != "" && m.token == "":
		return e.Usage("--http wants --token-file", "name a file: the server makes it, with a token, and the client is given that")
	case m.http == "" && m.token != "":
		return e.Usage("--token-file is for --http", "say --http 127.0.0.1:0, or leave it out")
	}
	log, err := logger(e, m.format)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // from here on a signal does what it always does
	if m.http != "" {
		return m.serveHTTP(ctx, e, log)
	}
	return mcpserver.New(e, log, true).ServeStdio(ctx, io.NopCloser(e.Stdin), unclosed{e.Stdout})
}

func (m *mcpRun) serveHTTP(ctx context.Context, e *cli.Env, log *slog.Logger) error {
	token, err := mcpserver.Token(m.token)
	if err != nil {
		return err
	}
	l, err := mcpserver.Listen(m.http)
	if err != nil {
		return err
	}
	url := "http://" + l.Addr().String() + mcpserver.Path
	if e.JSON {
		e.Out.Object(struct {
			URL       string `json:"url"`
			TokenFile string `json:"token_file"`
			PID       int    `json:"pid"`
		}{url, m.token, e.System.PID})
	} else {
		e.Out.Printf("%s\n", url)
	}
	if err := e.Out.Flush(); err != nil {
		io.WriteString(e.Stderr, "post: nobody reads the output; serving all the same\n")
	}
	return mcpserver.New(e, log, false).ServeHTTP(ctx, l, token)
}

// unclosed is standard output for a transport that closes what it writes to.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
