package stubmodel

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func start(t *testing.T, script Script) *Server {
	t.Helper()
	s, err := Start(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func post(t *testing.T, url, body string) string {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// The same conversation in each dialect, as the CLIs send it: instructions, a
// prompt, a call of the shell and its result, and something that a hook added.
func conversations() map[API]struct{ path, body string } {
	return map[API]struct{ path, body string }{
		Anthropic: {"/v1/messages?beta=true", `{"model":"m","stream":true,"system":[{"type":"text","text":"be good"}],"messages":[
			{"role":"user","content":[{"type":"text","text":"look"}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"post inbox"}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"one letter"}]}]},
			{"role":"system","content":"a hook says hello"}],
			"tools":[{"name":"Bash","description":"a shell","input_schema":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}]}`},
		Responses: {"/v1/responses", `{"model":"m","stream":true,"instructions":"be good","input":[
			{"type":"message","role":"user","content":[{"type":"input_text","text":"look"}]},
			{"type":"function_call","call_id":"c1","name":"exec_command","arguments":"{\"cmd\":\"post inbox\"}"},
			{"type":"function_call_output","call_id":"c1","output":"one letter"},
			{"type":"message","role":"developer","content":[{"type":"input_text","text":"a hook says hello"}]}],
			"tools":[{"type":"function","name":"exec_command","description":"a shell","parameters":{"type":"object","properties":{"cmd":{"type":"string"}},"required":["cmd"]}}]}`},
		Chat: {"/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"system","content":"be good"},{"role":"user","content":"look"},
			{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"post inbox\"}"}}]},
			{"role":"tool","tool_call_id":"c1","content":"one letter"},{"role":"user","content":[{"type":"text","text":"a hook says hello"}]}],
			"tools":[{"type":"function","function":{"name":"bash","description":"a shell","parameters":{"type":"object","properties":{"command":{"type":"string"},"description":{"type":"string"}},"required":["command","description"]}}}]}`},
		Gemini: {"/v1beta/models/m:streamGenerateContent?alt=sse", `{"systemInstruction":{"role":"user","parts":[{"text":"be good"}]},"contents":[
			{"role":"user","parts":[{"text":"look"}]},
			{"role":"model","parts":[{"functionCall":{"id":"c1","name":"run_shell_command","args":{"command":"post inbox"}}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"run_shell_command","response":{"output":"one letter"}}},{"text":"a hook says hello"}]}],
			"tools":[{"functionDeclarations":[{"name":"run_shell_command","description":"a shell","parametersJsonSchema":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}]}]}`},
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	shell := map[API]string{Anthropic: "Bash", Responses: "exec_command", Chat: "bash", Gemini: "run_shell_command"}
	hook := map[API]Role{Anthropic: System, Responses: Developer, Chat: User, Gemini: User}
	for api, c := range conversations() {
		t.Run(string(api), func(t *testing.T) {
			t.Parallel()
			s := start(t, Steps(Say("fine")))
			post(t, s.URL("ada")+c.path, c.body)
			turns := s.Turns("ada")
			if len(turns) != 1 || turns[0].API != api || turns[0].Model != "m" || !turns[0].Stream || len(s.Turns("bob")) != 0 {
				t.Fatalf("%+v", turns)
			}
			r := turns[0]
			var got []string
			for _, e := range r.Entries {
				text := e.Text
				if e.Kind == ToolCall {
					text = map[bool]string{true: "a call"}[strings.Contains(text, "post inbox")]
				}
				got = append(got, string(e.Role)+" "+string(e.Kind)+" "+e.Tool+": "+text)
			}
			want := []string{"system instructions : be good", "user text : look", "assistant tool_call " + shell[api] + ": a call",
				"tool tool_result " + shell[api] + ": one letter", string(hook[api]) + " text : a hook says hello"}
			if !slices.Equal(got, want) {
				t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if n := r.Newest(); len(n) != 2 || n[0].ID != "c1" || !r.NewestHas("hello") || r.NewestHas("look") {
				t.Fatalf("newest: %v", n)
			}
			if roles := s.Roles("hook says"); !slices.Equal(roles, []Role{hook[api]}) {
				t.Fatalf("%v", roles)
			}
			if roles := s.Roles("a shell"); !slices.Equal(roles, []Role{Elsewhere}) {
				t.Fatalf("a tool's description: %v", roles)
			}
			if faults := s.Faults(); len(faults) > 0 {
				t.Fatal(faults)
			}
		})
	}
}

// Each dialect gets the shell call it knows, whole and as a stream.
func TestShellCall(t *testing.T) {
	t.Parallel()
	want := map[API][]string{
		Anthropic: {`"name":"Bash"`, `{\"command\":\"post read next\"}`, `"stop_reason":"tool_use"`, "event: message_stop"},
		Responses: {`"name":"exec_command"`, `{\"cmd\":\"post read next\"}`, "event: response.completed"},
		Chat:      {`"name":"bash"`, `\"command\":\"post read next\"`, `\"description\":`, `"finish_reason":"tool_calls"`, "data: [DONE]"},
		Gemini:    {`"name":"run_shell_command"`, `"command":"post read next"`, `"finishReason":"STOP"`},
	}
	for api, c := range conversations() {
		t.Run(string(api), func(t *testing.T) {
			t.Parallel()
			s := start(t, Steps(Shell("post read next"), Shell("post read next")))
			got := post(t, s.URL("")+c.path, c.body)
			whole := post(t, s.URL("")+strings.Replace(c.path, "streamGenerateContent?alt=sse", "generateContent", 1), strings.Replace(c.body, `"stream":true,`, "", 1))
			for _, w := range want[api] {
				if !strings.Contains(got, w) {
					t.Errorf("no %s in the stream\n%s", w, got)
				}
			}
			if strings.Contains(whole, "data:") || !strings.Contains(whole, "post read next") {
				t.Errorf("not whole: %s", whole)
			}
		})
	}
}

