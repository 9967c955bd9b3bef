// Package acptest is an agent that speaks the Agent Client Protocol and does what
// a test tells it, by files in a directory. A test binary becomes it.
//
// What it did is in files of that directory, one line each: starts (its process
// ids), opened (new ID, load ID), prompts (their text), answers (to its
// questions), faults (what no agent should ever see: two prompts at once).
package acptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Word is the argument that makes a test binary the agent; the directory follows.
const Word = "acp-agent"

// Main is the agent, if the arguments of this process say so; then it does not
// return.
func Main() {
	if len(os.Args) >= 3 && os.Args[1] == Word {
		a := &agent{dir: os.Args[2], out: os.Stdout, answers: map[string]chan json.RawMessage{}}
		a.run(os.Stdin)
	}
}

// The words that a test may say, by making a file of that name (Dir.Say).
const (
	Hold      = "hold"      // turns wait until it is gone
	Silent    = "silent"    // turns show nothing before they end
	Hang      = "hang"      // prompts are never answered, and nothing is shown
	Refuse    = "refuse"    // prompts are answered with an error
	Crash     = "crash"     // once, the process ends in the middle of a turn
	Ask       = "ask"       // turns ask for a permission; the file has the tool call
	Mute      = "mute"      // initialize is never answered
	NoLoad    = "noload"    // sessions can't be loaded
	LoadDies  = "loaddies"  // the process ends when it is to load one
	LateTales = "latetales" // history is replayed after the answer
	Flood     = "flood"     // turns write a great deal, garbage among it
	Garbage   = "garbage"   // the first output is no message
	Deaf      = "deaf"      // it does not end when it is asked to
	Child     = "child"     // it starts a process that sleeps
	Dies      = "dies"      // it ends at once
	Login     = "login"     // sessions want a login
	Nag       = "nag"       // it asks without end, and reads no answer
)

type agent struct {
	dir string
	mu  sync.Mutex
	out io.Writer

	asking  sync.Mutex
	answers map[string]chan json.RawMessage
	asked   int
	session string
}

func (a *agent) is(word string) bool {
	_, err := os.Lstat(filepath.Join(a.dir, word))
	return err == nil
}

func (a *agent) note(file, line string) {
	f, err := os.OpenFile(filepath.Join(a.dir, file), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		fmt.Fprintln(f, strings.ReplaceAll(line, "\n", " "))
		f.Close()
	}
}

func (a *agent) raw(s string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	io.WriteString(a.out, s)
}

func (a *agent) send(v map[string]any) {
	v["jsonrpc"] = "2.0"
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	a.raw(string(data) + "\n")
}

func (a *agent) update(kind, text string) {
	a.send(map[string]any{"method": "session/update", "params": map[string]any{"sessionId": a.session,
		"update": map[string]any{"sessionUpdate": kind, "content": map[string]any{"type": "text", "text": text}}}})
}

type message struct {
	ID     json.RawMessage
	Method string
	Params struct {
		SessionID string
		Prompt    []struct{ Text string }
	}
	Result json.RawMessage
}

func (a *agent) run(in io.Reader) {
	a.note("starts", strconv.Itoa(os.Getpid()))
	a.note("env", os.Getenv("POSTROOM_AGENT")+" "+os.Getenv("POSTROOM_WORKER")+" "+os.Getenv("POSTROOM_OFFICE"))
	if a.is(Dies) {
		fmt.Fprintln(os.Stderr, "cannot go on")
		os.Exit(7)
	}
	if a.is(Deaf) {
		signal.Ignore(syscall.SIGTERM)
	}
	if a.is(Child) {
		p, err := os.StartProcess("/bin/sleep", []string{"sleep", "600"}, &os.ProcAttr{})
		if err == nil {
			a.note("children", strconv.Itoa(p.Pid))
		}
	}
	if a.is(Garbage) {
		a.raw("Welcome to the agent!\n{\"half\": \n\x00\xff\n[1,2]\n{}\n")
	}
	lines := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var m message
		if json.Unmarshal(line, &m) == nil {
			a.take(m)
		}
	}
	for a.is(Deaf) {
		time.Sleep(10 * time.Millisecond)
	}
	os.Exit(0)
}

func (a *agent) reply(id json.RawMessage, result any) {
	a.send(map[string]any{"id": id, "result": result})
}

func (a *agent) fail(id json.RawMessage, code int, text string) {
	a.send(map[string]any{"id": id, "error": map[string]any{"code": code, "message": text}})
}

