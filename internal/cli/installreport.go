package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/install"
)

// installReport is what install and uninstall did, or would do.
type installReport struct {
	Runtime   string       `json:"runtime"`
	Scope     string       `json:"scope"`
	DryRun    bool         `json:"dry_run"`
	Gone      bool         `json:"-"`
	Files     []fileReport `json:"files"`
	Backups   []string     `json:"backups,omitempty"`
	Untrusted int          `json:"untrusted_hooks,omitempty"` // Codex leaves them out until they are trusted
	Trusted   int          `json:"trusted_hooks,omitempty"`   // trusted by this command
	Notes     []string     `json:"notes,omitempty"`
	Next      string       `json:"next,omitempty"`
}

// fileReport is one file of it.
type fileReport struct {
	Path    string           `json:"path"`
	Changes []install.Change `json:"changes"`
	diff    []string
}

func (r *installReport) add(c fileChange) {
	r.Files = append(r.Files, fileReport{c.name(), c.result.Changes, install.Diff(c.name(), c.file.data, c.result.Data)})
}

// notes says what a person should know beside what was done.
func (in *installing) notes(e *Env, runtime string, r *installReport) {
	note := func(s string) { r.Notes = append(r.Notes, s) }
	if e.onPath(executable(programOf(runtime))) == "" {
		note(runtime + " is not on your PATH yet; the settings are there for when it is")
	}
	if on := e.onPath(executable("post")); on == "" {
		note("agents type post, and it is not on your PATH: add " + filepath.Dir(in.post))
	} else if realPath(on) != realPath(in.post) {
		note("agents type post, and your PATH leads to another one: " + on)
	}
	if _, err := e.findPostd(); err != nil && !in.noMCP {
		note("the MCP server needs postd, which is not installed: until it is, agents use their shell")
	}
	if in.scope == string(install.Project) {
		note("the settings name " + in.post + ", which others may not have: think before you commit them")
		if runtime == "claude" {
			note("Claude Code reads them only when it is started in " + in.place.Dir)
			note("Claude Code asks once whether to use the MCP server of this repository")
		}
		if runtime == "codex" {
			note("Codex reads them only in a repository that you trust")
		}
	}
	if runtime == "claude" && in.claudePlugin() {
		note("the plugin postroom has the hooks and the MCP server, so only rules are installed")
	}
	if !in.callsPost(runtime) {
		note("this version has no hooks for " + runtime + ": its agent reads mail when it is asked to, with the MCP tools or post inbox")
	}
	if r.Untrusted > 0 {
		r.Next = "post install codex --trust-hooks"
	} else if !r.DryRun {
		r.Next = "post setup " + runtime
	}
}

// callsPost reports whether the runtime has hooks that we know.
func (in *installing) callsPost(runtime string) bool {
	targets, err := install.Targets(runtime, install.User, in.place, in.all(runtime))
	return err == nil && slices.ContainsFunc(targets, install.Target.CallsPost)
}

func (in *installing) report(e *Env, r installReport) {
	if e.JSON {
		e.Out.Object(r)
		return
	}
	if len(r.Files) == 0 && r.Trusted == 0 {
		what := "is installed already; nothing to do"
		if r.Gone {
			what = "has nothing of ours; nothing to do"
		}
		e.Out.Printf("%s %s\n", r.Runtime, what)
	}
	for _, f := range r.Files {
		e.fileReport(r, f)
	}
	if r.Trusted > 0 {
		e.Out.Printf("trusted: %d hooks, as you said with --trust-hooks\n", r.Trusted)
	}
	for _, b := range r.Backups {
		e.Out.Say("what was there is kept in %s", Line(b))
	}
	if r.Untrusted > 0 {
		e.untrusted(r)
	}
	for _, n := range r.Notes {
		e.Out.Say("note: %s", Line(n))
	}
	switch {
	case r.DryRun && len(r.Files) > 0:
		e.Out.Say("nothing was written; without --dry-run it is")
	case !r.Gone && len(r.Files) > 0:
		e.Out.Say("sessions that run already have it after a restart; to undo: post uninstall %s%s", r.Runtime, in.scopeFlag())
	}
	if r.Next != "" {
		e.Out.Say("next: %s", r.Next)
	}
}

func (in *installing) scopeFlag() string {
	if in.scope == string(install.User) {
		return ""
	}
	return " --scope " + in.scope
}

func (e *Env) fileReport(r installReport, f fileReport) {
	verb := map[bool]string{false: "", true: "would "}[r.DryRun]
	for _, c := range f.Changes {
		e.Out.Printf("%s%s %s\n", verb, c.Op, Line(c.What))
	}
	e.Out.Say("  in %s", Line(f.Path))
	if !r.DryRun {
		return
	}
	for _, line := range f.diff {
		line = Line(line)
		switch {
		case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
			line = e.Out.Bold(line)
		case strings.HasPrefix(line, "+"):
			line = e.Out.Green(line)
		case strings.HasPrefix(line, "-"):
			line = e.Out.Red(line)
		case strings.HasPrefix(line, "@@"):
			line = e.Out.Dim(line)
		}
		e.Out.Printf("%s\n", line)
	}
}

// untrusted says what Codex does with a hook that nobody trusts, before it does
// it without a word.
func (e *Env) untrusted(r installReport) {
	e.Out.Printf("%s Codex does not trust %d of these hooks yet, and runs none that it does not trust\n", e.Out.Red("not in force:"), r.Untrusted)
	e.Out.Say("  In its terminal it asks once, when it starts: look at the hooks there and say yes.\n" +
		"  \"codex exec\" never asks, and leaves them out without a word.\n" +
		"  To say yes here: post install codex --trust-hooks")
}

// programOf is the name of a runtime's program.
func programOf(runtime string) string {
	if runtime == "cursor" {
		return "cursor-agent"
	}
	return runtime
}
