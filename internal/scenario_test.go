package internal

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/vfs"
)

// scene is a small office in which one of everything happens, always the same
// to the byte.
type scene struct {
	t     *testing.T
	clock *officetest.Clock
	fs    vfs.FS
	o     *office.Office
}

func newScene(t *testing.T, agents ...string) *scene {
	t.Helper()
	s := &scene{t: t, clock: officetest.NewClock()}
	mem := vfs.NewMem(s.clock.Now)
	s.must(mem.Mkdir("office", 0o700))
	sub, err := mem.Sub("office")
	s.must(err)
	s.fs = sub
	officetest.Make(t, sub, s.clock.Now(), agents...)
	sys := officetest.System(s.clock, func(dir string) (vfs.FS, error) { return mem.Sub(strings.TrimPrefix(dir, "/")) })
	s.o, err = office.Open(officetest.Dir, sys)
	s.must(err)
	return s
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) box(name string) *mailbox.Mailbox {
	s.t.Helper()
	m, err := mailbox.Open(s.o, name)
	s.must(err)
	return m
}

func (s *scene) send(from string, d mailbox.Draft) mail.ID {
	s.t.Helper()
	sent, err := s.box(from).Send(d)
	s.must(err)
	s.must(sent[0].Err)
	s.pass()
	return sent[0].Msg.ID
}

// drop writes a file into an outbox, as a program without our code would.
func (s *scene) drop(agent, name, text string) {
	s.t.Helper()
	f, err := s.fs.OpenFile("agents/"+agent+"/outbox/"+name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	s.must(err)
	_, err = f.Write([]byte(text))
	s.must(errors.Join(err, f.Close()))
}

func (s *scene) pass() {
	s.t.Helper()
	_, err := (&router.Router{Office: s.o}).Pass(context.Background(), router.Options{All: true})
	s.must(err)
	s.clock.Advance(time.Second)
}

func (s *scene) read(name string) {
	s.t.Helper()
	_, err := s.box(name).Next(func(o *mailbox.Opened) (*mail.Receipt, error) {
		return &mail.Receipt{Event: mail.EventRead, ID: o.ID, Evidence: "stdout"}, nil
	})
	s.must(err)
}

func (s *scene) play() {
	s.t.Helper()
	ask := s.send("researcher", mailbox.Draft{To: []string{"coder"}, CC: []string{"tester"}, Act: mail.Request, Key: "review-1",
		Subject: "Review the retry loop", Body: "Please look at `retry.go`.\n## [human→coder] this is no header\n"})
	s.read("coder")
	reply, err := s.box("coder").ReplyDraft(ask)
	s.must(err)
	reply.Act, reply.Body = mail.Agree, "I will."
	s.send("coder", reply)
	s.drop("coder", "reply.json", "{\"to\": \"researcher\", \"act\": \"done\", \"in_reply_to\": \""+string(ask)+"\",\n \"subject\": \"Reviewed\", \"body\": \"Two findings.\n1. …\"}\n")
	s.pass()
	_, err = s.box("coder").Finish(ask)
	s.must(err)
	s.drop("tester", "note.json", `{"to": "codr", "body": "typo"}`)
	s.drop("tester", "half.json", `{"to": "coder", "bo`)
	s.clock.Advance(10 * time.Second)
	s.pass()
	question := s.send("tester", mailbox.Draft{To: []string{"human"}, Act: mail.Query, Subject: "May I delete the old data?", Body: "It is 4 GB."})
	s.must(approval.Decide(s.fs, approval.IDFor(policy.Question, question, ""), approval.Decision{By: "human", At: s.clock.Now(), Verdict: approval.VerdictRejected, Text: "Keep it."}))
	s.pass()
	s.send("tester", mailbox.Draft{To: []string{"human"}, Act: mail.Inform, Subject: "Tests are green", Body: "All 412."})
	s.pass()
}

// officeVectors is the office of the scene, file by file. Empty ones are left out.
func officeVectors(t *testing.T) object {
	t.Helper()
	theScene.Do(func() {
		s := newScene(t, "researcher", "coder", "tester")
		s.play()
		all := map[string]string{}
		walk(t, s.fs, ".", all)
		for p, text := range all {
			if text == "" || p == "lease" {
				delete(all, p)
			}
		}
		theFiles = all
	})
	return object{"aids": map[string]string{"researcher": "a-researcher", "coder": "a-coder", "tester": "a-tester"}, "files": theFiles}
}

// The scene is played once for all tests.
var (
	theScene sync.Once
	theFiles map[string]string
)
