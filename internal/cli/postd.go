package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/postroom/postroom/internal/mail"
)

// postdCommand is a verb that the second program performs (design §2).
func postdCommand(name, summary, usage string) Command {
	return Command{Name: name, Summary: summary, Usage: usage, Postd: true,
		Long: "This command is part of postd, the second program. post looks for it beside\n" +
			"itself, then on PATH. \"post " + name + " --help\" shows its own help once postd is\ninstalled."}
}

// execPostd hands the command line over.
func (e *Env) execPostd(args []string) error {
	path, err := e.findPostd()
	if err != nil {
		if e.Help || len(args) == 1 && (args[0] == "-h" || args[0] == "--help") {
			return e.showHelp(e.name)
		}
		return err
	}
	argv := append([]string{path, e.name}, e.Globals.args()...)
	if err := e.Exec(path, append(argv, args...), e.Environ); err != nil {
		var code said
		if errors.As(err, &code) {
			return err
		}
		return &mail.Error{Op: "start postd", Kind: mail.KindMissingPostd, Addr: path, Err: err,
			Hint: "make the file executable, or install it again"}
	}
	return nil
}

// beside returns the path of a program that stands beside this one.
func (e *Env) beside(name string) (string, bool) {
	self, err := e.Executable()
	if err != nil {
		return "", false
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	path := filepath.Join(filepath.Dir(self), executable(name))
	fi, err := os.Stat(path)
	return path, err == nil && fi.Mode().IsRegular()
}

func executable(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}

func (e *Env) findPostd() (string, error) {
	if path, ok := e.beside("postd"); ok {
		return path, nil
	}
	name := executable("postd")
	for _, dir := range filepath.SplitList(e.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue // what stands in the working directory is not ours
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", &mail.Error{Op: e.name, Kind: mail.KindMissingPostd,
		Err:  errors.New("this command is part of postd, which is not installed"),
		Hint: `run "go install github.com/postroom/postroom/cmd/postd@latest", or copy postd beside post`}
}
