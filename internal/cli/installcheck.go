package cli

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/doctor"
	"github.com/postroom/postroom/internal/install"
	"github.com/postroom/postroom/internal/mail"
)

// installState is how an installation stands, of one runtime.
type installState struct {
	Runtime   string         `json:"runtime"`
	Program   string         `json:"program,omitempty"` // "" if it is not on PATH
	Installed bool           `json:"installed"`
	Scope     string         `json:"scope,omitempty"`
	Files     []string       `json:"files,omitempty"`
	Findings  []installFault `json:"findings"`
}

// installFault is one thing that is not as it should be. Choice: somebody may
// want it so.
type installFault struct {
	What   string `json:"what"`
	Where  string `json:"where,omitempty"`
	Fix    string `json:"fix"`
	Choice bool   `json:"choice,omitempty"`
}

func (s installState) wrong() bool {
	return slices.ContainsFunc(s.Findings, func(f installFault) bool { return !f.Choice })
}

// check prints the state of the runtimes that are named, else of all that are
// there or installed for.
func (in *installing) check(ctx context.Context, e *Env, args []string) error {
	if err := in.begin(e); err != nil {
		return err
	}
	list := args
	if len(list) == 0 {
		list = install.Runtimes()
	}
	wrong, any := false, false
	for _, runtime := range list {
		s, err := in.state(ctx, e, runtime)
		if err != nil {
			return err
		}
		if len(args) == 0 && !s.Installed && s.Program == "" {
			continue
		}
		if len(args) > 0 && !s.Installed && len(s.Findings) == 0 {
			s.Findings = append(s.Findings, installFault{What: "nothing is installed", Fix: "post install " + runtime})
		}
		wrong, any = wrong || s.wrong(), any || s.Installed
		e.installState(s)
	}
	if !any && len(args) == 0 {
		e.Out.Say("nothing is installed; next: post setup")
	}
	if wrong || !any {
		return Said(mail.KindFound.Exit())
	}
	return nil
}

// state looks at both scopes of a runtime.
func (in *installing) state(ctx context.Context, e *Env, runtime string) (installState, error) {
	s := installState{Runtime: runtime, Program: e.onPath(executable(programOf(runtime))), Findings: []installFault{}}
	for _, scope := range []install.Scope{install.User, install.Project} {
		w := in.all(runtime)
		w.Plugin = runtime == "claude" && in.claudePlugin()
		targets, err := install.Targets(runtime, scope, in.place, w)
		if err != nil {
			return s, err
		}
		one := in.scopeState(ctx, e, targets, w.Plugin && scope == install.User)
		switch {
		case !one.Installed && scope == install.Project:
		case one.Installed && s.Installed:
			s.Findings = append(s.Findings, installFault{What: "the hooks are installed for the user and for this repository, so each may run twice",
				Fix: "post uninstall " + runtime + " --scope project"})
		default:
			s.Installed, s.Scope, s.Files = one.Installed, string(scope), one.Files
			s.Findings = append(s.Findings, one.Findings...)
		}
	}
	return s, nil
}

// runtimeFaults is state for the doctor, of agents that work in a directory.
func (e *Env) runtimeFaults(runtime, workspace string) (is bool, wrong []doctor.Fault) {
	in := installing{scope: string(install.User)}
	if !slices.Contains(install.Runtimes(), runtime) || in.begin(e) != nil {
		return true, nil // nothing can be said
	}
	in.stand(workspace)
	s, err := in.state(context.Background(), e, runtime)
	if err != nil {
		return true, nil
	}
	for _, f := range s.Findings {
		if !f.Choice {
			wrong = append(wrong, doctor.Fault{Where: f.Where, What: f.What, Fix: f.Fix})
		}
	}
	return s.Installed || len(wrong) > 0, wrong
}

