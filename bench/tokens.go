package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A token has at least so many bytes: in a word with a digit, such as an id or a
// time, and in all other text. docs/bench.md says what this was compared with.
const (
	perTokenOfIDs  = 1.5
	perTokenOfText = 3.5
)

// counted is how much of one thing reaches a model.
type counted struct {
	what, runtime string // the runtime is "" for what is the same for all
	size
	limit int // in tokens; -1 is none
}

// size is how long texts are; ids is the part of words with a digit.
type size struct{ bytes, ids int }

func sizeOf(text string) size {
	s := size{bytes: len(text)}
	for _, w := range strings.FieldsFunc(text, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		if strings.ContainsAny(w, "0123456789") {
			s.ids += len(w)
		}
	}
	return s
}

func (s size) plus(t size) size { return size{s.bytes + t.bytes, s.ids + t.ids} }

// tokens is how many tokens it is at most.
func (s size) tokens() int {
	return int(math.Ceil(float64(s.ids)/perTokenOfIDs + float64(s.bytes-s.ids)/perTokenOfText))
}

// tokens counts what reaches a model, from what our programs print.
func tokens(b *bench) error {
	dir, _, err := b.makeOffice("tokens", len(callers())+2)
	if err != nil {
		return err
	}
	// Some texts hold the path of post, so it is about as long as one in a home.
	place, err := os.MkdirTemp("/tmp", "post")
	if err != nil {
		return err
	}
	defer os.RemoveAll(place)
	c := &counting{bench: b, office: dir, program: filepath.Join(place, "post")}
	for from, to := range map[string]string{b.post: c.program, b.postd: c.program + "d"} {
		if out, err := exec.Command("cp", from, to).CombinedOutput(); err != nil {
			return fmt.Errorf("copy %s: %w: %s", from, err, out)
		}
	}
	for i, r := range callers() {
		if err := c.session(r, i+1); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return errors.Join(c.commands(fmt.Sprintf("a%d", len(callers())+1)), c.schemas())
}

// counting is one count.
type counting struct {
	*bench
	office, program string
}

// caller is a coding CLI as its hooks call us: its payload, and what it calls
// the events of a session.
type caller struct {
	name, form               string
	start, turn, middle, end string
}

func callers() []caller {
	const claudeLike = `{"session_id":"s0","cwd":"/","hook_event_name":%q,"prompt":"go"}`
	return []caller{
		{"claude", claudeLike, "SessionStart", "UserPromptSubmit", "PostToolBatch", "Stop"},
		{"codex", claudeLike, "SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"},
		{"gemini", claudeLike, "SessionStart", "BeforeAgent", "AfterTool", "AfterAgent"},
		{"qwen", claudeLike, "SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"},
		{"copilot", `{"sessionId":"s0","cwd":"/","prompt":"go"}`, "sessionStart", "userPromptSubmitted", "postToolUse", "agentStop"},
		{"opencode", `{"session":"s0","cwd":"/","event":%q,"prompt":"go"}`, "session.start", "turn.start", "turn.middle", "turn.stop"},
	}
}

// session counts what a session of a coding CLI is told by its hooks. It is
// agent i.
func (c *counting) session(r caller, i int) error {
	if err := c.bind(c.office, r.name, "s0", i); err != nil {
		return err
	}
	agent := fmt.Sprintf("a%d", i)
	for _, step := range []struct {
		what   string
		mail   int // messages that come before it
		events []string
		share  int // the text is of so many; the figure is of one
	}{
		{"session start, no mail", 0, []string{r.start, r.turn}, 0}, // the turn, for Qwen Code is greeted there
		{"a turn without mail: prompt, 3 tool calls, stop", 0, []string{r.turn, r.middle, r.middle, r.middle, r.end}, 0},
		{"one message, at a prompt", 1, []string{r.turn}, 0},
		{"each further one at the same prompt", 11, []string{r.turn}, 10},
		{"one message, in the middle of a turn", 1, []string{r.middle}, 0},
	} {
		for n := range step.mail {
			if _, err := c.command(c.program, sendText(c.office, agent, fmt.Sprint(step.what, n))...); err != nil {
				return err
			}
		}
		var text size
		for _, event := range step.events {
			said, err := c.hooked(r, event)
			if err != nil {
				return fmt.Errorf("%s: %w", event, err)
			}
			text = text.plus(sizeOf(said))
		}
		row := counted{step.what, r.name, text, -1}
		switch {
		case step.share > 0:
			one := c.counts[len(c.counts)-1].size
			row.size = size{(text.bytes - one.bytes) / step.share, (text.ids - one.ids) / step.share}
		case step.mail == 0 && len(step.events) > 2:
			row.limit = 0
		case text.bytes == 0:
			return fmt.Errorf("%s: nothing was said", step.what)
		}
		c.counts = append(c.counts, row)
	}
	return nil
}

// sendText are the arguments that send a request.
func sendText(office, to, text string) []string {
	return []string{"send", to, "--as", "a0", "--act", "request", "-s", "Review the retry loop", "-m", text, "--office", office}
}

// hooked is what a hook says to the model.
func (c *counting) hooked(r caller, event string) (string, error) {
	args, payload := []string{"hook", r.name}, r.form
	if strings.Contains(payload, "%q") {
		payload = fmt.Sprintf(payload, event)
	} else {
		args = append(args, event)
	}
	cmd := exec.Command(c.program, args...)
	cmd.Env, cmd.Dir, cmd.Stdin = c.onPath(), c.dir, strings.NewReader(payload)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || errs.Len() > 0 {
		return "", fmt.Errorf("exit %v: %s", err, errs.String())
	}
	if out.Len() == 0 {
		return "", nil
	}
	var answer any
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return "", err
	}
	said := spoken(answer)
	if said == "" {
		return "", fmt.Errorf("no text in %s", out.String())
	}
	return said, nil
}

