package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/officetest"
)

// place is an office with agents, and processes that stand in it.
type place struct {
	*officetest.RealDesk
	t   *testing.T
	log *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newPlace(t *testing.T, agents ...string) *place {
	p := &place{RealDesk: officetest.NewRealDesk(t, agents...), t: t, log: &lockedBuffer{}}
	if err := p.env("", nil).User().Accept(p.Dir); err != nil { // as post init does
		t.Fatal(err)
	}
	return p
}

// env is a process in the office with these variables.
func (p *place) env(as string, vars map[string]string) *cli.Env {
	e := &cli.Env{Stdout: io.Discard, Stderr: io.Discard, Dir: p.Root, System: p.Sys, Patience: time.Second,
		Getenv: func(key string) string {
			if v, ok := vars[key]; ok {
				return v
			}
			return map[string]string{"HOME": filepath.Join(p.Root, "home"), "POSTROOM_OFFICE": p.Dir}[key]
		},
		Executable: func() (string, error) { return filepath.Join(p.Root, "post"), nil }}
	e.As = as
	return e
}

func (p *place) server(e *cli.Env, alone bool) *Server {
	return New(e, slog.New(slog.NewTextHandler(p.log, nil)), alone)
}

// bind lets a session speak as an agent.
func (p *place) bind(runtime, id, agent string) {
	p.t.Helper()
	b := config.Binding{Office: p.Dir, Agent: "a-" + agent, Name: agent}
	if err := p.env("", nil).User().BindSession(identity.SessionKeyOf(runtime, id), b); err != nil {
		p.t.Fatal(err)
	}
}

// client is a session of an MCP client with its server.
type client struct {
	*mcp.ClientSession
	t *testing.T
}

type clientOptions struct {
	name    string // of the client
	handler *mcp.ClientOptions
	wrap    func(io.WriteCloser) io.WriteCloser // what stands between server and client
}

func (p *place) connect(s *Server, opt clientOptions) *client {
	p.t.Helper()
	near, far := net.Pipe()
	var w io.WriteCloser = far
	if opt.wrap != nil {
		w = opt.wrap(far)
	}
	ctx, stop := context.WithCancel(p.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.ServeStdio(ctx, far, w)
	}()
	p.t.Cleanup(func() { stop(); near.Close(); far.Close(); <-done })
	if opt.name == "" {
		opt.name = "test"
	}
	ss, err := mcp.NewClient(&mcp.Implementation{Name: opt.name, Version: "1"}, opt.handler).Connect(ctx, &mcp.IOTransport{Reader: near, Writer: near}, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return &client{ss, p.t}
}

// as is a client that an agent's session started.
func (p *place) as(name string) *client {
	p.t.Helper()
	return p.connect(p.server(p.env(name, nil), true), clientOptions{})
}

type object = map[string]any

func (c *client) call(tool string, args object) *mcp.CallToolResult {
	c.t.Helper()
	res, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		c.t.Fatalf("%s: %v", tool, err)
	}
	return res
}

// ok calls a tool, which must succeed, and returns its text and its data.
func (c *client) ok(tool string, args object) (string, object) {
	c.t.Helper()
	res := c.call(tool, args)
	if res.IsError {
		c.t.Fatalf("%s: %s", tool, textOf(res))
	}
	return textOf(res), dataOf(c.t, res)
}

// refused calls a tool, which must refuse with these words.
func (c *client) refused(tool string, args object, says string) object {
	c.t.Helper()
	res := c.call(tool, args)
	if !res.IsError || !strings.Contains(textOf(res), says) {
		c.t.Fatalf("%s %v: %v %s, want a refusal with %q", tool, args, res.IsError, textOf(res), says)
	}
	return dataOf(c.t, res)
}

func textOf(res *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		b.WriteString(c.(*mcp.TextContent).Text)
	}
	return b.String()
}

func dataOf(t *testing.T, res *mcp.CallToolResult) object {
	t.Helper()
	data, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	out := object{}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// state is a message's state in an inbox.
func (p *place) state(agent string, id mail.ID) string {
	p.t.Helper()
	items, err := p.Box(agent).History(100)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, it := range items {
		if it.ID == id {
			return string(it.State)
		}
	}
	return "absent"
}
