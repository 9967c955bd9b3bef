package install

import (
	"path/filepath"
	"slices"
	"strings"
)

// codex is Codex CLI. Its settings are two files: hooks.json, in Claude Code's
// manner, and config.toml.
func codex(scope Scope, p Place, w Wish) []Target {
	dir := p.config("CODEX_HOME", ".codex")
	if scope == Project {
		dir = filepath.Join(p.Repo, ".codex")
	}
	hooksFile := filepath.Join(dir, "hooks.json")
	return []Target{
		{Path: hooksFile, pieces: []piece{hooks{
			runtime: "codex", command: Quote(w.Post) + " hook codex", trust: hooksFile, events: codexEvents(),
		}}},
		{Path: filepath.Join(dir, "config.toml"), toml: &tomlServer{post: w.Post, wish: w.MCP, approve: w.Allow}},
	}
}

// codexEvents: timeouts are seconds; Codex clamps that of Interrupt to 3. They
// and the command are what trust is a hash of, so they stay as they are.
func codexEvents() []event {
	return []event{
		{"SessionStart", 10, false}, {"UserPromptSubmit", 10, false}, {"PostToolUse", 10, false},
		{"PermissionRequest", 5, false}, {"Stop", 10, false}, {"Interrupt", 3, false}, {"SessionEnd", 3, false},
	}
}

// tomlServer is the registration of the MCP server in config.toml.
type tomlServer struct {
	post    string
	wish    bool
	approve bool // its tools run without a question
}

func serverPath() []string { return []string{"mcp_servers", serverName} }

// approveMode lets the server's tools, which are the mail verbs, run without a
// question.
const approveMode = "default_tools_approval_mode"

func (s *tomlServer) install(path string, data []byte) (Result, error) {
	d, err := openTOML(path, data)
	if err != nil {
		return Result{}, err
	}
	if !s.wish {
		return Result{Data: data}, nil
	}
	name := serverPath()
	at, there := d.under(name...)
	var r Result
	switch program, ok := s.program(d); {
	case !there:
		r.Changes = []Change{{"add", "the MCP server " + serverName + s.approval()}}
		err = s.register(d)
	case !ok:
		err = d.conflict(at, "another MCP server is called "+serverName+" already")
	case program.text != s.post:
		r.Changes = []Change{{"update", "the MCP server's program"}}
		err = d.splice(program.start, program.end, quoteTOML(s.post))
	}
	if err != nil {
		return Result{}, err
	}
	r.Data = d.data
	return r, nil
}

func (s *tomlServer) approval() string {
	if s.approve {
		return ", and its tools, which are the mail verbs, without a question"
	}
	return ""
}

// program is where our registration names the program.
func (s *tomlServer) program(d *tomlDoc) (tomlValue, bool) {
	program, _ := d.value(append(serverPath(), "command")...)
	args, _ := d.value(append(serverPath(), "args")...)
	return program, isPost(program.text) && len(args.items) > 0 && args.items[0].text == "mcp"
}

func (s *tomlServer) register(d *tomlDoc) error {
	lines := []string{"command = " + quoteTOML(s.post), `args = ["mcp"]`}
	if s.approve {
		lines = append(lines, approveMode+` = "approve"`)
	}
	if v, inline := d.value(serverPath()[0]); inline && v.kind == '{' {
		text := serverName + " = { " + strings.Join(lines, ", ") + " }"
		if n := len(v.entries); n > 0 {
			return d.splice(v.entries[n-1].end, v.entries[n-1].end, ", "+text)
		}
		return d.splice(v.start, v.end, "{ "+text+" }")
	}
	return d.appendTable("["+strings.Join(serverPath(), ".")+"]", lines...)
}

func (s *tomlServer) uninstall(path string, data []byte, made []string) (Result, error) {
	d, err := openTOML(path, data)
	if err != nil {
		return Result{}, err
	}
	var r Result
	if _, ok := s.program(d); ok {
		r.Changes = append(r.Changes, Change{"remove", "the MCP server " + serverName})
		if err := d.removeUnder(serverPath()...); err != nil {
			return Result{}, err
		}
	}
	n, err := s.distrust(d, made)
	if n > 0 {
		r.Changes = append(r.Changes, Change{"remove", "the trust of " + plural(n, "hook")})
	}
	r.Data, r.Empty = d.data, len(strings.TrimSpace(string(d.data))) == 0
	return r, err
}

// distrust takes out what made holds of the trust in our hooks.
func (s *tomlServer) distrust(d *tomlDoc, made []string) (n int, err error) {
	for i := len(d.tables) - 1; i >= 0 && err == nil; i-- {
		t := d.tables[i]
		if len(t.name) == 3 && t.name[0] == "hooks" && t.name[1] == "state" && slices.Contains(made, trustMark+t.name[2]) {
			n++
			err = d.removeTable(i)
		}
	}
	// Codex wrote this header for them; it says nothing when it is empty.
	if at, ok := d.under("hooks", "state"); n > 0 && ok {
		last := slices.IndexFunc(d.tables, func(t tomlTable) bool { return t.start == at && len(t.name) == 2 && len(t.entries) == 0 })
		others := slices.ContainsFunc(d.tables, func(t tomlTable) bool { return len(t.name) > 2 && t.name[0] == "hooks" && t.name[1] == "state" })
		if last >= 0 && !others {
			err = d.removeTable(last)
		}
	}
	return n, err
}

func (s *tomlServer) look(path string, data []byte) (Look, error) {
	d, err := openTOML(path, data)
	if err != nil {
		return Look{}, err
	}
	program, ok := s.program(d)
	_, there := d.under(serverPath()...)
	switch {
	case ok:
		return Look{Ours: 1, Posts: []string{program.text}}, nil
	case there:
		return Look{Lacks: []Lack{{What: "another MCP server is called " + serverName}}}, nil
	case s.wish:
		return Look{Lacks: []Lack{{What: "the MCP server is not registered", Choice: true}}}, nil
	}
	return Look{}, nil
}