// A reply that is held begins at once and ends when the test wants it.
func TestHold(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	s := start(t, Steps(Say("at last").After(open)))
	said := make(chan string, 1)
	c := conversations()[Anthropic]
	go func() { said <- post(t, s.URL("")+c.path, c.body) }()
	if _, err := s.Await(10*time.Second, func(r Request) bool { return r.Sort == Turn }); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-said:
		t.Fatalf("not held: %s", got)
	default:
	}
	close(open)
	if got := <-said; !strings.Contains(got, "at last") {
		t.Fatal(got)
	}
}

// Titles, checks and counts never reach the script.
func TestSideRequests(t *testing.T) {
	t.Parallel()
	s := start(t, func(Request) Reply { t.Error("the script was asked"); return Say("") })
	for body, want := range map[string]string{
		`{"model":"m","messages":[{"role":"user","content":"Write a title as {\"title\": …}"}]}`: `{\"title\":\"Stub\"}`,
		`{"model":"m","messages":[{"role":"user","content":"Sum up"}]}`:                          `Stub`,
	} {
		if got := post(t, s.URL("")+"/v1/messages", body); !strings.Contains(got, want) {
			t.Errorf("%s: %s", body, got)
		}
	}
	if got := post(t, s.URL("")+"/v1/messages/count_tokens", conversations()[Anthropic].body); !strings.Contains(got, "input_tokens") {
		t.Error(got)
	}
	if got := post(t, s.URL("")+"/v1beta/models/m:countTokens", conversations()[Gemini].body); !strings.Contains(got, "totalTokens") {
		t.Error(got)
	}
	if len(s.Requests("")) != 4 || len(s.Turns("")) != 0 {
		t.Error(s.Requests(""))
	}
}

// A tool that is kept back is searched for first; the script is asked once.
func TestDeferredTool(t *testing.T) {
	t.Parallel()
	s := start(t, Steps(MCP("mail", "list_mail", map[string]any{"n": 1}), Say("end")))
	const search = `{"name":"ToolSearch","description":"","input_schema":{"properties":{"query":{},"max_results":{}}}}`
	got := post(t, s.URL("")+"/v1/messages", `{"model":"m","messages":[{"role":"user","content":"go"}],"tools":[`+search+`]}`)
	if !strings.Contains(got, `"name":"ToolSearch"`) || !strings.Contains(got, `select:mcp__mail__list_mail`) || !strings.Contains(got, "max_results") {
		t.Fatal(got)
	}
	id := got[strings.Index(got, "call_stub"):][:len("call_stub0001")]
	got = post(t, s.URL("")+"/v1/messages", `{"model":"m","messages":[{"role":"user","content":"go"},
		{"role":"assistant","content":[{"type":"tool_use","id":"`+id+`","name":"ToolSearch","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"`+id+`","content":[{"type":"tool_reference","tool_name":"mcp__mail__list_mail"}]}]}],
		"tools":[`+search+`,{"name":"mcp__mail__list_mail","input_schema":{}}]}`)
	if !strings.Contains(got, `"name":"mcp__mail__list_mail"`) || !strings.Contains(got, `"n":1`) {
		t.Fatal(got)
	}
	if got = post(t, s.URL("")+"/v1/messages", conversations()[Anthropic].body); !strings.Contains(got, "end") {
		t.Fatal(got)
	}
}

// Codex names an MCP tool by its server's namespace.
func TestNamespace(t *testing.T) {
	t.Parallel()
	s := start(t, Steps(MCP("mail", "list_mail", nil)))
	got := post(t, s.URL("")+"/v1/responses", `{"model":"m","input":"go","tools":[{"type":"namespace","name":"mcp__mail","tools":[{"type":"function","name":"list_mail"}]}]}`)
	if !strings.Contains(got, `"namespace":"mcp__mail"`) || !strings.Contains(got, `"name":"list_mail"`) {
		t.Fatal(got)
	}
}

// What the model cannot do is a fault that a test sees, and no silence.
func TestFaults(t *testing.T) {
	t.Parallel()
	s := start(t, Steps(MCP("mail", "nothing", nil)))
	c := conversations()[Anthropic]
	if got := post(t, s.URL("")+c.path, c.body); !strings.Contains(got, "no tool nothing of MCP server mail") {
		t.Error(got)
	}
	post(t, s.URL("")+"/v1/messages", "not JSON")
	post(t, s.URL("")+"/v1/embeddings", "{}")
	if len(s.Faults()) != 3 {
		t.Error(s.Faults())
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	ask := Rules(
		Rule{Agent: "bob", Then: Say("for bob")},
		Rule{When: "mail", Once: true, Then: Say("first")},
		Rule{When: "mail", Then: Say("again")})
	for i, c := range []struct{ agent, text, want string }{
		{"ada", "mail", "first"}, {"bob", "mail", "for bob"}, {"ada", "mail", "again"}, {"ada", "else", "ok"},
	} {
		r := Request{Agent: c.agent, Entries: []Entry{{Role: User, Kind: Text, Text: c.text}}}
		if got := ask(r).Say; got != c.want {
			t.Errorf("%d: %q, want %q", i, got, c.want)
		}
	}
}
