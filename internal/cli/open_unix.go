//go:build unix

package cli

import (
	"io/fs"
	"os"
	"syscall"
)

// openToRead is os.Open without the runtime's poller, which a short process sets
// up, with eight calls, for nothing.
func openToRead(path string) (*os.File, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		switch err {
		case nil:
			return os.NewFile(uintptr(fd), path), nil
		case syscall.EINTR:
		default:
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}
