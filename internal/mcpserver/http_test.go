package mcpserver

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postroom/postroom/internal/mail"
)

const token = "0123456789abcdefTOKEN"

type bearer struct{ header http.Header }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range b.header {
		r.Header[k] = v
	}
	return http.DefaultTransport.RoundTrip(r)
}

func (p *place) http(as string) *httptest.Server {
	ctx, stop := context.WithCancel(context.Background())
	srv := httptest.NewServer(p.server(p.env(as, nil), false).handlerFor(ctx, token))
	p.t.Cleanup(func() { stop(); srv.CloseClientConnections(); srv.Close() })
	return srv
}

// TestHTTP: the same tools over HTTP; a message is read when the client has it.
func TestHTTP(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann", "bob")
	id := p.Mail("ann", "bob", mail.Request, "s", "over http")
	srv := p.http("bob")
	tr := &mcp.StreamableClientTransport{Endpoint: srv.URL + Path, HTTPClient: &http.Client{Transport: bearer{http.Header{"Authorization": {"Bearer " + token}}}}}
	ss, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), tr, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ss.Close()
	cl := &client{ss, t}
	if text, _ := cl.ok("read_mail", nil); !strings.Contains(text, "over http") {
		t.Error(text)
	}
	cl.ok("list_agents", nil)
	if got := p.state("bob", id); got != "read" {
		t.Errorf("it is %s", got)
	}
}

// TestHTTPOldClient: a client with sessions and event streams.
func TestHTTPOldClient(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann")
	srv := p.http("ann")
	session := ""
	post := func(body string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+Path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		data, _ := io.ReadAll(res.Body)
		if s := res.Header.Get("Mcp-Session-Id"); s != "" {
			session = s
		}
		return res.StatusCode, string(data)
	}
	if code, text := post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}`); code != 200 || !strings.Contains(text, "2025-06-18") {
		t.Fatal(code, text)
	}
	post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if code, text := post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_agents"}}`); code != 200 || !strings.Contains(text, "ann (you)") {
		t.Error(code, text)
	}
	session = "no-such-session"
	if code, _ := post(`{"jsonrpc":"2.0","id":3,"method":"ping"}`); code != http.StatusNotFound {
		t.Error(code)
	}
}

// TestGuard: no token, no mail; and no web page gets in, token or not.
func TestGuard(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann")
	srv := p.http("ann")
	right := "Bearer " + token
	for _, c := range []struct {
		name, auth, host, origin string
		want                     int
	}{
		{"no token", "", "", "", 401},
		{"another token", "Bearer 0123456789abcdefTOKEX", "", "", 401},
		{"another scheme", "Basic " + token, "", "", 401},
		{"the token", right, "", "", 405}, // GET without a session
		{"localhost", right, "localhost:1", "http://localhost:3000", 405},
		{"IPv6", right, "[::1]:1", "http://[::1]:1", 405},
		{"a name that was pointed here", right, "evil.example:1", "", 403},
		{"a page elsewhere", right, "", "https://evil.example", 403},
		{"a page that begins alike", right, "", "http://localhost.evil.example", 403},
		{"a page without a name", right, "", "null", 403},
		{"another path", right, "", "", 404},
	} {
		url := srv.URL + Path
		if c.want == 404 {
			url = srv.URL + "/"
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		for k, v := range map[string]string{"Authorization": c.auth, "Origin": c.origin, "MCP-Protocol-Version": statelessSince} {
			if v != "" {
				r.Header.Set(k, v)
			}
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", c.name, res.StatusCode, c.want)
		}
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:80", "localhost", "example.org:80", "127.0.0.1"} {
		if l, err := Listen(addr); err == nil || !strings.Contains(err.Error(), "--http "+addr) {
			t.Errorf("%s: %v", addr, err)
			if l != nil {
				l.Close()
			}
		}
	}
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "token")
	made, err := Token(path)
	if err != nil || len(made) < leastToken {
		t.Fatal(made, err)
	}
	if fi, _ := os.Stat(path); fi.Mode().Perm() != 0o600 {
		t.Error(fi.Mode())
	}
	if again, err := Token(path); again != made || err != nil {
		t.Error(again, err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Token(path); err == nil || !strings.Contains(err.Error(), "chmod 600 "+path) {
		t.Error(err)
	}
	short := filepath.Join(dir, "short")
	if err := os.WriteFile(short, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{short, dir, filepath.Join(dir, "no", "dir")} {
		if _, err := Token(bad); err == nil || !strings.Contains(err.Error(), "--token-file "+bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
