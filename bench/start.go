package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/identity"
)

// starts measures what everybody pays all day: a check that finds nothing, and
// one message.
func starts(b *bench) error {
	dir, _, err := b.makeOffice("start", 2)
	if err != nil {
		return err
	}
	nothing, err := exec.LookPath("true")
	if err != nil {
		return err
	}
	rounds := max(b.rounds, cheap)
	empty, hello := b.process(nothing, always()), b.process(b.hello, always())
	check := b.process(b.post, always("inbox", "-q", "--as", "a0", "--office", dir))
	version := b.process(b.post, always("version"))
	hook, err := b.hookCall(dir, "PostToolBatch")
	if err != nil {
		return err
	}
	if err := interleave(rounds, empty, hello, check, version, hook); err != nil {
		return err
	}
	b.atMost("hook between tool calls, no mail", ms(hook.median()), "Go hello "+ms(hello.median()), over(hook, hello), 1.35)
	b.atMost("inbox check, no mail", ms(check.median()), "Go hello "+ms(hello.median()), over(check, hello), 1.35)
	b.atMost("inbox check, no mail", ms(check.median()), "/bin/true "+ms(empty.median()), over(check, empty), 3)
	b.note("post version", ms(version.median()), "Go hello "+ms(hello.median()), over(version, hello))
	return b.sends(dir, rounds)
}

// hookCall is one call of a hook of Claude Code in a session that is a0.
func (b *bench) hookCall(dir, event string) (*side, error) {
	env := map[string]string{}
	for _, kv := range b.env() {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	user := config.UserFrom(func(k string) string { return env[k] })
	if err := user.BindSession(identity.SessionKeyOf("claude", "s0"), config.Binding{Office: dir, Agent: aid(0), Name: "a0"}); err != nil {
		return nil, err
	}
	name := filepath.Join(b.dir, event+".json")
	err := os.WriteFile(name, []byte(`{"session_id":"s0","cwd":"/","hook_event_name":"`+event+`"}`), 0o600)
	return &side{do: func(int) (time.Duration, error) {
		f, err := os.Open(name)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		return b.timed(f, b.post, "hook", "claude")
	}}, err
}

// sends measures post send, to an agent that needs no waking, against a process
// that puts one durable file into a directory.
func (b *bench) sends(dir string, rounds int) error {
	file, err := b.bodyFile()
	if err != nil {
		return err
	}
	ref, err := b.reference("start-ref")
	if err != nil {
		return err
	}
	send := b.process(b.post, always(sendArgs(dir, "a0", "a1", file)...))
	if err := interleave(rounds, ref, send); err != nil {
		return err
	}
	b.atMost("post send", ms(send.median()), "reference sender "+ms(ref.median()), over(send, ref), 1.4)
	return nil
}

// over is how many times as long a took as ref, by their medians.
func over(a, ref *side) float64 { return a.median().Seconds() / ref.median().Seconds() }
