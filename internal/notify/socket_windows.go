package notify

import (
	"errors"
	"os"
)

// dialUnix is for systems where Claude Code listens on a socket file.
func dialUnix(path string) (*os.File, error) {
	return nil, &os.PathError{Op: "connect", Path: path, Err: errors.ErrUnsupported}
}
