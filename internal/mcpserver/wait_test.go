package mcpserver

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postroom/postroom/internal/mail"
)

const long = 20 * time.Second

// TestWaitComes: mail that comes while the call waits ends it, and the client
// hears meanwhile that it waits.
func TestWaitComes(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann", "bob")
	progress := make(chan *mcp.ProgressNotificationParams, 10)
	cl := p.connect(p.server(p.env("bob", nil), true), clientOptions{handler: &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) { progress <- req.Params }}})
	params := &mcp.CallToolParams{Name: "wait_for_mail", Arguments: object{"from": "ann"}}
	params.SetProgressToken("p1")
	type answer struct {
		res *mcp.CallToolResult
		err error
	}
	came := make(chan answer, 1)
	go func() {
		res, err := cl.CallTool(t.Context(), params)
		came <- answer{res, err}
	}()
	select {
	case n := <-progress:
		if n.ProgressToken != "p1" || n.Total != waitDefault {
			t.Errorf("%+v", n)
		}
	case <-time.After(long):
		t.Fatal("no progress")
	}
	p.Send("ann", "bob", mail.Inform, "s", "body") // stored only: the waiting call routes it
	select {
	case a := <-came:
		if a.err != nil || dataOf(t, a.res)["came"] != true {
			t.Fatal(a.err, a.res)
		}
	case <-time.After(long):
		t.Fatal("nothing came")
	}
}

func TestWaitEnds(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "bob")
	cl := p.as("bob")
	if text, data := cl.ok("wait_for_mail", object{"seconds": 1}); data["came"] != false || data["note"] != text {
		t.Error(text, data)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	began := time.Now()
	if _, err := cl.CallTool(ctx, &mcp.CallToolParams{Name: "wait_for_mail"}); err == nil || time.Since(began) > long {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	cl.ok("list_agents", nil) // the server serves on
}

// TestSubscription: a client that subscribed to the inbox hears of new mail.
func TestSubscription(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann", "bob")
	var updates atomic.Int32
	cl := p.connect(p.server(p.env("bob", nil), true), clientOptions{handler: &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) {
			if req.Params.URI == inboxURI {
				updates.Add(1)
			}
		}}})
	if err := cl.Subscribe(t.Context(), &mcp.SubscribeParams{URI: inboxURI}); err != nil {
		t.Fatal(err)
	}
	p.Mail("ann", "bob", mail.Inform, "s", "body")
	for end := time.Now().Add(long); updates.Load() == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no word of it")
		}
	}
	if err := cl.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: inboxURI}); err != nil {
		t.Fatal(err)
	}
}
