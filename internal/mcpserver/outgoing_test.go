package mcpserver

import (
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postroom/postroom/internal/mail"
)

// gate lets a client's answers through until it is shut.
type gate struct {
	io.WriteCloser
	shut *atomic.Bool
}

func (g gate) Write(p []byte) (int, error) {
	if g.shut.Load() && strings.Contains(string(p), markKey) {
		g.WriteCloser.Close()
		return 0, errors.New("broken pipe")
	}
	return g.WriteCloser.Write(p)
}

// TestReceiptFollowsTheBytes: a connection that breaks before the result is out
// leaves the message unread, whichever way it was asked for.
func TestReceiptFollowsTheBytes(t *testing.T) {
	t.Parallel()
	for _, args := range []object{nil, {"id": "last"}} {
		p := newPlace(t, "ann", "bob")
		id := p.Mail("ann", "bob", mail.Request, "s", "body")
		var shut atomic.Bool
		shut.Store(true)
		cl := p.connect(p.server(p.env("bob", nil), true), clientOptions{wrap: func(w io.WriteCloser) io.WriteCloser { return gate{w, &shut} }})
		if _, err := cl.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_mail", Arguments: args}); err == nil {
			t.Fatal("the call came through")
		}
		again := p.as("bob")
		_, data := again.ok("read_mail", nil) // waits for the lock, if that is still held
		if data["id"] != string(id) {
			t.Fatalf("%v: %v", args, data)
		}
		again.ok("list_agents", nil)
		if got := p.state("bob", id); got != "read" {
			t.Errorf("it is %s", got)
		}
		if !strings.Contains(p.log.String(), "stays unread") {
			t.Errorf("log: %s", p.log)
		}
	}
}

// TestNextIsGivenOnce: two processes of one agent that ask at the same time.
func TestNextIsGivenOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann", "bob")
	const n = 6
	for range n {
		p.Mail("ann", "bob", mail.Request, "s", "body")
	}
	var mu sync.Mutex
	got := map[any]int{}
	var wg sync.WaitGroup
	for range 2 {
		cl := p.as("bob")
		wg.Go(func() {
			for range n / 2 {
				_, data := cl.ok("read_mail", nil)
				mu.Lock()
				got[data["id"]]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(got) != n {
		t.Errorf("%v", got)
	}
}

func TestMarks(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{}`: "",
		`[{"result":{"_meta":{"postroom/receipt":"A"}}},{"result":{"_meta":{"postroom/receipt":"B"}}}]`: "A B",
		`{"text":"\"postroom/receipt\":\"A\""}`:                                                         "",
		`"postroom/receipt":"A`:                                                                         "",
	} {
		if got := strings.Join(marks([]byte(in)), " "); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
