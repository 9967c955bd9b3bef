package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
)

// Fault counts the calls on the file systems that it wraps and on their open
// files, and makes them fail, stop or be the last. One Fault may wrap several
// file systems: they share the count. The zero value only counts. Safe for use
// by several goroutines.
type Fault struct {
	mu      sync.Mutex
	calls   []Call
	rules   []func(Call) error
	before  func(Call)
	after   func(Call)
	last    int // crash after this call; 0 is never
	crashed bool
}

// Call is one call, as the log shows it.
type Call struct {
	N    int    // 1 for the first
	Op   string // "open", "write", "link", …: the method's name without File, Dir, Try
	Root string // the absolute path of the file system
	Name string
	To   string // of link and rename
}

func (c Call) String() string {
	if c.To != "" {
		return fmt.Sprintf("%d %s %s %s", c.N, c.Op, c.Name, c.To)
	}
	return fmt.Sprintf("%d %s %s", c.N, c.Op, c.Name)
}

// Edits reports whether c can change what is on the disk or what a crash leaves
// there.
func (c Call) Edits() bool {
	switch c.Op {
	case "open", "mkdir", "link", "move", "rename", "remove", "syncdir", "write", "sync", "truncate":
		return true
	}
	return false
}

// ErrCrashed is what every call gets after the crash, so that deferred clean-up
// changes nothing any more.
var ErrCrashed = errors.New("crashed")

// Crash is the panic value of CrashAfter.
type Crash struct{ Call Call }

func (c Crash) Error() string { return "crash after " + c.Call.String() }

// Crashed runs fn and reports whether a Crash ended it.
func Crashed(fn func()) (crashed bool) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case Crash:
			crashed = true
		default:
			panic(r)
		}
	}()
	fn()
	return false
}

// Wrap returns inner with f's faults.
func (f *Fault) Wrap(inner FS) FS { return &faultFS{f, inner, inner.Path(".")} }

// FailIf makes each call fail for which rule returns an error. Such a call is
// not performed, except that a failing Close closes. Rules add up; the first
// one that objects wins.
func (f *Fault) FailIf(rule func(Call) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = append(f.rules, rule)
}

// FailAt makes the n-th call fail with err.
func (f *Fault) FailAt(n int, err error) {
	f.FailIf(func(c Call) error {
		if c.N == n {
			return err
		}
		return nil
	})
}

// FailFrom makes the n-th and all later calls fail with err.
func (f *Fault) FailFrom(n int, err error) {
	f.FailIf(func(c Call) error {
		if c.N >= n {
			return err
		}
		return nil
	})
}

// CrashAfter performs the n-th call and then panics with a Crash; every later
// call fails with ErrCrashed.
func (f *Fault) CrashAfter(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = n
}

// Before has hook run before each call, in the caller's goroutine; it may
// block, and may use the wrapped file system itself.
func (f *Fault) Before(hook func(Call)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = hook
}

// After has hook run after each call, for instance to look at the crash states
// there without crashing.
func (f *Fault) After(hook func(Call)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.after = hook
}

// Calls returns the log.
func (f *Fault) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// do counts the call c and performs it as the rules allow.
func (f *Fault) do(c Call, run func() error) error {
	f.mu.Lock()
	if f.crashed {
		f.mu.Unlock()
		return ErrCrashed
	}
	c.N = len(f.calls) + 1
	f.calls = append(f.calls, c)
	rules, before, after, last := f.rules, f.before, f.after, c.N == f.last
	f.mu.Unlock()

	var err error
	for _, rule := range rules {
		if err = rule(c); err != nil {
			break
		}
	}
	if before != nil {
		before(c)
	}
	if err != nil && c.Op == "close" {
		_ = run() // the system closes a file even if it reports an error
	} else if err == nil {
		err = run()
	}
	if after != nil {
		after(c)
	}
	if last {
		f.mu.Lock()
		f.crashed = true
		f.mu.Unlock()
		panic(Crash{c})
	}
	return err
}

