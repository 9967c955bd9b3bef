//go:build unix

package vfs

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// realFile is an open file of the operating system. Not an *os.File, which asks
// the kernel three more questions at each open: a mail command opens forty files
// and is over in two milliseconds.
//
// Close is for its one owner; everything else may be called by several
// goroutines. One that is forgotten is closed once nothing refers to it.
type realFile struct {
	fd      atomic.Int64 // -1: closed
	name    string
	append  bool
	locked  atomic.Bool
	cleanup runtime.Cleanup
}

// errAppend: the kernel would write at the end, whatever the offset says.
var errAppend = errors.New("opened to append: there is no writing elsewhere")

func newFile(fd int, name string, flag int) *realFile {
	f := &realFile{name: name, append: flag&unix.O_APPEND != 0}
	f.fd.Store(int64(fd))
	f.cleanup = runtime.AddCleanup(f, func(fd int) { unix.Close(fd) }, fd)
	return f
}

// do makes a system call on the open file.
func (f *realFile) do(op string, call func(fd int) error) error {
	fd := int(f.fd.Load())
	if fd < 0 {
		return pathError(op, f.name, fs.ErrClosed)
	}
	err := again(func() error { return call(fd) })
	runtime.KeepAlive(f)
	return pathError(op, f.name, err)
}

// again repeats a call that a signal interrupted.
func again(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

func (f *realFile) Read(b []byte) (n int, err error) {
	err = f.do("read", func(fd int) (err error) { n, err = unix.Read(fd, b); return err })
	return ended(n, len(b), err)
}

// ended is what a read of want bytes that got n returns.
func ended(n, want int, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	if n == 0 && want > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (f *realFile) ReadAt(b []byte, off int64) (n int, err error) {
	for {
		var got int
		err := f.do("read", func(fd int) (err error) { got, err = unix.Pread(fd, b[n:], off+int64(n)); return err })
		if got, err = ended(got, len(b)-n, err); err != nil {
			return n, err
		}
		if n += got; n == len(b) {
			return n, nil
		}
	}
}

func (f *realFile) Write(b []byte) (int, error) {
	return f.writeAll(b, func(fd, n int) (int, error) { return unix.Write(fd, b[n:]) })
}

func (f *realFile) WriteAt(b []byte, off int64) (int, error) {
	if f.append {
		return 0, pathError("write", f.name, errAppend)
	}
	if len(b) == 0 {
		return 0, nil
	}
	return f.writeAll(b, func(fd, n int) (int, error) { return unix.Pwrite(fd, b[n:], off+int64(n)) })
}

func (f *realFile) writeAll(b []byte, write func(fd, n int) (int, error)) (n int, err error) {
	for {
		put := 0
		if err := f.do("write", func(fd int) (err error) { put, err = write(fd, n); return err }); err != nil {
			return n, err
		}
		if n += put; n == len(b) {
			return n, nil
		}
		if put == 0 {
			return n, pathError("write", f.name, io.ErrUnexpectedEOF)
		}
	}
}

// Stat returns the same kind of FileInfo as Lstat.
func (f *realFile) Stat() (fs.FileInfo, error) {
	var st unix.Stat_t
	if err := f.do("stat", func(fd int) error { return unix.Fstat(fd, &st) }); err != nil {
		return nil, err
	}
	return statInfo(path.Base(f.name), &st), nil
}

func (f *realFile) Sync() error { return f.do("sync", syncFD) }

func (f *realFile) Truncate(size int64) error {
	return f.do("truncate", func(fd int) error { return unix.Ftruncate(fd, size) })
}

func (f *realFile) TryLock() (held bool, err error) {
	err = f.do("lock", func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	if err, ok := err.(*fs.PathError); ok && err.Err == unix.EWOULDBLOCK {
		return false, nil
	}
	if err == nil {
		f.locked.Store(true)
	}
	return err == nil, err
}

// Close also unlocks: a child that is being started just now, by any goroutine,
// has the file open until it becomes its program, and would keep the lock.
func (f *realFile) Close() error {
	fd := f.fd.Swap(-1)
	if fd < 0 {
		return pathError("close", f.name, fs.ErrClosed)
	}
	f.cleanup.Stop()
	if f.locked.Load() {
		unix.Flock(int(fd), unix.LOCK_UN) // if it fails, closing does it
	}
	return pathError("close", f.name, unix.Close(int(fd)))
}

// readNames lists an open directory.
func readNames(fd int) ([]string, error) {
	names := []string{}
	var few [1 << 10]byte // most have a handful, and a larger one would make the stack grow
	for buf := few[:]; ; {
		n := 0
		if err := again(func() (err error) { n, err = unix.ReadDirent(fd, buf); return err }); err != nil {
			return names, err
		}
		if n <= 0 {
			return names, nil
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
		if n > len(few)/2 && len(buf) == len(few) {
			buf = make([]byte, 32<<10)
		}
	}
}

// ReadSystem reads a small file of the system itself, /proc/… or /etc/…, or of
// the user's state, by its absolute path: at most max bytes. It is os.ReadFile
// with a third of its calls and none of its poller; such files are read whole by
// one read, if it has the room.
func ReadSystem(name string, max int) ([]byte, error) {
	fd, err := openat(unix.AT_FDCWD, name, unix.O_RDONLY, 0)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	defer unix.Close(fd)
	var few [512]byte // most fit, and a dozen are read by each command
	buf := few[:min(max, len(few))]
	for n := 0; ; {
		got := 0
		err = again(func() (err error) { got, err = unix.Read(fd, buf[n:]); return err })
		if got > 0 {
			n += got
		}
		if err != nil || n < len(buf) || n == max {
			return slices.Clone(buf[:n]), pathError("read", name, err)
		}
		buf = append(buf, make([]byte, min(max, 2*n)-n)...)
	}
}
