package spool_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// holds is a lease that somebody has, and the office that it is of.
func holds(t *testing.T) (*vfs.Real, *spool.Lease) {
	t.Helper()
	fsys, err := vfs.OpenReal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fsys.Close() })
	lease, err := spool.AcquireLease(fsys, spool.Holder{PID: 1})
	if err != nil {
		t.Fatal(err)
	}
	return fsys, lease
}

func await(t *testing.T, fsys vfs.FS) *spool.LeaseWait {
	t.Helper()
	w := spool.AwaitLease(fsys)
	if w == nil {
		t.Skip("no lock that waits here")
	}
	return w
}

// free waits for what must come.
func free(t *testing.T, w *spool.LeaseWait) {
	t.Helper()
	select {
	case <-w.Free():
	case <-time.After(20 * time.Second):
		t.Fatal("the lease is free and nobody is told")
	}
}

func busy(t *testing.T, fsys vfs.FS) {
	t.Helper()
	if l, err := spool.AcquireLease(fsys, spool.Holder{PID: 3}); mail.KindOf(err) != mail.KindBusy {
		t.Errorf("a second lease: %v %v", l, err)
	}
}

// TestAwaitLease: who waits is told when the lease is given back, and nobody else
// has it then.
func TestAwaitLease(t *testing.T) {
	t.Parallel()
	fsys, first := holds(t)
	w := await(t, fsys)
	select {
	case <-w.Free():
		t.Fatal("free while it is held")
	default:
	}
	first.Release()
	free(t, w)
	busy(t, fsys)
	second, err := w.Take(spool.Holder{PID: 2})
	if err != nil {
		t.Fatal(err)
	}
	busy(t, fsys)
	if h, ok := spool.ReadHolder(fsys); !ok || h.PID != 2 {
		t.Errorf("signed by %+v", h)
	}
	second.Release()
	if l, err := spool.AcquireLease(fsys, spool.Holder{PID: 4}); err != nil {
		t.Error(err)
	} else {
		l.Release()
	}
}

// TestAwaitLeaseLeft: who has left holds nothing, whether it was told or not.
func TestAwaitLeaseLeft(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{true, false} {
		fsys, first := holds(t)
		w := await(t, fsys)
		if !told {
			w.Leave()
		}
		first.Release()
		free(t, w)
		if told {
			w.Leave()
		}
		if l, err := spool.AcquireLease(fsys, spool.Holder{PID: 5}); err != nil {
			t.Errorf("told %v: %v", told, err)
		} else {
			l.Release()
		}
		if l, err := w.Take(spool.Holder{PID: 6}); mail.KindOf(err) != mail.KindBusy {
			t.Errorf("taken by who had left: %v %v", l, err)
		}
	}
}

// TestAwaitLeaseReplaced: a lease file that nobody can find any more makes no
// router.
func TestAwaitLeaseReplaced(t *testing.T) {
	t.Parallel()
	fsys, first := holds(t)
	w := await(t, fsys)
	name := filepath.Join(fsys.Path("."), spool.LeaseFile)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	busy(t, fsys) // by the office's directory
	first.Release()
	free(t, w)
	if l, err := w.Take(spool.Holder{PID: 2}); mail.KindOf(err) != mail.KindBusy {
		t.Errorf("a lease on a file without a name: %v %v", l, err)
	}
	if l, err := spool.AcquireLease(fsys, spool.Holder{PID: 3}); err != nil {
		t.Error(err)
	} else {
		l.Release()
	}
}
