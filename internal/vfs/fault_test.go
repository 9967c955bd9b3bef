package vfs_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	. "github.com/postroom/postroom/internal/vfs"
)

// store is a small program whose every call can be made to fail.
func store(s FS) error {
	f, err := s.OpenFile(".tmp", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer s.Remove(".tmp")
	_, err = f.Write([]byte("mail"))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := s.Link(".tmp", "id"); err != nil {
		return err
	}
	return s.SyncDir(".")
}

const storeCalls = 7

func TestFaultLog(t *testing.T) {
	t.Parallel()
	var fault Fault
	must(t, store(fault.Wrap(newMem())))
	want := "[1 open .tmp 2 write .tmp 3 sync .tmp 4 close .tmp 5 link .tmp id 6 syncdir . 7 remove .tmp]"
	if got := fmt.Sprint(fault.Calls()); got != want {
		t.Fatalf("calls %s, want %s", got, want)
	}
}

func TestFaultFail(t *testing.T) {
	t.Parallel()
	boom := errors.New("no space left")
	for n := 1; n <= storeCalls; n++ {
		var at, from Fault
		at.FailAt(n, boom)
		from.FailFrom(n, boom)
		err := store(at.Wrap(newMem()))
		if n < storeCalls { // the last one is a deferred clean-up
			wantErr(t, err, boom)
		}
		m := newMem()
		_ = store(from.Wrap(m))
		if _, err := m.Lstat("id"); (err == nil) != (n > 5) {
			t.Fatalf("failing from call %d: %v", n, err)
		}
	}
}

func TestFaultCloseStillCloses(t *testing.T) {
	t.Parallel()
	m := newMem()
	var fault Fault
	fault.FailIf(func(c Call) error {
		if c.Op == "close" {
			return os.ErrDeadlineExceeded
		}
		return nil
	})
	f := open(t, fault.Wrap(m), "lease", os.O_RDWR|os.O_CREATE)
	_, err := f.TryLock()
	must(t, err)
	wantErr(t, f.Close(), os.ErrDeadlineExceeded)
	if held, err := open(t, m, "lease", os.O_RDWR).TryLock(); !held || err != nil {
		t.Fatalf("still locked: %v, %v", held, err)
	}
}

// After the crash nothing changes any more, deferred clean-up included.
func TestFaultCrash(t *testing.T) {
	t.Parallel()
	m := newMem()
	var fault Fault
	fault.CrashAfter(5)
	s := fault.Wrap(m)
	if !Crashed(func() { _ = store(s) }) {
		t.Fatal("no crash")
	}
	wantContent(t, m, ".tmp", "mail")
	wantErr(t, s.Remove(".tmp"), ErrCrashed)
	if got := len(fault.Calls()); got != 5 {
		t.Fatalf("%d calls", got)
	}
	defer func() {
		if r := recover(); r != "other" {
			t.Fatalf("panic %v", r)
		}
	}()
	Crashed(func() { panic("other") })
}

// A test can stop a holder before any call, and look after any.
func TestFaultHooks(t *testing.T) {
	t.Parallel()
	m := newMem()
	var fault Fault
	stopped, resume := make(chan Call), make(chan bool)
	fault.Before(func(c Call) {
		if c.Op == "link" {
			stopped <- c
			<-resume
		}
	})
	var states []string
	fault.After(func(c Call) {
		if c.Edits() {
			n := 0
			for range m.CrashStates(limit) {
				n++
			}
			states = append(states, fmt.Sprint(c.Op, n))
		}
	})
	done := make(chan error)
	go func() { done <- store(fault.Wrap(m)) }()
	if c := <-stopped; c.String() != "5 link .tmp id" {
		t.Errorf("stopped at %v", c)
	}
	must(t, put(m, "id", "somebody else's"))
	resume <- true
	wantErr(t, <-done, os.ErrExist)
	if got := strings.Join(states, " "); got != "open2 write5 sync2 link4 remove4" {
		t.Fatalf("states %s", got)
	}
}
