package postd

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// link runs post ui and returns what it says.
func (p *place) link(args ...string) (said struct {
	URL, Addr string
	PID       int
	Started   bool
}) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(p.ok("post", append([]string{"ui", "--json"}, args...)...)), &said); err != nil {
		p.t.Fatal(err)
	}
	return said
}

// visit opens a link as a browser would that resolves names ending in .localhost.
func visit(t *testing.T, link, addr string) (status int, body, at string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar, Transport: &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }, DialContext: dialOnly(addr), DisableKeepAlives: true}}
	res, err := c.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(data), res.Request.URL.Path
}

// TestUI: post ui starts a serve where none runs, finds it the next time, and
// hands over links that work once; --revoke shuts out.
func TestUI(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder")
	said := p.link("--to", "/agents")
	if !said.Started || !strings.HasPrefix(said.URL, "http://p-") || !strings.Contains(said.URL, ".localhost:") {
		t.Fatalf("%+v", said)
	}
	t.Cleanup(func() { stopProcess(t, said.PID) })
	if status, body, at := visit(t, said.URL, said.Addr); status != 200 || at != "/agents" || !strings.Contains(body, "coder") {
		t.Fatalf("%d %s %s", status, at, body)
	}
	if status, body, _ := visit(t, said.URL, said.Addr); status != http.StatusUnauthorized || strings.Contains(body, "coder") {
		t.Errorf("a second browser: %d %s", status, body)
	}
	again := p.link("--plain")
	if again.Started || again.PID != said.PID || !strings.HasPrefix(again.URL, "http://"+said.Addr+"/") {
		t.Errorf("%+v", again)
	}
	if out := p.ok("post", "ui", "--print"); !strings.HasPrefix(out, "http://p-") {
		t.Error(out)
	}
	if out := p.ok("post", "ui", "--revoke"); !strings.Contains(out, "shut out") {
		t.Error(out)
	}
	if status, _, _ := visit(t, again.URL, said.Addr); status != http.StatusUnauthorized {
		t.Errorf("after --revoke: %d", status)
	}
	if code, _, said := p.run("post", "ui", "--outside"); code != 5 || !strings.Contains(said, "--page ADDR") {
		t.Errorf("%d %s", code, said)
	}
}

// TestUIIsAPersons: an agent's session gets no link, however it asks.
func TestUIIsAPersons(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder")
	toml := filepath.Join(p.dir, "postroom.toml")
	text, err := os.ReadFile(toml)
	if err != nil {
		t.Fatal(err)
	}
	checked := strings.Replace(string(text), `person_check = "off"`, `person_check = "env"`, 1)
	if checked == string(text) {
		t.Fatal("the office has no person_check")
	}
	if err := os.WriteFile(toml, []byte(checked), 0o600); err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "CLAUDECODE=1")
	for _, program := range []string{"post", "postd"} {
		for _, args := range [][]string{{"ui"}, {"ui", "--print"}, {"ui", "--json", "--plain"}, {"ui", "--revoke"}, {"ui", "--as", "human"}} {
			code, out, said := p.run(program, args...)
			if code != 5 || !strings.Contains(out+said, "only a person") || strings.Contains(out, "once=") {
				t.Errorf("%s %v: %d %s%s", program, args, code, out, said)
			}
		}
	}
}

// TestPageOutsideIsRefused without all that makes it safe.
func TestPageOutsideIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--page", "0.0.0.0:0"}, 2, "--tls-cert FILE"},
		{[]string{"--page", "0.0.0.0:0", "--tls-cert", "x", "--tls-key", "y"}, 2, "--page-name NAME"},
		{[]string{"--page", "nonsense", "--tls-cert", "x", "--tls-key", "y"}, 2, "HOST:PORT"},
		{[]string{"--page", "127.0.0.1:0", "--page-name", "box", "--tls-cert", "/nowhere", "--tls-key", "/nowhere"}, 5, "PEM"},
		{[]string{"--tls-cert", "x"}, 2, "--page ADDR"},
	} {
		code, out, said := p.run("post", append([]string{"serve"}, c.args...)...)
		if code != c.code || !strings.Contains(said, c.says) {
			t.Errorf("%v: %d %s%s", c.args, code, out, said)
		}
	}
}
