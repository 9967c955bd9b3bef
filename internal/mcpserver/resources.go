package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
)

// The resources. Clients may put them before their model as if the user had,
// so they hold our own words and validated fields only (design §12).
const (
	inboxURI     = "postroom://inbox"
	threadPrefix = "postroom://thread/"
)

func (s *Server) addResources(srv *mcp.Server) {
	srv.AddResource(&mcp.Resource{URI: inboxURI, Name: "inbox", Title: "Inbox", MIMEType: "text/plain",
		Description: "What is unread or not done: who, which act, which id. Updated when mail comes."}, s.resource(readInbox))
	srv.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: threadPrefix + "{conversation}", Name: "thread", Title: "Thread", MIMEType: "text/plain",
		Description: "The messages of a conversation that you sent or received, oldest first, without their texts."}, s.resource(readThread))
}

func (s *Server) resource(read func(*cli.Desk, string) (string, []mail.Receipt, error)) mcp.ResourceHandler {
	return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		s.out.settle()
		d, err := s.desk("read resource", req.Params.Meta, req.Session)
		if err != nil {
			return nil, err
		}
		s.pass(ctx, d)
		text, receipts, err := read(d, req.Params.URI)
		if k := mail.KindOf(err); k == mail.KindNotFound || k == mail.KindInvalid {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: mail.Neutralise(err.Error(), false)}
		}
		if err != nil {
			return nil, err
		}
		res := &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "text/plain", Text: text}}}
		c := &call{Server: s, desk: d}
		if then := c.receipts(receipts); then != nil {
			res.Meta = mcp.Meta{markKey: s.out.expect(then)}
		}
		return res, nil
	}
}

func readInbox(d *cli.Desk, _ string) (string, []mail.Receipt, error) {
	items, more, err := d.Inbox(false, listDefault)
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "inbox of %s\n", d.Me().Name())
	for _, it := range items {
		fmt.Fprintf(&b, "%s  %s from %s%s\n", it.ID, validAct(it.Act), validSender(it.From), state(it))
	}
	switch {
	case len(items) == 0:
		b.WriteString("no mail that is not done\n")
	case more > 0:
		fmt.Fprintf(&b, "and %d more: the tool list_mail\n", more)
	}
	if len(items) > 0 && items[0].Unread() {
		b.WriteString("next: the tool read_mail\n")
	}
	return b.String(), surfaced("mcp "+inboxURI, items...), nil
}

func readThread(d *cli.Desk, uri string) (string, []mail.Receipt, error) {
	name, err := url.PathUnescape(strings.TrimPrefix(uri, threadPrefix))
	if err != nil {
		return "", nil, &mail.Error{Op: "read resource", Kind: mail.KindInvalid, Addr: mail.Neutralise(uri, false), Err: errors.New("is no address"),
			Hint: threadPrefix + "CONVERSATION"}
	}
	msgs, err := d.Thread(name)
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "thread, %d messages\n", len(msgs))
	for _, m := range msgs {
		to := "several"
		if a, err := mail.ParseAddress(m.To); err == nil {
			to = a.String()
		}
		fmt.Fprintf(&b, "%s  %s from %s to %s, %s\n", m.ID, validAct(string(m.Act)), validSender(m.From), to, cli.When(m.CreatedAt))
	}
	b.WriteString("next: the tool read_mail with an id\n")
	return b.String(), nil, nil
}

func validAct(act string) string {
	if mail.Act(act).Known() {
		return act
	}
	return "message"
}

func validSender(from string) string {
	if _, err := mail.ParseSender(from); err != nil {
		return "unknown"
	}
	return from
}
