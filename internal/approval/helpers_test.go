package approval

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/vfs"
)

func noon() time.Time { return time.Date(2026, 5, 30, 12, 0, 0, 0, time.UTC) }

// office returns an empty, durable office.
func office(t *testing.T) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem(noon)
	if err := Prepare(m); err != nil {
		t.Fatal(err)
	}
	m.SyncAll()
	return m
}

const (
	msgA mail.ID = "2026-05-30T11-03-11-123Z-0004-a1b2c3d4"
	msgB mail.ID = "2026-05-30T11-04-11-123Z-0000-0a0b0c0d"
)

func question(id mail.ID) *Approval {
	return &Approval{
		Kind: policy.Question, Message: id, Digest: mail.Digest(strings.Repeat("ab", 32)),
		Asker: "coder", AskerAID: "a-1", AddressedTo: "human", Conversation: "conv-1",
		Subject: "Deploy?", Body: "Shall I deploy <it> & go home?", Options: []string{"Yes", "No, wait", "Not today"},
		Why: "coder needs a person's answer (query)", AskKey: "k1",
		Created: noon(), Expires: noon().Add(time.Hour),
	}
}

func release(id mail.ID) *Approval {
	a := question(id)
	a.Kind, a.Options, a.AskKey = policy.Release, []string{Deliver, Stop}, ""
	a.Chain = []Step{{At: noon(), From: "coder", To: "tester", Act: mail.Request, Subject: "x", ID: msgB}}
	return a
}

func notice(id mail.ID) *Approval {
	a := question(id)
	a.Kind, a.Options, a.AskKey, a.Expires = policy.Notice, nil, "", time.Time{}
	return a
}

// create puts a before a person, durably.
func create(t *testing.T, fsys vfs.FS, a *Approval) string {
	t.Helper()
	created, err := Create(fsys, a)
	if err != nil || !created {
		t.Fatalf("Create: %v, %v", created, err)
	}
	if err := SyncDir(fsys); err != nil {
		t.Fatal(err)
	}
	return a.ID
}

func by(who, choice string) Decision {
	return Decision{Choice: choice, By: who, At: noon().Add(time.Minute)}
}

func wantKind(t *testing.T, err error, kind mail.Kind) {
	t.Helper()
	if mail.KindOf(err) != kind {
		t.Fatalf("error %v is of kind %q, want %q", err, mail.KindOf(err), kind)
	}
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
