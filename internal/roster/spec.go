package roster

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
)

// Agent is what starting an agent needs to know of it.
type Agent struct {
	Name, AID        string
	Office, OfficeID string
	Workspace        string
	Launch           []string // an argument list
	Worker           bool     // a Keeper starts it
}

// spec is what the process that becomes the agent is told, in a file that only
// this user can read and that is gone as soon as it was taken: an environment
// holds secrets, and arguments are seen by everybody.
type spec struct {
	Token string   `json:"token"`
	Path  string   `json:"path"` // of the program
	Argv  []string `json:"argv"`
	Env   []string `json:"env"`
	Dir   string   `json:"dir"`
}

func newToken() string {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// prepare checks that an agent can be started, and says what to run.
func prepare(a Agent, environ []string) (spec, error) {
	cannot := func(why, hint string) (spec, error) {
		return spec{}, &mail.Error{Op: "start", Kind: mail.KindNotFound, Addr: a.Name, Err: errors.New(why), Hint: hint}
	}
	set := "post agent set " + a.Name
	switch fi, err := os.Stat(a.Workspace); {
	case len(a.Launch) == 0 || a.Launch[0] == "":
		return cannot("it has no launch command", "give it one: "+set+" --launch PROGRAM, and a further --launch for each argument")
	case a.Workspace == "":
		return cannot("it has no workspace", "give it one: "+set+" --workspace DIR")
	case errors.Is(err, fs.ErrNotExist):
		return cannot("its workspace "+a.Workspace+" does not exist", "make it, or name another: "+set+" --workspace DIR")
	case err != nil:
		return cannot("its workspace cannot be entered: "+err.Error(), "mend that, or name another: "+set+" --workspace DIR")
	case !fi.IsDir():
		return cannot("its workspace "+a.Workspace+" is not a directory", "name another: "+set+" --workspace DIR")
	}
	path, err := program(a.Launch[0], a.Workspace, environ)
	if err != nil {
		return cannot("its program "+a.Launch[0]+" "+err.Error(), "install it, or name another: "+set+" --launch PROGRAM")
	}
	return spec{Path: path, Argv: a.Launch, Dir: a.Workspace}, nil
}

// program finds a program as the user's shell would: by its name on PATH, of
// which only absolute directories count, or by its path from the workspace.
func program(name, workspace string, environ []string) (string, error) {
	usable := func(path string) error {
		_, err := exec.LookPath(path)
		return err
	}
	if strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(workspace, name)
		}
		switch err := usable(name); {
		case errors.Is(err, fs.ErrPermission):
			return "", errors.New("may not be executed")
		case err != nil:
			return "", errors.New("does not exist")
		}
		return name, nil
	}
	for _, dir := range filepath.SplitList(value(environ, "PATH")) {
		if path := filepath.Join(dir, name); filepath.IsAbs(dir) && usable(path) == nil {
			return path, nil
		}
	}
	return "", errors.New("is not on PATH")
}

// FindProgram says whether an agent's program is there; for whoever looks only.
func FindProgram(name, workspace string, environ []string) error {
	_, err := program(name, workspace, environ)
	return err
}

func value(environ []string, name string) string {
	for _, kv := range slices.Backward(environ) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// terminalVars describe the terminal that a program stands in.
var terminalVars = []string{"TMUX", "TMUX_PANE", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION"}

// clean is the user's environment without what would make a program take itself
// for an agent's session.
func clean(environ []string) []string {
	return without(environ, append(identity.Markers(), "POSTROOM_OFFICE", "POSTROOM_AGENT"))
}

func without(environ, names []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(names, name)
	})
}

// environment is the agent's: the user's, without another session's or place's
// marks, and with what says who it is.
func environment(environ []string, a Agent) []string {
	env := without(clean(environ), []string{"PWD", "OLDPWD", "SHLVL", "_", "COLUMNS", "LINES", "TMUX", "TMUX_PANE"})
	return append(env, "POSTROOM_OFFICE="+a.Office, "POSTROOM_AGENT="+a.Name, "PWD="+a.Workspace)
}

// inTerminal replaces what the environment says of the terminal by what holds
// where the agent stands.
func inTerminal(env, here []string) []string {
	env = without(env, terminalVars)
	for _, name := range terminalVars {
		if v := value(here, name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}
