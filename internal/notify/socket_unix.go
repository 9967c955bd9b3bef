//go:build unix

package notify

import (
	"os"
	"syscall"
)

// dialUnix connects to a socket in the file system. It does without the package
// net, whose init alone costs every start of post a twentieth. A listener whose
// queue is full refuses (EAGAIN).
func dialUnix(path string) (*os.File, error) {
	syscall.ForkLock.RLock() // no child inherits it
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, &os.PathError{Op: "socket", Path: path, Err: err}
	}
	err = syscall.SetNonblock(fd, true) // so that deadlines work
	if err == nil {
		err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: path})
	}
	if err != nil {
		syscall.Close(fd)
		return nil, &os.PathError{Op: "connect", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}
