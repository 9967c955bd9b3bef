//go:build e2e && linux

package runtimes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postroom/postroom/e2e/stubmodel"
)

// theirs are settings that the person has before post install, by file: with a
// hook and an order of their own.
func theirs(s *seat) map[string]string {
	if s.cli.name != "claude" && s.cli.name != "codex" {
		return nil // what configure wrote is all
	}
	if s.cli.name == "codex" {
		// Codex would ask about a hook of the person's that it does not trust.
		return map[string]string{filepath.Join(s.home, ".codex", "hooks.json"): "{\"hooks\":   {\"Stop\": []}}\n"}
	}
	return map[string]string{filepath.Join(s.home, ".claude", "settings.json"): "{\n\t\"env\" : {},\n" +
		`"hooks":   {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}` + "\n"}
}

// onPath lets the person's shell find the CLI, as it does where one is installed.
func (s *seat) onPath() {
	s.t.Helper()
	bin := filepath.Join(s.root, "bin")
	must(s.t, os.MkdirAll(bin, 0o755))
	if err := os.Symlink(s.path, filepath.Join(bin, s.cli.name)); !os.IsExist(err) {
		must(s.t, err)
	}
	for i, v := range s.user.env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok && !strings.HasPrefix(path, bin+":") {
			s.user.env[i] = "PATH=" + bin + ":" + path
		}
	}
}

// install does it as the person would, and is pleased with what it did.
func (s *seat) install(more ...string) {
	s.t.Helper()
	if s.cli.name == "codex" {
		more = append(more, "--trust-hooks")
	}
	s.ok(append([]string{"install", s.cli.name, "--office", s.office}, more...)...)
	s.ok("install", "--check", s.cli.name, "--office", s.office)
	if again := s.ok("install", s.cli.name, "--office", s.office); !strings.Contains(again.out, "nothing to do") {
		s.t.Fatalf("a second time: %v", again)
	}
}

// heard waits until a session's hooks said something of the agent.
func (s *seat) heard() {
	s.t.Helper()
	until(s.t, "a word of the hooks", func() bool {
		raw, err := os.ReadFile(filepath.Join(s.office, "agents", s.name, "presence.json"))
		return err == nil && strings.Contains(string(raw), `"`+s.cli.name+`"`)
	})
}

// What post install writes is taken without a word of complaint, its hooks run
// beside those of the person, and uninstalling gives the files back.
func TestInstall(t *testing.T) {
	t.Parallel()
	on(t, everyCLI, func(t *testing.T, c cli) {
		u := newUser(t, stubmodel.Rules(stubmodel.Rule{Then: stubmodel.Say("good morning")}))
		s := u.sit("coder", c)
		s.onPath()
		s.join("--runtime", c.name)
		before := theirs(s)
		for path, text := range before {
			write(t, text, path)
		}
		s.install()
		term := s.open()
		term.prompt("hello")
		term.shows("good morning")
		s.heard()
		// Codex warns of one thing, that it does not know the model.
		screen := strings.Replace(term.screen(), "1 warning · f2", "", 1)
		for _, word := range []string{"rror", "arning", "nvalid", "gnored"} {
			if strings.Contains(screen, word) {
				t.Errorf("something is said:\n%s", screen)
			}
		}
		s.ok("uninstall", c.name, "--office", s.office)
		for path, text := range before {
			if now, err := os.ReadFile(path); err != nil || string(now) != text {
				t.Errorf("%s: %v\n%s\nwas\n%s", path, err, now, text)
			}
		}
		for _, path := range []string{".claude.json", ".codex/config.toml", ".gemini/settings.json", ".qwen/settings.json", ".copilot/mcp-config.json", ".copilot/hooks/postroom.json", ".copilot/extensions/postroom/extension.mjs",
			".config/opencode/opencode.json", ".config/opencode/plugin/postroom.js"} {
			if now, _ := os.ReadFile(filepath.Join(u.home, path)); strings.Contains(string(now), "postroom") {
				t.Errorf("%s still has something of ours:\n%s", path, now)
			}
		}
	})
}

// Settings of a project are written where the CLI looks for them.
func TestInstallProject(t *testing.T) {
	t.Parallel()
	on(t, "claude", func(t *testing.T, c cli) {
		u := newUser(t, stubmodel.Rules(stubmodel.Rule{Then: stubmodel.Say("good morning")}))
		s := u.sit("coder", c)
		s.dir = filepath.Join(s.dir, "deep")
		must(t, os.Mkdir(s.dir, 0o755))
		u.places[c.name] = append(u.places[c.name], s.dir)
		c.configure(s)
		s.join("--runtime", c.name)
		if r := s.run(s.dir, u.env, given.Programs+"/post", "install", c.name, "--scope", "project", "--no-mcp", "--office", s.office); r.exit != 0 {
			t.Fatalf("%v", r)
		}
		term := s.open()
		term.prompt("hello")
		s.heard()
	})
}

