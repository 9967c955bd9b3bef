package main

import (
	"errors"
	"fmt"
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
	middle, edge, err := b.hooks(dir)
	if err != nil {
		return err
	}
	if err := interleave(rounds, empty, hello, check, version, middle, edge); err != nil {
		return err
	}
	b.atMost("hook between tool calls, no mail, nothing changed", ms(middle.median()), "Go hello "+ms(hello.median()), over(middle, hello), 1.35)
	b.atMost("hook at begin or end of a turn, no mail, presence written", ms(edge.median()), "Go hello "+ms(hello.median()), over(edge, hello), 1.35)
	b.atMost("hook at begin or end of a turn, no mail, presence written", ms(edge.median()), "/bin/true "+ms(empty.median()), over(edge, empty), 3)
	b.atMost("inbox check, no mail", ms(check.median()), "Go hello "+ms(hello.median()), over(check, hello), 1.35)
	b.atMost("inbox check, no mail", ms(check.median()), "/bin/true "+ms(empty.median()), over(check, empty), 3)
	b.note("post version", ms(version.median()), "Go hello "+ms(hello.median()), over(version, hello))
	return b.sends(dir, rounds)
}

// hooks are calls of Claude Code's hooks: between two tool calls, where nothing
// is new since the last, in a session that is a0; and the end and the begin of a
// turn, by turns, in a session that is a1, which write presence.json each time
// and look for everybody's mail.
func (b *bench) hooks(dir string) (middle, edge *side, err error) {
	err = errors.Join(b.bind(dir, "claude", "s0", 0), b.bind(dir, "claude", "s1", 1))
	middle = b.hookCalls("s0", "PostToolBatch")
	return middle, b.hookCalls("s1", "UserPromptSubmit", "Stop"), err
}

// hookCalls is a side that fires events of a session of Claude Code, one a round.
func (b *bench) hookCalls(session string, events ...string) *side {
	return &side{do: func(round int) (time.Duration, error) {
		event := events[round%len(events)]
		name := filepath.Join(b.dir, session+event+".json")
		text := `{"session_id":"` + session + `","cwd":"/","hook_event_name":"` + event + `","prompt":"go"}`
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return 0, err
		}
		f, err := os.Open(name)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		return b.timed(f, b.post, "hook", "claude")
	}}
}

// bind makes a session of a runtime agent i.
func (b *bench) bind(office, runtime, session string, i int) error {
	env := map[string]string{}
	for _, kv := range b.env() {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	user := config.UserFrom(func(k string) string { return env[k] })
	return user.BindSession(identity.SessionKeyOf(runtime, session), config.Binding{Office: office, Agent: aid(i), Name: fmt.Sprintf("a%d", i)})
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
