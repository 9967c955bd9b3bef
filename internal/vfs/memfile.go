package vfs

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"
)

// memFile is an open file of a Mem.
type memFile struct {
	disk   *disk
	node   *node
	name   string
	flag   int
	pos    int64
	closed bool
}

// edit is one change of a file's content: data written at off, or, if it cuts,
// a new size.
type edit struct {
	data []byte
	off  int64
	size int64
	cuts bool
}

// apply returns the content that e makes of old, which it leaves alone.
func (e edit) apply(old []byte) []byte {
	size := max(e.off+int64(len(e.data)), int64(len(old)))
	if e.cuts {
		size = e.size
	}
	content := make([]byte, size)
	copy(content, old)
	copy(content[min(e.off, size):], e.data)
	return content
}

func (n *node) change(now time.Time, e edit) {
	n.data = e.apply(n.data)
	n.edits = append(n.edits, e)
	n.mtime = now
}

func access(flag int) (reads, writes bool) {
	return flag&os.O_WRONLY == 0, flag&(os.O_WRONLY|os.O_RDWR) != 0
}

// do runs fn with the disk locked, if the file is open.
func (f *memFile) do(op string, fn func() error) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.closed {
		return pathError(op, f.name, fs.ErrClosed)
	}
	err := fn()
	if err == io.EOF {
		return err
	}
	return pathError(op, f.name, err)
}

func (f *memFile) Read(p []byte) (n int, err error) {
	err = f.do("read", func() error {
		n, err = f.read(p, f.pos)
		f.pos += int64(n)
		return err
	})
	return n, err
}

func (f *memFile) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.do("read", func() error {
		n, err = f.read(p, off)
		if err == nil && n < len(p) {
			err = io.EOF
		}
		return err
	})
	return n, err
}

func (f *memFile) read(p []byte, off int64) (int, error) {
	reads, _ := access(f.flag)
	switch {
	case f.node.mode.IsDir():
		return 0, syscall.EISDIR
	case !reads:
		return 0, syscall.EBADF
	case off < 0:
		return 0, fs.ErrInvalid
	case len(p) == 0:
		return 0, nil
	case off >= int64(len(f.node.data)):
		return 0, io.EOF
	}
	return copy(p, f.node.data[off:]), nil
}

func (f *memFile) Write(p []byte) (n int, err error) {
	err = f.do("write", func() error {
		if f.flag&os.O_APPEND != 0 {
			f.pos = int64(len(f.node.data))
		}
		n, err = f.write(p, f.pos)
		f.pos += int64(n)
		return err
	})
	return n, err
}

func (f *memFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.do("write", func() error {
		if f.flag&os.O_APPEND != 0 || off < 0 {
			return fs.ErrInvalid
		}
		if len(p) == 0 {
			return nil // as os.File, whatever the file is open for
		}
		n, err = f.write(p, off)
		return err
	})
	return n, err
}

func (f *memFile) write(p []byte, off int64) (int, error) {
	if _, writes := access(f.flag); !writes {
		return 0, syscall.EBADF
	}
	if len(p) > 0 {
		f.node.change(f.disk.now(), edit{data: bytes.Clone(p), off: off})
	}
	return len(p), nil
}

func (f *memFile) Truncate(size int64) error {
	return f.do("truncate", func() error {
		if _, writes := access(f.flag); !writes || size < 0 {
			return syscall.EINVAL
		}
		f.node.change(f.disk.now(), edit{size: size, cuts: true})
		return nil
	})
}

func (f *memFile) Stat() (fi fs.FileInfo, err error) {
	err = f.do("stat", func() error {
		fi = f.node.info(path.Base(f.name))
		return nil
	})
	return fi, err
}

func (f *memFile) Sync() error {
	return f.do("sync", func() error {
		f.node.sync()
		return nil
	})
}

func (f *memFile) TryLock() (held bool, err error) {
	err = f.do("lock", func() error {
		if f.node.lock == nil {
			f.node.lock = f
		}
		held = f.node.lock == f
		return nil
	})
	return held, err
}

func (f *memFile) Close() error {
	return f.do("close", func() error {
		f.closed = true
		if f.node.lock == f {
			f.node.lock = nil
		}
		return nil
	})
}