// With the CLI's own permission rules, the mail verbs and tools run unasked, and
// other commands of post do not.
func TestInstallAllows(t *testing.T) {
	t.Parallel()
	on(t, "claude codex", func(t *testing.T, c cli) {
		steps := []stubmodel.Reply{stubmodel.MCP("postroom", "list_agents", map[string]any{})}
		if c.name == "claude" { // Codex's shell is in a sandbox, and asks nobody
			steps = append(steps, stubmodel.Shell("post where --as coder"), stubmodel.Shell("post approvals"))
		}
		u := newUser(t, stubmodel.Steps(append(steps, stubmodel.Say("that was all"))...))
		s := u.sitGuarded("coder", c)
		s.onPath()
		s.join("--runtime", c.name)
		s.more = append(s.more, "POSTROOM_OFFICE="+s.office)
		s.install()
		if r := s.ask("look around"); r.exit != 0 || !strings.Contains(r.out, "that was all") {
			t.Fatalf("%v", r)
		}
		var texts []string
		for _, turn := range u.model.Turns("coder") {
			for _, r := range turn.Results() {
				texts = append(texts, r.Text)
			}
		}
		all := strings.Join(texts, "\n────\n")
		if !strings.Contains(all, `coder`) || c.name == "claude" && !strings.Contains(all, s.office) {
			t.Errorf("a mail verb did not run:\n%s", all)
		}
		if c.name == "claude" && !strings.Contains(all, "ermission") && !strings.Contains(all, "requires approval") {
			t.Errorf("post approvals ran unasked:\n%s", all)
		}
	})
}

// Where post has no hooks for a CLI, its MCP server is there, and its tools run
// unasked under the CLI's own permission rules.
func TestInstallServer(t *testing.T) {
	t.Parallel()
	on(t, "gemini opencode qwen copilot", func(t *testing.T, c cli) {
		u := newUser(t, stubmodel.Steps(stubmodel.MCP("postroom", "list_agents", map[string]any{}), stubmodel.Say("that was all")))
		s := u.sitGuarded("coder", c)
		s.onPath()
		s.join("--runtime", c.name)
		s.more = append(s.more, "POSTROOM_OFFICE="+s.office)
		s.install()
		r := s.ask("who is there?")
		turns := u.model.Turns("coder")
		if r.exit != 0 || !strings.Contains(r.out, "that was all") || len(turns) < 2 {
			t.Fatalf("%v", r)
		}
		if last := turns[len(turns)-1]; !last.NewestHas("coder") {
			t.Errorf("%v", last.Newest())
		}
		s.ok("uninstall", c.name, "--office", s.office)
	})
}

// The plugin passes its own program's strictest check, and its hooks run.
func TestPlugin(t *testing.T) {
	t.Parallel()
	on(t, "claude", func(t *testing.T, c cli) {
		repo, err := filepath.Abs("../..")
		must(t, err)
		u := newUser(t, stubmodel.Rules(stubmodel.Rule{Then: stubmodel.Say("good morning")}))
		s := u.sit("coder", c)
		s.join("--runtime", c.name)
		for _, dir := range []string{repo, filepath.Join(repo, "plugin")} {
			if r := s.run(s.dir, s.environ(), s.path, "plugin", "validate", "--strict", dir); r.exit != 0 {
				t.Errorf("%v", r)
			}
		}
		term := s.open("--plugin-dir", filepath.Join(repo, "plugin"))
		term.prompt("hello")
		term.shows("good morning")
		s.heard()
	})
}

// Two repositories and two CLIs come to one office by typing what post setup
// prints, and nobody types its path.
func TestSetupWalk(t *testing.T) {
	t.Parallel()
	note(t, "claude+codex")
	u := bareUser(t, stubmodel.Rules(stubmodel.Rule{Then: stubmodel.Say("good morning")}))
	api, web := u.sit("api", pick(t, "claude")), u.sit("web", pick(t, "codex"))
	api.onPath()
	web.onPath()
	for _, s := range []*seat{api, web} {
		typed := s.walk()
		if strings.Contains(strings.Join(typed, "\n"), "office") {
			t.Errorf("the office's path was typed: %q", typed)
		}
		t.Logf("%s: %s", s.name, strings.Join(typed, "; "))
	}
	offices := map[string]bool{}
	for _, s := range []*seat{api, web} {
		r := s.run(s.dir, u.env, given.Programs+"/post", "where", "--json")
		_, after, _ := strings.Cut(r.out, `"office":"`)
		office, _, _ := strings.Cut(after, `"`)
		offices[office] = true
		s.office = office
	}
	if len(offices) != 1 {
		t.Fatalf("offices: %v", offices)
	}
	for _, s := range []*seat{api, web} {
		term := s.open()
		term.prompt("hello")
		s.heard()
		if r := s.run(s.dir, u.env, given.Programs+"/post", "setup"); !strings.Contains(r.out, "ready: mail for "+s.name) {
			t.Errorf("%v", r)
		}
	}
}

// walk types what post setup prints until it says to start the CLI.
func (s *seat) walk() (typed []string) {
	s.t.Helper()
	line := "post setup"
	for range 12 {
		argv := strings.Fields(line)
		if argv[0] == s.cli.name {
			return typed
		}
		typed = append(typed, line)
		r := s.run(s.dir, s.user.env, append([]string{given.Programs + "/post"}, argv[1:]...)...)
		if r.exit != 0 {
			s.t.Fatalf("%v", r)
		}
		if argv[1] != "setup" {
			line = "post setup " + s.cli.name
			continue
		}
		_, next, _ := strings.Cut(r.out, "next:")
		line = ""
		for l := range strings.Lines(next) {
			if l = strings.TrimSpace(l); strings.HasPrefix(l, "post ") && (line == "" || strings.HasSuffix(l, " "+s.cli.name)) || l == s.cli.name {
				line = l
			}
		}
		if line == "" {
			s.t.Fatalf("no line to type:\n%v", r)
		}
	}
	s.t.Fatalf("it does not end: %q", typed)
	return nil
}
