package mcpserver

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
)

// tool is one tool: what it says of itself, and what it does.
type tool struct {
	name, about string
	args        []argument
	answer      string // the JSON schema of the structured result
	reads       bool   // it changes nothing that anybody but its caller would notice
	repeats     bool   // done twice it is done once
	run         func(*call) (*reply, error)
}

// call is one call of a tool.
type call struct {
	*Server
	*values
	ctx  context.Context
	req  *mcp.CallToolRequest
	desk *cli.Desk
}

// reply is what a tool has to say. data marshals to an object; sent is called
// when the bytes are out, or are known not to go out.
type reply struct {
	text   string
	data   any
	failed bool
	sent   func(error)
}

// declare is how clients see the tool. That it neither destroys nor reaches
// outside lets them run it unattended (docs/mcp.md).
func (t tool) declare() *mcp.Tool {
	no := false
	return &mcp.Tool{Name: t.name, Description: t.about, InputSchema: schema(t.args), OutputSchema: json.RawMessage(t.answer),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.reads, IdempotentHint: t.repeats || t.reads, DestructiveHint: &no, OpenWorldHint: &no}}
}

// handler performs a tool's calls.
func (s *Server) handler(t tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.out.settle()
		r, err := s.perform(ctx, t, req)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err() // the client asked to stop, or is gone
			}
			r = refusal(err)
		}
		return s.result(r), nil
	}
}

func (s *Server) perform(ctx context.Context, t tool, req *mcp.CallToolRequest) (*reply, error) {
	v, err := parse(t.name, t.args, req.Params.Arguments)
	if err != nil {
		return nil, err
	}
	c := &call{Server: s, values: v, ctx: ctx, req: req}
	if c.desk, err = s.desk(t.name, req.Params.Meta, req.Session); err != nil {
		return nil, err
	}
	return t.run(c)
}

// refusal is the reply that says err.
func refusal(err error) *reply {
	return &reply{failed: true, text: mail.Neutralise(err.Error(), true), data: struct {
		Error cli.ErrorView `json:"error"`
	}{cli.ErrorOf(err)}}
}

// result is a reply as the protocol has it.
func (s *Server) result(r *reply) *mcp.CallToolResult {
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.TrimRight(r.text, "\n")}}, StructuredContent: r.data, IsError: r.failed}
	if r.sent != nil {
		res.Meta = mcp.Meta{markKey: s.out.expect(r.sent)}
	}
	return res
}

// receipts returns what records receipts once the bytes are out.
func (c *call) receipts(rs []mail.Receipt) func(error) {
	if len(rs) == 0 {
		return nil
	}
	return func(err error) {
		if err != nil {
			return
		}
		if err := c.desk.Receipt(rs...); err != nil {
			c.log.Warn("no receipt was written", "error", err)
		}
	}
}
