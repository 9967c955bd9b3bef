package acp

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/roster"
)

// talk is the conversation with one child, from its first message on.
type talk struct {
	child   *roster.Child
	conn    *sdk.ClientSideConnection
	policy  policy
	log     func(format string, args ...any)
	signs   atomic.Int64 // updates that show that a turn runs, and permission requests
	last    atomic.Int64 // when the last update of any kind came, in Unix nanoseconds
	garbage atomic.Int64
	asked   atomic.Int64  // questions of the child
	said    atomic.Int64  // messages to it
	changed func()        // after a sign
	settle  time.Duration // of quiet, after a session was loaded
	session string        // its id
	loads   bool          // it can load a session again
	agent   string        // what it calls itself
	broken  chan error    // its output has ended
}

// open begins to read what the child writes.
func open(child *roster.Child, p policy, settle time.Duration, log func(string, ...any), changed func()) *talk {
	t := &talk{child: child, policy: p, settle: settle, log: log, changed: changed, broken: make(chan error, 1)}
	in, out := io.Pipe()
	t.conn = sdk.NewClientSideConnection(t, t, in)
	t.conn.SetLogger(slog.New(slog.DiscardHandler)) // it would log whole messages
	go func() {
		err := sieve{t.update, t.dropped, t.ask}.run(child.Out, out)
		out.CloseWithError(err)
		t.broken <- err
	}()
	return t
}

// maxAsked is how many questions of the child may wait for it to read their
// answers.
const maxAsked = 64

func (t *talk) ask() bool {
	if t.asked.Load()-t.said.Load() > maxAsked {
		return false
	}
	t.asked.Add(1)
	return true
}

// Write sends the child one message.
func (t *talk) Write(message []byte) (int, error) {
	n, err := t.child.In.Write(message)
	t.said.Add(1)
	return n, err
}

func (t *talk) update(kind string) {
	t.last.Store(time.Now().UnixNano())
	if shows(kind) {
		t.sign()
	}
}

func (t *talk) sign() {
	t.signs.Add(1)
	t.changed()
}

// dropped counts what is no message, and says so, more and more rarely.
func (t *talk) dropped(what string) {
	if n := t.garbage.Add(1); n&(n-1) == 0 {
		t.log("its output is not all of the protocol: %s (%d so far)", what, n)
	}
}

// memory is the session to go on with.
type memory struct {
	session string
	lost    string // why there is none, though there was
}

// errLoad is that the child ended over loading a session.
var errLoad = errors.New("session/load")

// begin greets the child and opens a session: the remembered one, if there is
// one and the child can load it, else a new one. note says in words which, ""
// for the first of all.
func (t *talk) begin(ctx context.Context, dir, version string, m memory) (note string, err error) {
	hello, err := t.conn.Initialize(ctx, sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientInfo:      &sdk.Implementation{Name: "postroom", Version: version},
	})
	if err != nil {
		return "", fmt.Errorf("initialize: %s", t.why(ctx, err))
	}
	if hello.ProtocolVersion != sdk.ProtocolVersionNumber {
		return "", fmt.Errorf("initialize: it speaks version %d of the protocol, not %d", hello.ProtocolVersion, sdk.ProtocolVersionNumber)
	}
	t.loads = hello.AgentCapabilities.LoadSession
	if i := hello.AgentInfo; i != nil {
		t.agent = mail.Neutralise(clip(i.Name+" "+i.Version, 60), false)
	}
	t.log("it is %s", t.agent)
	why := m.lost
	if m.session == "" && why == "" {
		return "", t.fresh(ctx, dir)
	}
	if m.session != "" {
		why = "it cannot load one"
	}
	if t.loads && m.session != "" {
		if err = t.load(ctx, dir, m.session); err == nil {
			return "session " + m.session + " loaded again", nil
		}
		if why = t.why(ctx, err); ctx.Err() != nil || t.over() {
			return "", fmt.Errorf("%w: %s", errLoad, why)
		}
	}
	return "a fresh session, the one before is lost: " + why, t.fresh(ctx, dir)
}

func (t *talk) fresh(ctx context.Context, dir string) error {
	s, err := t.conn.NewSession(ctx, sdk.NewSessionRequest{Cwd: dir, McpServers: []sdk.McpServer{}})
	if err != nil {
		return fmt.Errorf("session/new: %s", t.why(ctx, err))
	}
	if !plainID(string(s.SessionId)) {
		return errors.New("session/new: its session's id is none")
	}
	t.session = string(s.SessionId)
	return nil
}

// settleMax bounds how long replayed history is waited for.
const settleMax = 10 * time.Second

func (t *talk) load(ctx context.Context, dir, session string) error {
	if _, err := t.conn.LoadSession(ctx, sdk.LoadSessionRequest{Cwd: dir, McpServers: []sdk.McpServer{}, SessionId: sdk.SessionId(session)}); err != nil {
		return err
	}
	t.session = session
	t.last.Store(max(t.last.Load(), time.Now().UnixNano()))
	for end := time.Now().Add(settleMax); time.Now().Before(end); {
		quiet := time.Since(time.Unix(0, t.last.Load()))
		if quiet >= t.settle {
			break
		}
		if err := wait(ctx, t.settle-quiet); err != nil {
			return err
		}
	}
	return nil
}

// plainID keeps what is no id from becoming part of a key or of the log.
func plainID(s string) bool {
	return s != "" && len(s) <= 200 && strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// prompt gives one prompt and returns when the turn has ended.
func (t *talk) prompt(ctx context.Context, text string) (sdk.StopReason, error) {
	r, err := t.conn.Prompt(ctx, sdk.PromptRequest{SessionId: sdk.SessionId(t.session), Prompt: []sdk.ContentBlock{sdk.TextBlock(text)}})
	if err != nil {
		return "", errors.New(t.why(ctx, err))
	}
	return r.StopReason, nil
}

// cancel asks the child to end the turn that runs.
func (t *talk) cancel() {
	_ = t.conn.Cancel(context.Background(), sdk.CancelNotification{SessionId: sdk.SessionId(t.session)})
}

// over reports whether the child's output has ended.
func (t *talk) over() bool {
	select {
	case <-t.conn.Done():
		return true
	default:
		return false
	}
}

// why says in few words what an error of the protocol is. What an agent puts
// into the data of one, while no prompt runs, is its own.
func (t *talk) why(ctx context.Context, err error) string {
	var r *sdk.RequestError
	switch {
	case ctx.Err() != nil:
		return "no answer in time"
	case t.over():
		return "its output ended"
	case !errors.As(err, &r):
		return mail.Neutralise(clip(err.Error(), 120), false)
	case r.Code == authRequired:
		return "it wants to be logged in first"
	}
	text := fmt.Sprintf("error %d, %s", r.Code, r.Message)
	if d, ok := r.Data.(map[string]any); ok && t.session == "" {
		if details, ok := d["details"].(string); ok {
			text += ": " + details
		}
	}
	return mail.Neutralise(clip(text, 160), false)
}

// authRequired is the protocol's error for an agent that nobody logged in.
const authRequired = -32000

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// token tells two doors of one process apart.
func token() string {
	var b [4]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}
