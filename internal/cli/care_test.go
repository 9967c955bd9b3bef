package cli

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/router"
)

// TestCareScripts are doctor and verify, in offices with mail in them.
func TestCareScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/care",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir+"/home")
			env.Setenv("USERPROFILE", env.WorkDir+"/home")
			env.Setenv("W", env.WorkDir)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "mail": mailFor, "replace": replaceIn},
	})
}

// mailFor FROM TO TEXT sends a message in the office $D and routes it.
func mailFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: mail FROM TO TEXT")
	}
	o, err := office.Open(ts.Getenv("D"), SystemEnv("0.0.0-test").System)
	ts.Check(err)
	m, err := mailbox.Open(o, args[0])
	ts.Check(err)
	sent, err := m.Send(mailbox.Draft{To: []string{args[1]}, Act: mail.Inform, Subject: args[2], Body: args[2]})
	ts.Check(err)
	ts.Check(sent[0].Err)
	_, err = (&router.Router{Office: o}).Pass(context.Background(), router.Options{All: true})
	ts.Check(err)
}

// replaceIn OLD NEW FILE changes a file's text without changing what is linked
// to it.
func replaceIn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace OLD NEW FILE")
	}
	file := ts.MkAbs(args[2])
	text := ts.ReadFile(file)
	changed := strings.Replace(text, args[0], args[1], 1)
	if changed == text {
		ts.Fatalf("%s does not hold %s", file, args[0])
	}
	ts.Check(os.Remove(file))
	ts.Check(os.WriteFile(file, []byte(changed), 0o600))
}
