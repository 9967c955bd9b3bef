package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/postroom/postroom/internal/presence"
)

// KindQwen is the kind of agents that are sessions of Qwen Code started with
// --input-file.
const KindQwen = "qwen"

// Qwen appends a prompt to the file in Notify[1], which the session was started
// with (--input-file). What is appended while a turn runs is dropped by the
// session, so it is done only when its hooks say idle, and counts only when they
// say that a turn began.
type Qwen struct{}

// Kind returns KindQwen.
func (Qwen) Kind() string { return KindQwen }

// Check accepts the path of the input file.
func (Qwen) Check(args []string) ([]string, error) {
	if len(args) != 1 || !filepath.IsAbs(args[0]) || !clean(args[0]) {
		return nil, usage(KindQwen, "needs the file that the session was started with",
			"write qwen:/absolute/path, and start qwen --input-file /absolute/path")
	}
	return args, nil
}

// Notify implements Adapter.
func (Qwen) Notify(ctx context.Context, agent Agent, p Pointer) (Outcome, error) {
	if err := p.Check(); err != nil {
		return Fail(KindQwen, agent, err.Error(), "")
	}
	if args, err := (Qwen{}).Check(agent.Args()); err != nil || len(args) != 1 {
		return Fail(KindQwen, agent, "no input file is registered", "join again with --notify qwen:/absolute/path")
	}
	s := agent.Session
	if why := notLive(KindQwen, s); why != "" {
		return Fail(KindQwen, agent, why, "start qwen --input-file "+agent.Args()[0]+" in "+orThere(agent.Workspace))
	}
	if why := idle(s); why != "" {
		return Outcome{Held, line("qwen: "+why, evidenceMax)}, nil
	}
	start := time.Now()
	if ctx.Err() != nil {
		return Fail(KindQwen, agent, overdue(ctx, start), "")
	}
	if err := appendPrompt(agent.Args()[0], announcement(p)); err != nil {
		return Fail(KindQwen, agent, "its input file: "+err.Error(), "start qwen --input-file with that file")
	}
	for ; ctx.Err() == nil; pause(ctx, claudePoll) {
		if agent.Look == nil {
			continue
		}
		if now := agent.Look(); now != nil && now.ID == s.ID && now.State == presence.Busy && !now.At.Before(start) {
			return Outcome{Notified, fmt.Sprintf("qwen: its input file took it, and a turn began within %v",
				time.Since(start).Round(10*time.Millisecond))}, nil
		}
	}
	return Outcome{Pending, line("qwen: written to its input file, but no turn began ("+overdue(ctx, start)+")", evidenceMax)}, nil
}

// appendPrompt adds one line to a regular file that is there.
func appendPrompt(path, text string) error {
	fi, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !fi.Mode().IsRegular() {
		return errors.New("is no regular file")
	}
	data, err := json.Marshal(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{"submit", text})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	n, err := f.Write(append(data, '\n'))
	if err == nil && n < len(data)+1 {
		err = io.ErrShortWrite
	}
	return errors.Join(err, f.Close())
}
