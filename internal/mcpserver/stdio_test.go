package mcpserver

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"
)

// A client that asks and never reads an answer keeps nobody alive: not when it is
// told to end, not when its input is over.
func TestClientThatNeverReads(t *testing.T) {
	t.Parallel()
	for _, over := range []string{"told to end", "input is over"} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, "ann")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			in, ask := io.Pipe()
			unread, out := io.Pipe()
			t.Cleanup(func() { unread.Close() })
			done := make(chan error, 1)
			go func() { done <- p.server(p.env("ann", nil), true).ServeStdio(ctx, in, out) }()
			fmt.Fprintln(ask, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
			fmt.Fprintln(ask, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
			if over == "told to end" {
				cancel()
			} else {
				ask.Close()
			}
			select {
			case err := <-done:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(4 * (linger + goodbye)):
				t.Error("it is still there")
			}
		})
	}
}