// scopeState looks at the files of one scope. Nothing is wrong with files that
// have nothing of ours.
func (in *installing) scopeState(ctx context.Context, e *Env, targets []install.Target, plugin bool) installState {
	s := installState{Installed: plugin}
	var posts []string
	again := ""
	for _, t := range targets {
		again = "post install " + t.Runtime
		if t.Scope == install.Project {
			again += " --scope project"
		}
		c, err := in.open(e, t)
		var look install.Look
		if err == nil {
			look, err = c.Look(c.file.data)
		}
		if err != nil {
			s.Findings = append(s.Findings, installFault{What: err.Error(), Where: t.Path, Fix: "mend the file"})
			continue
		}
		if look.Ours > 0 {
			s.Installed = true
			s.Files = append(s.Files, t.Path)
		}
		posts = append(posts, look.Posts...)
		for _, l := range look.Lacks {
			s.Findings = append(s.Findings, installFault{What: l.What, Where: t.Path, Fix: again, Choice: l.Choice})
		}
	}
	if !s.Installed {
		s.Findings = slices.DeleteFunc(s.Findings, func(f installFault) bool { return f.Fix == again })
		return s
	}
	s.Findings = append(s.Findings, e.callable(ctx, posts, again)...)
	if len(targets) > 0 && targets[0].Runtime == "codex" {
		s.Findings = append(s.Findings, in.trustFaults(e, targets)...)
	}
	return s
}

func (in *installing) trustFaults(e *Env, targets []install.Target) []installFault {
	missing, err := in.untrusted(e, targets)
	if err != nil || len(missing) == 0 {
		return nil
	}
	events := make([]string, len(missing))
	for i, k := range missing {
		events[i], _, _ = strings.Cut(strings.TrimPrefix(k.Key, targets[0].Path+":"), ":")
	}
	return []installFault{{Where: targets[1].Path, Fix: "post install codex --trust-hooks",
		What: "Codex does not trust these hooks, so it leaves them out: " + strings.Join(events, ", ")}}
}

// callable looks whether the programs that settings call exist, can be run, and
// are this one.
func (e *Env) callable(ctx context.Context, posts []string, again string) []installFault {
	var out []installFault
	slices.Sort(posts)
	self, _ := e.Executable()
	for _, path := range slices.Compact(posts) {
		fi, err := os.Stat(path)
		what := ""
		switch {
		case !filepath.IsAbs(path):
			what = "is called by name, and a session's PATH may not lead to it"
		case err != nil:
			what = "is called, and is not there"
		case fi.Mode()&0o111 == 0 || !fi.Mode().IsRegular():
			what = "is called, and cannot be executed"
		case realPath(path) == realPath(self):
		default:
			if v := versionOfPost(ctx, path, e.Environ); v != e.System.Version {
				what = "is called, and is another version (" + dash(v) + ") than this (" + e.System.Version + ")"
			}
		}
		if what != "" {
			out = append(out, installFault{What: path + " " + what, Where: path, Fix: again})
		}
	}
	if on := e.onPath(executable("post")); on == "" {
		out = append(out, installFault{What: "agents type post, and it is not on PATH", Fix: "add " + filepath.Dir(self) + " to your PATH"})
	}
	return out
}

func versionOfPost(ctx context.Context, path string, environ []string) string {
	ctx, cancel := context.WithTimeout(ctx, versionWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "version", "--json")
	cmd.Env, cmd.WaitDelay = environ, time.Second
	out, err := cmd.Output()
	var v struct{ Version string }
	if err != nil || json.Unmarshal(out, &v) != nil {
		return ""
	}
	return v.Version
}

func (e *Env) installState(s installState) {
	if e.JSON {
		e.Out.Object(s)
		return
	}
	switch {
	case s.Installed && s.wrong():
		e.Out.Printf("%-9s %s\n", s.Runtime, e.Out.Red("not whole"))
	case s.wrong():
		e.Out.Printf("%-9s %s\n", s.Runtime, e.Out.Red("not installed"))
	case !s.Installed:
		e.Out.Printf("%-9s not installed; to install: post install %s\n", s.Runtime, s.Runtime)
	default:
		e.Out.Printf("%-9s installed (%s)\n", s.Runtime, Line(strings.Join(s.Files, ", ")))
	}
	for _, f := range s.Findings {
		where := ""
		if f.Where != "" && !strings.Contains(f.What, f.Where) {
			where = e.Out.Dim(" (" + Line(f.Where) + ")")
		}
		label := "error:"
		if f.Choice {
			label = e.Out.Dim("note:")
		}
		e.Out.Printf("  %s %s%s\n", label, Line(f.What), where)
		e.Out.Printf("    what mends it: %s\n", Line(f.Fix))
	}
}
