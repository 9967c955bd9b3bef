package vfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Path implements FS.
func (r *Real) Path(name string) string { return filepath.Join(r.path, filepath.FromSlash(name)) }

// openable says whether a file of this mode may be opened with these flags.
func openable(mode fs.FileMode, flag int) error {
	switch {
	case mode.IsRegular():
		return nil
	case !mode.IsDir():
		return ErrNotRegular
	case flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC) != 0:
		return syscall.EISDIR
	}
	return nil
}

// pathError gives err the name that the caller used.
func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: cause(err)}
}

func linkError(op, oldname, newname string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: op, Old: oldname, New: newname, Err: cause(err)}
}

// cause takes off the wrapping that package os put round a system error.
func cause(err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	}
	return err
}