// onPath is the environment of somebody who has post on PATH.
func (c *counting) onPath() []string {
	return append(c.env(), "PATH="+filepath.Dir(c.program)+":"+os.Getenv("PATH"))
}

// spoken is the text of an answer that its runtime puts before the model.
func spoken(v any) (said string) {
	fields, _ := v.(map[string]any)
	for name, f := range fields {
		switch text, ok := f.(string); {
		case !ok:
			said += spoken(f)
		case name == "additionalContext" || name == "reason" || name == "context" || name == "continue" || name == "wake":
			said += text
		}
	}
	return said
}

// commands counts what an agent reads when it uses post.
func (c *counting) commands(agent string) error {
	const body = "x"
	for _, step := range []struct {
		what  string
		args  []string
		limit int
	}{
		{"post primer", []string{"primer"}, 700},
		{"post inbox, no mail", []string{"inbox"}, -1},
		{"", sendText(c.office, agent, body), -1},
		{"post send: what the sender reads", append(sendText(c.office, agent, "y"), "--again"), -1},
		{"post inbox, two messages", []string{"inbox"}, -1},
		{"post read: all but the text", []string{"read", "next"}, -1},
	} {
		args := step.args
		if args[0] != "send" && args[0] != "primer" {
			args = append(args, "--as", agent, "--office", c.office)
		}
		out, err := c.command(c.program, args...)
		if err != nil {
			return err
		}
		if step.what != "" {
			c.counts = append(c.counts, counted{step.what, "", sizeOf(out), step.limit})
		}
	}
	return nil
}

// schemas counts what an MCP client shows to its model at every turn.
func (c *counting) schemas() error {
	cmd := exec.Command(c.program, "mcp", "--as", "a0", "--office", c.office)
	cmd.Env, cmd.Dir, cmd.Stderr = c.env(), c.dir, c.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait()
	defer in.Close()
	answers := json.NewDecoder(out)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"0"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
	} {
		if _, err := fmt.Fprintln(in, line); err != nil {
			return err
		}
	}
	var total size
	for range 2 {
		var a struct {
			Result struct {
				Instructions string
				Tools        json.RawMessage
			}
		}
		if err := answers.Decode(&a); err != nil {
			return fmt.Errorf("post mcp: %w", err)
		}
		if a.Result.Instructions == "" && a.Result.Tools == nil {
			return errors.New("post mcp: neither instructions nor tools")
		}
		total = total.plus(sizeOf(a.Result.Instructions)).plus(sizeOf(string(a.Result.Tools)))
	}
	c.counts = append(c.counts, counted{"post mcp: tools/list and instructions", "", total, 2500})
	return nil
}
