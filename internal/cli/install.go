package cli

import (
	"context"
	"errors"
	"flag"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/hook"
	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/install"
	"github.com/postroom/postroom/internal/mail"
)

func installCommand() Command {
	return Command{
		Name: "install", Summary: "let a coding CLI call post: hooks, MCP server, allow rules", Person: true,
		Usage: "RUNTIME… [--scope user|project] [--dry-run] | --check [RUNTIME…]",
		Long: `Adds to the settings of a coding CLI what brings mail into its sessions: hooks,
the MCP server, and rules that let the mail verbs run without a question, never
other commands. RUNTIME is claude, codex, gemini, qwen, copilot or opencode.

Your settings stay as they are: nothing is replaced, a second run changes
nothing, what was there is kept beside the file, and "post uninstall RUNTIME"
puts it back. A file that does not parse is left alone, and you are told where.
--dry-run shows the changes as a diff and writes nothing.

--scope project edits the settings in this repository instead of yours. They
name the program of this machine: think before you commit them.

Codex runs a hook only if you trust it. It asks once, in its terminal; without
an answer, and in "codex exec", it leaves the hook out and says nothing.
--trust-hooks says yes to it here, for these hooks.

--check looks whether all of it is in place, and exits 1 if it is not.`,
		Examples: []string{"post install claude --dry-run", "post install claude", "post install codex --trust-hooks", "post install --check"},
		Setup: func(fs *flag.FlagSet) Run {
			var in installing
			check := fs.Bool("check", false, "look whether the installation is whole")
			in.flags(fs)
			fs.BoolVar(&in.dry, "dry-run", false, "show the changes, write nothing")
			fs.BoolVar(&in.noAllow, "no-allow", false, "leave out the rules that allow the mail verbs")
			fs.BoolVar(&in.noMCP, "no-mcp", false, "leave out the MCP server")
			fs.BoolVar(&in.trust, "trust-hooks", false, "Codex: record that you trust these hooks")
			return func(ctx context.Context, e *Env, args []string) error {
				if *check {
					return in.check(ctx, e, args)
				}
				return in.each(ctx, e, args, in.install)
			}
		},
	}
}

func uninstallCommand() Command {
	return Command{
		Name: "uninstall", Summary: "take out what install put into a coding CLI's settings", Person: true,
		Usage: "RUNTIME… [--scope user|project] [--dry-run]",
		Long: `Puts the settings back as they were. If you have changed them since, your
changes stay, and only what was installed goes.`,
		Examples: []string{"post uninstall claude --dry-run", "post uninstall claude codex"},
		Setup: func(fs *flag.FlagSet) Run {
			var in installing
			in.flags(fs)
			fs.BoolVar(&in.dry, "dry-run", false, "show the changes, write nothing")
			return func(ctx context.Context, e *Env, args []string) error { return in.each(ctx, e, args, in.uninstall) }
		},
	}
}

// installing is one installation under way.
type installing struct {
	scope                           string
	dry, noAllow, noMCP, trust, one bool
	place                           install.Place
	post                            string
}

func (in *installing) flags(fs *flag.FlagSet) {
	fs.StringVar(&in.scope, "scope", string(install.User), "`WHOSE` settings: user or project")
}

// begin finds out where settings are and which program they shall call.
func (in *installing) begin(e *Env) error {
	if s := install.Scope(in.scope); s != install.User && s != install.Project {
		return usageError(e.name, "--scope cannot be "+quote(in.scope), "say user or project")
	}
	home := e.Getenv("HOME")
	if home == "" {
		home = e.Getenv("USERPROFILE")
	}
	if !filepath.IsAbs(home) {
		return &mail.Error{Op: "find your home directory", Kind: mail.KindStore, Err: errors.New("HOME is not set"), Hint: "set it"}
	}
	in.place = install.Place{Home: filepath.Clean(home), Getenv: e.Getenv, Exists: exists}
	in.stand(identity.Absolute(e.Dir, "."))
	post, err := e.postProgram()
	in.post = post
	return err
}

// stand says in which directory the runtime is started.
func (in *installing) stand(dir string) { in.place.Dir, in.place.Repo = dir, repository(dir) }

// repository is the directory of the repository that dir lies in, else dir.
func repository(dir string) string {
	for d := dir; ; d = filepath.Dir(d) {
		if exists(filepath.Join(d, ".git")) {
			return d
		}
		if d == filepath.Dir(d) {
			return dir
		}
	}
}

// postProgram is the path under which settings call this program: the one on
// PATH, which stays when the program is updated, if it leads here.
func (e *Env) postProgram() (string, error) {
	self, err := e.Executable()
	if err != nil {
		return "", &mail.Error{Op: "find this program", Kind: mail.KindStore, Err: err, Hint: "start it by its full path"}
	}
	if found := e.onPath(executable("post")); found != "" && realPath(found) == realPath(self) {
		return found, nil
	}
	if filepath.Base(self) != executable("post") { // and would not be recognised again
		return "", &mail.Error{Op: e.name, Kind: mail.KindInvalid, Addr: self, Err: errors.New("this program is not called post"),
			Hint: "install it under its name, then run the command from there"}
	}
	return self, nil
}

