package cli

import (
	"errors"
	"os"
	"os/exec"
)

// Exec runs another program in this one's place: Windows cannot replace a
// process. The error carries the program's exit code.
func Exec(path string, argv, env []string) error {
	cmd := &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return Said(exit.ExitCode())
	}
	return err
}
