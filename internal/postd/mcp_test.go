package postd

import (
	"bufio"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestMCPUsage: what is refused before anything is served.
func TestMCPUsage(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann")
	file := filepath.Join(p.root, "token")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--as", "human"}, 5, "an MCP client is an agent's session"},
		{[]string{"--http", "127.0.0.1:0"}, 2, "--http wants --token-file"},
		{[]string{"--token-file", file}, 2, "--token-file is for --http"},
		{[]string{"--http", "0.0.0.0:0", "--token-file", file}, 2, "is no loopback address"},
		{[]string{"--log", "xml"}, 2, "--log cannot be xml"},
		{[]string{"x"}, 2, "does not know what to do with x"},
	} {
		code, out, said := p.run("post", append([]string{"mcp"}, c.args...)...)
		if code != c.code || !strings.Contains(said, c.says) || out != "" {
			t.Errorf("%v: exit %d, %s%s", c.args, code, out, said)
		}
	}
}

// TestMCPProcess: post becomes postd, speaks on standard output only, and ends
// with its input.
func TestMCPProcess(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann")
	cmd := p.command("post", "mcp", "--as", "ann")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log := &lines{}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	ask := func(frame string) string {
		io.WriteString(in, frame+"\n")
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err, log)
		}
		return line
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	if line := ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_agents"}}`); !strings.Contains(line, `"you":true`) {
		t.Error(line)
	}
	in.Close()
	if rest, _ := io.ReadAll(r); len(rest) > 0 {
		t.Errorf("more on standard output: %s", rest)
	}
	if err := cmd.Wait(); err != nil || log.String() != "" {
		t.Errorf("%v %s", err, log)
	}
}

// TestMCPServesHTTP: it prints its address, wants the token that it made, and
// ends when it is told to.
func TestMCPServesHTTP(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann")
	cmd := p.command("post", "mcp", "--as", "ann", "--http", "127.0.0.1:0", "--token-file", filepath.Join(p.root, "token"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Get(strings.TrimSpace(url))
	if err != nil || res.StatusCode != http.StatusUnauthorized {
		t.Errorf("%v %v", res, err)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
