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

// listens is the method whose call lasts as long as the client does.
const listens = "subscriptions/listen"

// ServeStdio serves one client over r and w, one JSON-RPC message a line, until
// r ends or ctx does. What was asked before r ended is answered.
func (s *Server) ServeStdio(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	err := s.server(ctx).Run(ctx, patient{s, &mcp.IOTransport{Reader: r, Writer: s.out.wrap(w), MaxLineLength: maxRequest}})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return &mail.Error{Op: "mcp", Kind: mail.KindInvalid, Addr: "standard input", Err: err, Hint: "it takes JSON-RPC messages, one a line; coding CLIs start it"}
	}
	return nil
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
	return &patientConn{Connection: c, s: p.s, answered: make(chan struct{}, 1)}, nil
}

type patientConn struct {
	mcp.Connection
	s *Server

	mu       sync.Mutex
	open     int           // calls without an answer
	answered chan struct{} // an answer went out
}

// Read hands a message on; the end of the input only when nothing is open.
func (c *patientConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err != nil {
		c.finish(ctx, err)
		return nil, err
	}
	if req, ok := m.(*jsonrpc.Request); ok && req.IsCall() && req.Method != listens {
		c.count(1)
	}
	return m, nil
}

// finish waits until all calls are answered, and says so if the input was no
// message.
func (c *patientConn) finish(ctx context.Context, err error) {
	c.s.leave()
	end := time.NewTimer(linger)
	defer end.Stop()
	for c.count(0) > 0 {
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

func (c *patientConn) count(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += n
	return c.open
}

// Write sends a message.
func (c *patientConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if _, ok := m.(*jsonrpc.Response); ok {
		c.count(-1)
		select {
		case c.answered <- struct{}{}:
		default:
		}
	}
	return err
}
