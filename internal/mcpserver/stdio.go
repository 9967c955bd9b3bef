package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postroom/postroom/internal/mail"
)

// linger is how long calls may take to end when the client's input has.
const linger = 5 * time.Second

// listens is the call that lasts as long as the client does, cancels the
// notification that takes one back.
const (
	listens = "subscriptions/listen"
	cancels = "notifications/cancelled"
)

// ServeStdio serves one client over r and w, one JSON-RPC message a line, until
// r ends or ctx does. What was asked before r ended is answered, unless the
// client takes no answers: a write that waits for it holds up nothing then, and
// the caller ends the process.
func (s *Server) ServeStdio(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() {
		done <- s.server(ctx).Run(ctx, patient{s, &mcp.IOTransport{Reader: r, Writer: s.out.wrap(w), MaxLineLength: maxRequest}})
	}()
	var err error
	select {
	case err = <-done:
	case <-s.stuck(ctx):
		s.log.Warn("the client reads nothing; left with answers unsent")
	}
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return &mail.Error{Op: "mcp", Kind: mail.KindInvalid, Addr: "standard input", Err: err, Hint: "it takes JSON-RPC messages, one a line; coding CLIs start it"}
	}
	return nil
}

// stuck is closed when a server that was to end should long have done so.
func (s *Server) stuck(ctx context.Context) <-chan struct{} {
	late := make(chan struct{})
	end := sync.OnceFunc(func() { close(late) })
	context.AfterFunc(ctx, func() { time.AfterFunc(goodbye, end) })
	context.AfterFunc(s.leaving, func() { time.AfterFunc(linger+goodbye, end) })
	return late
}

// patient is a transport that ends when everything that was asked is answered.
type patient struct {
	s *Server
	mcp.Transport
}

// Connect is called once.
func (p patient) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := p.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &patientConn{Connection: c, s: p.s, open: map[jsonrpc.ID]bool{}, answered: make(chan struct{}, 1)}, nil
}

type patientConn struct {
	mcp.Connection
	s *Server

	mu       sync.Mutex
	open     map[jsonrpc.ID]bool // calls without an answer
	answered chan struct{}       // there is one less
}

// Read hands a message on; the end of the input only when nothing is open.
func (c *patientConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err != nil {
		c.finish(ctx, err)
		return nil, err
	}
	switch req, ok := m.(*jsonrpc.Request); {
	case !ok:
	case req.IsCall() && req.Method != listens:
		c.begin(req.ID)
	case req.Method == cancels: // it may get no answer
		var p mcp.CancelledParams
		if json.Unmarshal(req.Params, &p) == nil {
			if id, err := jsonrpc.MakeID(p.RequestID); err == nil {
				c.end(id)
			}
		}
	}
	return m, nil
}

func (c *patientConn) begin(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[id] = true
}

func (c *patientConn) end(id jsonrpc.ID) {
	c.mu.Lock()
	delete(c.open, id)
	c.mu.Unlock()
	select {
	case c.answered <- struct{}{}:
	default:
	}
}

func (c *patientConn) waiting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open) > 0
}

// finish waits until all calls are answered, and says so if the input was no
// message.
func (c *patientConn) finish(ctx context.Context, err error) {
	c.s.leave()
	end := time.NewTimer(linger)
	defer end.Stop()
	for c.waiting() {
		select {
		case <-c.answered:
		case <-ctx.Done():
			return
		case <-end.C:
			return
		}
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		c.Connection.Write(ctx, &jsonrpc.Response{Error: &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the line is no JSON: " + err.Error()}})
	}
}

// Write sends a message.
func (c *patientConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if res, ok := m.(*jsonrpc.Response); ok {
		c.end(res.ID)
	}
	return err
}
