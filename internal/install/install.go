package install

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/mail"
)

// Scope is whose settings are edited.
type Scope string

// The scopes.
const (
	User    Scope = "user"    // everything that this user starts
	Project Scope = "project" // what is started in one repository
)

// Place is where settings are looked for.
type Place struct {
	Home   string // the user's home directory, absolute
	Repo   string // the repository's directory, absolute; for Project
	Dir    string // the directory in which the runtime is started: some look only there
	Getenv func(string) string
	Exists func(path string) bool // for settings that may have one of two names; nil: none does
}

// config is a directory that a variable may name, else one in the home.
func (p Place) config(variable string, home ...string) string {
	if dir := p.Getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(append([]string{p.Home}, home...)...)
}

// Wish is what is to be installed.
type Wish struct {
	Post  string // the program, an absolute path that stays the same when it is updated
	Allow bool   // let the mail verbs be used without a question
	MCP   bool   // register the MCP server
	Hooks bool   // have the runtime call post; false where post does not know its hooks
	// Plugin: a plugin of the runtime calls post already; only the rules are
	// wanted.
	Plugin bool
	// Version of the coding CLI, "" if unknown: what an old one does not know is
	// left out.
	Version string
}

// Change is one thing that an installation adds, updates or removes.
type Change struct {
	Op   string `json:"op"` // "add", "update", "remove"
	What string `json:"what"`
}

// Result is an edited file.
type Result struct {
	Data    []byte
	Changes []Change
	Made    []string // lists and objects that were made, for removing them again
	Empty   bool     // nothing is left but the braces
}

// Lack is something that an installed file should have and has not. Choice:
// somebody may want it so.
type Lack struct {
	What   string `json:"what"`
	Choice bool   `json:"choice,omitempty"`
}

// Look is what a file has of ours.
type Look struct {
	Ours  int // how many things of ours there are
	Lacks []Lack
	Posts []string // the programs that are called, without doubles
	Keys  []TrustKey
}

// Target is one file of one runtime.
type Target struct {
	Runtime  string
	Scope    Scope
	Path     string
	Comments bool // JSON with comments
	Whole    bool // the file is ours as a whole
	// Lock is a directory that the runtime makes while it writes the file, "" for
	// none.
	Lock   string
	pieces []piece
	toml   *tomlServer
	text   string // of a file that is ours as a whole
}

// piece is one kind of thing that is put into a JSON file.
type piece interface {
	add(d *jsonDoc) ([]Change, error)
	remove(d *jsonDoc, made []string) ([]Change, error)
	look(d *jsonDoc) Look
}

// Runtimes are those that can be installed for, in the order of usefulness.
func Runtimes() []string {
	return []string{"claude", "codex", "gemini", "qwen", "copilot", "opencode"}
}

// Targets are the files to edit for a runtime.
func Targets(runtime string, scope Scope, p Place, w Wish) ([]Target, error) {
	build := map[string]func(Scope, Place, Wish) []Target{
		"claude": claude, "codex": codex, "gemini": gemini, "qwen": qwen, "copilot": copilot, "opencode": opencode,
	}[runtime]
	if build == nil {
		e := &mail.Error{Op: "install", Kind: mail.KindUsage, Addr: runtime,
			Err: errors.New("is no runtime that can be installed for"), Hint: "say " + strings.Join(Runtimes(), ", ")}
		if near := mail.Suggest(runtime, Runtimes()); len(near) > 0 {
			e.Hint = "did you mean " + near[0] + "?"
		}
		return nil, e
	}
	list := build(scope, p, w)
	for i := range list {
		list[i].Runtime, list[i].Scope = runtime, scope
	}
	return list, nil
}

// CallsPost reports whether the runtime calls post by what is in the file, and
// so brings mail into its sessions.
func (t Target) CallsPost() bool {
	return t.Whole || slices.ContainsFunc(t.pieces, func(p piece) bool { _, ok := p.(hooks); return ok })
}

// Install puts what is wanted into data, the whole of the file, nil if there is
// none.
func (t Target) Install(data []byte) (Result, error) {
	if t.Whole {
		return t.installWhole(data), nil
	}
	if t.toml != nil {
		return t.toml.install(t.Path, data)
	}
	d, err := openJSON(t.Path, data, t.Comments)
	if err != nil {
		return Result{}, err
	}
	var r Result
	for _, p := range t.pieces {
		c, err := p.add(d)
		if err != nil {
			return Result{}, err
		}
		r.Changes = append(r.Changes, c...)
	}
	r.Data, r.Made = d.data, d.made
	return r, nil
}

// Uninstall takes what is ours out of data. made is what Install made.
func (t Target) Uninstall(data []byte, made []string) (Result, error) {
	switch {
	case t.Whole && string(data) == "":
		return Result{Data: data}, nil
	case t.Whole:
		return Result{Empty: true, Changes: []Change{{"remove", "the file " + filepath.Base(t.Path)}}}, nil
	case t.toml != nil:
		return t.toml.uninstall(t.Path, data, made)
	}
	d, err := openJSON(t.Path, data, t.Comments)
	if err != nil {
		return Result{}, err
	}
	var r Result
	for _, p := range t.pieces {
		c, err := p.remove(d, made)
		if err != nil {
			return Result{}, err
		}
		r.Changes = append(r.Changes, c...)
	}
	r.Data = d.data
	r.Empty = d.root == nil || len(d.root.items) == 0
	return r, nil
}

// Look says what data has of ours and what it lacks.
func (t Target) Look(data []byte) (Look, error) {
	switch {
	case t.Whole:
		return t.lookWhole(data), nil
	case t.toml != nil:
		return t.toml.look(t.Path, data)
	}
	d, err := openJSON(t.Path, data, t.Comments)
	if err != nil {
		return Look{}, err
	}
	var all Look
	for _, p := range t.pieces {
		l := p.look(d)
		all.Ours += l.Ours
		all.Lacks = append(all.Lacks, l.Lacks...)
		all.Keys = append(all.Keys, l.Keys...)
		for _, post := range l.Posts {
			if !slices.Contains(all.Posts, post) {
				all.Posts = append(all.Posts, post)
			}
		}
	}
	return all, nil
}

// installWhole writes a file that belongs to us.
func (t Target) installWhole(data []byte) Result {
	r := Result{Data: []byte(t.text)}
	switch {
	case data == nil:
		r.Changes = []Change{{"add", "the file " + filepath.Base(t.Path)}}
	case string(data) != t.text:
		r.Changes = []Change{{"update", "the file " + filepath.Base(t.Path)}}
	}
	return r
}

func (t Target) lookWhole(data []byte) Look {
	switch string(data) {
	case "":
		return Look{Lacks: []Lack{{What: "the file is not there"}}}
	case t.text:
		return Look{Ours: 1}
	}
	return Look{Ours: 1, Lacks: []Lack{{What: "the file is not the one that this version writes"}}}
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