func (a *agent) take(m message) {
	switch m.Method {
	case "":
		a.asking.Lock()
		if c := a.answers[string(m.ID)]; c != nil {
			c <- m.Result
		}
		a.asking.Unlock()
	case "initialize":
		if !a.is(Mute) {
			a.reply(m.ID, map[string]any{"protocolVersion": 1, "agentInfo": map[string]any{"name": "fake", "version": "1"},
				"agentCapabilities": map[string]any{"loadSession": true}, "authMethods": []any{}})
		}
	case "session/new":
		if a.is(Login) {
			a.fail(m.ID, -32000, "Authentication required")
			return
		}
		a.session = "s-" + strconv.Itoa(os.Getpid())
		a.note("opened", "new "+a.session)
		a.reply(m.ID, map[string]any{"sessionId": a.session})
	case "session/load":
		a.load(m)
	case "session/prompt":
		a.note("prompts", m.Params.Prompt[0].Text)
		go a.turn(m)
	case "session/cancel":
		a.note("cancels", a.session)
	default:
		if m.ID != nil {
			a.fail(m.ID, -32601, "Method not found")
		}
	}
}

func (a *agent) load(m message) {
	if a.is(LoadDies) {
		os.Exit(9)
	}
	if a.is(NoLoad) {
		a.fail(m.ID, -32603, "Internal error")
		return
	}
	a.session = m.Params.SessionID
	a.note("opened", "load "+a.session)
	tell := func() {
		a.update("user_message_chunk", "you said before")
		a.update("agent_message_chunk", "I said before")
	}
	if a.is(LateTales) {
		go func() {
			time.Sleep(40 * time.Millisecond)
			tell()
		}()
	} else {
		tell()
	}
	a.reply(m.ID, map[string]any{})
}

// turn is one prompt.
func (a *agent) turn(m message) {
	mark := filepath.Join(a.dir, "running")
	if f, err := os.OpenFile(mark, os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		a.note("faults", "two prompts at once")
	} else {
		f.Close()
	}
	end := func() { os.Remove(mark) }
	switch {
	case a.is(Refuse):
		end()
		a.fail(m.ID, -32603, "no, \x1b[2J never")
		return
	case a.is(Hang):
		end()
		return
	}
	if !a.is(Silent) {
		a.update("agent_message_chunk", "working")
	}
	if a.is(Crash) {
		os.Remove(filepath.Join(a.dir, Crash))
		end()
		os.Exit(3)
	}
	if a.is(Flood) {
		a.flood()
	}
	if call, err := os.ReadFile(filepath.Join(a.dir, Ask)); err == nil {
		a.note("answers", a.ask(call))
	}
	for a.is(Nag) {
		a.asked++
		a.send(map[string]any{"id": "n" + strconv.Itoa(a.asked), "method": "session/request_permission", "params": map[string]any{
			"sessionId": a.session, "options": []any{}, "toolCall": map[string]any{"toolCallId": "x"}}})
	}
	for a.is(Hold) {
		time.Sleep(5 * time.Millisecond)
	}
	end()
	a.reply(m.ID, map[string]any{"stopReason": "end_turn"})
}

func (a *agent) flood() {
	for range 20000 {
		a.update("agent_message_chunk", "again and again and again")
	}
	a.raw(strings.Repeat("x", 20<<20) + "\n")
	for range 1000 {
		a.raw("no message\n")
	}
}

// ask asks for a permission and returns the answer.
func (a *agent) ask(call []byte) string {
	a.asking.Lock()
	a.asked++
	id := strconv.Itoa(1000 + a.asked)
	c := make(chan json.RawMessage, 1)
	a.answers[id] = c
	a.asking.Unlock()
	a.send(map[string]any{"id": json.RawMessage(id), "method": "session/request_permission", "params": map[string]any{
		"sessionId": a.session, "toolCall": json.RawMessage(call), "options": []any{
			map[string]any{"optionId": "for-ever", "kind": "allow_always", "name": "Always"},
			map[string]any{"optionId": "yes", "kind": "allow_once", "name": "Allow"},
			map[string]any{"optionId": "no", "kind": "reject_once", "name": "Reject"},
		}}})
	return string(<-c)
}

// Dir is the agent's directory, as a test sees it.
type Dir struct {
	T    testing.TB
	Path string
}

// New makes one.
func New(t testing.TB) Dir {
	t.Helper()
	return Dir{t, t.TempDir()}
}

// Launch is the command that starts the agent.
func (d Dir) Launch() []string {
	d.T.Helper()
	self, err := os.Executable()
	if err != nil {
		d.T.Fatal(err)
	}
	return []string{self, Word, d.Path}
}

// Say tells the agent something; Unsay takes it back.
func (d Dir) Say(word string, text ...string) {
	d.T.Helper()
	if err := os.WriteFile(filepath.Join(d.Path, word), []byte(strings.Join(text, "")), 0o600); err != nil {
		d.T.Fatal(err)
	}
}

// Unsay takes a word back.
func (d Dir) Unsay(word string) { os.Remove(filepath.Join(d.Path, word)) }

// Lines are the lines of one of the agent's files.
func (d Dir) Lines(file string) []string {
	data, err := os.ReadFile(filepath.Join(d.Path, file))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}
