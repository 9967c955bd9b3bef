package mcpserver

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postroom/postroom/internal/identity"
)

// TestCaller: who calls is found out for each call, and never guessed.
func TestCaller(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann", "bob")
	p.bind("codex", "t-ann", "ann")
	p.bind("codex", "s-bob", "bob")
	p.bind("claude", "c-bob", "bob")
	roll := identity.Roll{User: p.env("", nil).User(), Office: p.Dir, OfficeID: p.Office().Config.ID}
	if err := roll.BindGuest(identity.SessionKeyOf("codex", "t-guest"), ""); err != nil {
		t.Fatal(err)
	}
	inClaude := map[string]string{"CLAUDE_CODE_SESSION_ID": "c-bob"}
	thread := func(id string) mcp.Meta { return mcp.Meta{"threadId": id} }
	for _, c := range []struct {
		name   string
		as     string
		vars   map[string]string
		http   bool
		client string
		meta   mcp.Meta
		want   string // the agent, or
		says   string // what the refusal holds
	}{
		{name: "the thread", client: "codex-mcp-client", meta: thread("t-ann"), want: "ann"},
		{name: "the thread's session", client: "codex-mcp-client", meta: mcp.Meta{"threadId": "t-new", "sessionId": "s-bob"}, want: "bob"},
		{name: "thread and session disagree", client: "codex-mcp-client", meta: mcp.Meta{"threadId": "t-ann", "sessionId": "s-bob"}, says: "bound to ann and to bob"},
		{name: "the thread, and --as agrees", as: "ann", meta: thread("t-ann"), want: "ann"},
		{name: "the thread, and --as disagrees", as: "bob", meta: thread("t-ann"), says: "--as disagrees with this session, which is ann"},
		{name: "the thread, and the environment disagrees", vars: map[string]string{"POSTROOM_AGENT": "bob"}, meta: thread("t-ann"), says: "$POSTROOM_AGENT disagrees"},
		{name: "an unbound thread", meta: thread("t-new"), says: `the session codex:t-new is bound to no agent; run "post join NAME" in this session, or let a person start the server with "post mcp --as NAME" (ann, bob)`},
		{name: "an unbound thread with --as", as: "bob", meta: thread("t-new"), want: "bob"},
		{name: "an unbound thread, whatever surrounds the daemon", vars: inClaude, client: "codex-mcp-client", meta: thread("t-new"), says: "codex:t-new"},
		{name: "a guest's thread of a bound session", meta: mcp.Meta{"threadId": "t-guest", "sessionId": "s-bob"}, says: "codex:t-guest"},
		{name: "Codex that says nothing", vars: inClaude, client: "codex-mcp-client", says: "does not say which session calls"},
		{name: "an id that is none", client: "codex-mcp-client", meta: thread("a b\n"), says: "does not say which session calls"},
		{name: "the session around the process", vars: inClaude, client: "claude-code", want: "bob"},
		{name: "--as against it", as: "ann", vars: inClaude, client: "claude-code", says: "--as disagrees"},
		{name: "nothing at all", says: "no agent works in"},
		{name: "--as", as: "ann", want: "ann"},
		{name: "--as with a typo", as: "anne", says: "did you mean ann?"},
		{name: "HTTP without a word", http: true, vars: inClaude, client: "claude-code", says: "does not say which session calls"},
		{name: "HTTP with --as", http: true, as: "ann", vars: inClaude, want: "ann"},
		{name: "HTTP with a thread", http: true, meta: thread("t-ann"), want: "ann"},
		{name: "a person", as: "human", says: "an MCP client is an agent's session"},
	} {
		cl := p.connect(p.server(p.env(c.as, c.vars), !c.http), clientOptions{name: c.client})
		params := &mcp.CallToolParams{Meta: c.meta, Name: "list_agents"}
		res, err := cl.CallTool(t.Context(), params)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		text := textOf(res)
		if c.want != "" && (res.IsError || !strings.Contains(text, c.want+" (you)")) {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
		if c.says != "" && (!res.IsError || !strings.Contains(text, c.says)) {
			t.Errorf("%s: %s, want a refusal with %q", c.name, text, c.says)
		}
	}
}

// TestCallersOfOneProcess: one connection carries the calls of several sessions.
func TestCallersOfOneProcess(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann", "bob")
	p.bind("codex", "t-ann", "ann")
	p.bind("codex", "t-bob", "bob")
	cl := p.connect(p.server(p.env("", nil), true), clientOptions{name: "codex-mcp-client"})
	for _, who := range []string{"ann", "bob", "ann"} {
		res, err := cl.CallTool(t.Context(), &mcp.CallToolParams{Meta: mcp.Meta{"threadId": "t-" + who}, Name: "list_agents"})
		if err != nil || !strings.Contains(textOf(res), who+" (you)") {
			t.Fatal(err, textOf(res))
		}
	}
}