// onPath finds a program in the directories of PATH that are absolute.
func (e *Env) onPath(name string) string {
	for _, dir := range filepath.SplitList(e.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	return ""
}

// each runs fn for each runtime that is named.
func (in *installing) each(ctx context.Context, e *Env, args []string, fn func(context.Context, *Env, string) error) error {
	if err := in.begin(e); err != nil {
		return err
	}
	if len(args) == 0 {
		hint := "say which: " + strings.Join(install.Runtimes(), ", ")
		if found := e.installed(); len(found) > 0 {
			hint = "on this machine: post " + e.name + " " + strings.Join(found, " ")
		}
		return usageError(e.name, "names no coding CLI", hint)
	}
	in.one = len(args) == 1
	for _, runtime := range args {
		if err := fn(ctx, e, runtime); err != nil {
			return err
		}
	}
	return nil
}

// wish is what is wanted of a runtime.
func (in *installing) wish(ctx context.Context, e *Env, runtime string) install.Wish {
	w := in.all(runtime)
	w.Allow, w.MCP = !in.noAllow, !in.noMCP
	if runtime == "claude" {
		w.Version = e.versionOf(ctx, runtime)
		w.Plugin = in.claudePlugin()
	}
	return w
}

// all is everything that there is for a runtime.
func (in *installing) all(runtime string) install.Wish {
	_, hooks := hook.Runtimes()[runtime]
	return install.Wish{Post: in.post, Allow: true, MCP: true, Hooks: hooks}
}

// claudePlugin reports whether our plugin is enabled, by the user or here.
func (in *installing) claudePlugin() bool {
	for _, scope := range []install.Scope{install.User, install.Project} {
		list, err := install.Targets("claude", scope, in.place, install.Wish{})
		if err != nil {
			return false
		}
		if f, err := openSettings(list[0].Path, ""); err == nil && install.ClaudePlugin(f.data) {
			return true
		}
	}
	return false
}

// versionWait is how long a coding CLI may take to say its version.
const versionWait = 10 * time.Second

// versionOf asks a program for its version: "2.1.332 (Claude Code)".
func (e *Env) versionOf(ctx context.Context, name string) string {
	path := e.onPath(executable(name))
	if path == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, versionWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env, cmd.WaitDelay = e.Environ, time.Second
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	for _, word := range strings.Fields(string(out)) {
		if word[0] >= '0' && word[0] <= '9' && strings.Contains(word, ".") {
			return word
		}
	}
	return ""
}

// fileChange is what is to be done to one file.
type fileChange struct {
	install.Target
	file   settingsFile
	result install.Result
	known  config.Installed
	has    bool // known holds something
}

func (c fileChange) name() string { return c.file.path }

// open reads one target's file and what is known of it.
func (in *installing) open(e *Env, t install.Target) (fileChange, error) {
	root := ""
	if t.Scope == install.Project {
		root = in.place.Repo
	}
	f, err := openSettings(t.Path, root)
	c := fileChange{Target: t, file: f}
	c.known, c.has = e.User().Installed(t.Path)
	return c, err
}

// plan says what is to be done to a runtime's files. Whatever stands against it
// is found here, before anything is written.
func (in *installing) plan(e *Env, targets []install.Target, edit func(fileChange) (install.Result, error)) ([]fileChange, error) {
	var list []fileChange
	for _, t := range targets {
		c, err := in.open(e, t)
		if err != nil {
			return nil, err
		}
		if c.result, err = edit(c); err != nil {
			return nil, err
		}
		if len(c.result.Changes) == 0 {
			continue
		}
		if err := c.file.writable(); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// locked plans and performs while no runtime writes the same files.
func (in *installing) locked(e *Env, targets []install.Target, fn func() error) error {
	for _, t := range targets {
		if in.dry || t.Lock == "" {
			continue
		}
		release, err := e.lockSettings(t.Lock)
		if err != nil {
			return err
		}
		defer release()
	}
	return fn()
}

func (in *installing) install(ctx context.Context, e *Env, runtime string) error {
	targets, err := install.Targets(runtime, install.Scope(in.scope), in.place, in.wish(ctx, e, runtime))
	if err != nil {
		return err
	}
	if err := in.elsewhere(e, runtime); err != nil {
		return err
	}
	r := installReport{Runtime: runtime, Scope: in.scope, DryRun: in.dry, Files: []fileReport{}}
	err = in.locked(e, targets, func() error {
		list, err := in.plan(e, targets, func(c fileChange) (install.Result, error) { return c.Install(c.file.data) })
		if err != nil {
			return err
		}
		for _, c := range list {
			if !in.dry {
				if err := in.put(e, &c, &r); err != nil {
					return err
				}
			}
			r.add(c)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if runtime == "codex" {
		if err := in.codexTrust(ctx, e, targets, &r); err != nil {
			return err
		}
	}
	in.notes(e, runtime, &r)
	in.report(e, r)
	return nil
}

// elsewhere refuses what would call post twice for everything.
func (in *installing) elsewhere(e *Env, runtime string) error {
	other := install.User
	if in.scope == string(install.User) {
		other = install.Project
	}
	targets, err := install.Targets(runtime, other, in.place, in.all(runtime))
	if err != nil || len(targets) == 0 {
		return err
	}
	c, err := in.open(e, targets[0])
	if err != nil {
		return nil // whoever uses that file is told by its program
	}
	look, err := c.Look(c.file.data)
	if err != nil || len(look.Posts) == 0 {
		return nil
	}
	return &mail.Error{Op: e.name, Kind: mail.KindConflict, Addr: c.name(),
		Err:  errors.New("has the hooks already, for --scope " + string(other) + "; in both places each would run twice"),
		Hint: "run first: post uninstall " + runtime + " --scope " + string(other)}
}
