package debt

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/vfs"
)

func noon() time.Time { return time.Date(2026, 5, 30, 12, 0, 0, 0, time.UTC) }

func after(d time.Duration) time.Time { return noon().Add(d) }

// message is the n-th message's id.
func message(n int) mail.ID {
	return mail.ID(fmt.Sprintf("2026-05-30T11-03-11-123Z-%04d-a1b2c3d4", n))
}

func owe(n int) policy.DebtEvent {
	return policy.DebtEvent{
		Op: policy.OpOwe, ID: message(n), Debtor: "a-1", Creditor: "a-2", Conversation: "conv-1",
		Due: after(time.Duration(n) * time.Hour), At: noon(),
	}
}

func event(op policy.DebtOp, n int, at time.Time) policy.DebtEvent {
	return policy.DebtEvent{Op: op, ID: message(n), Debtor: "a-1", At: at}
}

func add(t *testing.T, fsys vfs.FS, events ...policy.DebtEvent) (cut int64) {
	t.Helper()
	p, err := Append(fsys, events...)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Sync(); err != nil {
		t.Fatal(err)
	}
	return p.Cut
}

func load(t *testing.T, fsys vfs.FS) Book {
	t.Helper()
	b, err := Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func open(t *testing.T, fsys vfs.FS) []policy.Debt {
	t.Helper()
	return load(t, fsys).Open(policy.Settings{})
}

func write(t *testing.T, m *vfs.Mem, name, content string) {
	t.Helper()
	f, err := m.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	m.SyncAll()
}

func content(t *testing.T, fsys vfs.FS) string {
	t.Helper()
	b, err := readLedger(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