// faultFS is one file system that a Fault wraps.
type faultFS struct {
	fault *Fault
	inner FS
	root  string
}

func (s *faultFS) call(op, name, to string) Call {
	return Call{Op: op, Root: s.root, Name: name, To: to}
}

func (s *faultFS) Path(name string) string { return s.inner.Path(name) }

func (s *faultFS) OpenFile(name string, flag int, perm fs.FileMode) (file File, err error) {
	err = s.fault.do(s.call("open", name, ""), func() error {
		file, err = s.inner.OpenFile(name, flag, perm)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &faultFile{s, file, name}, nil
}

func (s *faultFS) Mkdir(name string, perm fs.FileMode) error {
	return s.fault.do(s.call("mkdir", name, ""), func() error { return s.inner.Mkdir(name, perm) })
}

func (s *faultFS) Link(oldname, newname string) error {
	return s.fault.do(s.call("link", oldname, newname), func() error { return s.inner.Link(oldname, newname) })
}

func (s *faultFS) Move(oldname, newname string) error {
	return s.fault.do(s.call("move", oldname, newname), func() error { return s.inner.Move(oldname, newname) })
}

func (s *faultFS) Rename(oldname, newname string) error {
	return s.fault.do(s.call("rename", oldname, newname), func() error { return s.inner.Rename(oldname, newname) })
}

func (s *faultFS) Remove(name string) error {
	return s.fault.do(s.call("remove", name, ""), func() error { return s.inner.Remove(name) })
}

func (s *faultFS) SyncDir(name string) error {
	return s.fault.do(s.call("syncdir", name, ""), func() error { return s.inner.SyncDir(name) })
}

func (s *faultFS) Lstat(name string) (fi fs.FileInfo, err error) {
	err = s.fault.do(s.call("lstat", name, ""), func() error {
		fi, err = s.inner.Lstat(name)
		return err
	})
	return fi, err
}

func (s *faultFS) ReadNames(name string) (names []string, err error) {
	err = s.fault.do(s.call("readnames", name, ""), func() error {
		names, err = s.inner.ReadNames(name)
		return err
	})
	return names, err
}

// faultFile is an open file of a faultFS.
type faultFile struct {
	fs    *faultFS
	inner File
	name  string
}

func (f *faultFile) do(op string, run func() error) error {
	return f.fs.fault.do(f.fs.call(op, f.name, ""), run)
}

// count is do for calls that return a number of bytes.
func (f *faultFile) count(op string, run func() (int, error)) (n int, err error) {
	err = f.do(op, func() error {
		n, err = run()
		return err
	})
	return n, err
}

func (f *faultFile) Read(p []byte) (int, error) {
	return f.count("read", func() (int, error) { return f.inner.Read(p) })
}

func (f *faultFile) ReadAt(p []byte, off int64) (int, error) {
	return f.count("read", func() (int, error) { return f.inner.ReadAt(p, off) })
}

func (f *faultFile) Write(p []byte) (int, error) {
	return f.count("write", func() (int, error) { return f.inner.Write(p) })
}

func (f *faultFile) WriteAt(p []byte, off int64) (int, error) {
	return f.count("write", func() (int, error) { return f.inner.WriteAt(p, off) })
}

func (f *faultFile) Stat() (fi fs.FileInfo, err error) {
	err = f.do("stat", func() error {
		fi, err = f.inner.Stat()
		return err
	})
	return fi, err
}

func (f *faultFile) TryLock() (held bool, err error) {
	err = f.do("lock", func() error {
		held, err = f.inner.TryLock()
		return err
	})
	return held, err
}

func (f *faultFile) Sync() error  { return f.do("sync", f.inner.Sync) }
func (f *faultFile) Close() error { return f.do("close", f.inner.Close) }
func (f *faultFile) Truncate(size int64) error {
	return f.do("truncate", func() error { return f.inner.Truncate(size) })
}
