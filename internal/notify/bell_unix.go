//go:build unix

package notify

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// ring writes the bell to a terminal of this user's. It never waits: a terminal
// that takes nothing now is an error.
func ring(tty string) error {
	fd, err := unix.Open(tty, unix.O_WRONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return errors.New("is no device")
	}
	if int(st.Uid) != os.Getuid() {
		return errors.New("belongs to another user")
	}
	if _, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ); err != nil {
		return errors.New("is no terminal")
	}
	n, err := unix.Write(fd, []byte{'\a'})
	switch {
	case errors.Is(err, unix.EAGAIN):
		return errors.New("takes nothing now")
	case err == nil && n != 1:
		return errors.New("took nothing")
	}
	return err
}
