package vfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Path implements FS.
func (r *Real) Path(name string) string { return filepath.Join(r.path, filepath.FromSlash(name)) }

// OpenFile implements FS.
func (r *Real) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := r.open(name, flag, perm)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return realFile{f}, nil
}

// ReadNames implements FS.
func (r *Real) ReadNames(name string) ([]string, error) {
	f, err := r.open(name, os.O_RDONLY|directory, 0)
	if err != nil {
		return nil, pathError("readnames", name, err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	return names, pathError("readnames", name, err)
}

// realFile is an open file of the operating system.
type realFile struct{ *os.File }

func (f realFile) TryLock() (bool, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return false, pathError("lock", f.Name(), err)
	}
	var held bool
	var lockErr error
	if err := raw.Control(func(fd uintptr) { held, lockErr = tryLock(fd) }); err != nil {
		return false, pathError("lock", f.Name(), err)
	}
	return held, pathError("lock", f.Name(), lockErr)
}

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
