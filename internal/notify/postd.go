package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// maxWire bounds what post and postd tell each other about one wake, in bytes.
const maxWire = 256 << 10

// margin is left for postd's answer to come back before its time is up.
const margin = 50 * time.Millisecond

// Postd wakes agents of a kind whose adapter only postd carries (design §2): it
// runs `postd notify KIND` with a request on standard input and takes the
// outcome from standard output.
type Postd struct {
	kind string
	find func() (string, error)
}

// NewPostd makes the stand-in for one kind. find returns postd's absolute path:
// beside post, then on PATH; it is called for each wake.
func NewPostd(kind string, find func() (string, error)) Postd { return Postd{kind, find} }

// Kind returns the kind that postd carries.
func (a Postd) Kind() string { return a.kind }

// request is what `postd notify KIND` reads; the answer is reply.
type request struct {
	V        int     `json:"v"`
	Kind     string  `json:"kind"`
	Agent    Agent   `json:"agent"`
	Pointer  Pointer `json:"pointer"`
	BudgetMS int64   `json:"budget_ms,omitempty"` // 0: as long as it takes
}

type reply struct {
	V int `json:"v"`
	Outcome
}

// Notify implements Adapter.
func (a Postd) Notify(ctx context.Context, agent Agent, p Pointer) (Outcome, error) {
	if err := p.Check(); err != nil {
		return Fail(a.kind, agent, err.Error(), "")
	}
	path, err := a.find()
	if err != nil {
		hint := `install postd beside post or on PATH: "post help postd" says how`
		if e := (*mail.Error)(nil); errors.As(err, &e) && e.Hint != "" {
			hint = e.Hint
		}
		return Fail(a.kind, agent, "needs postd, which is not installed", hint)
	}
	stdin, err := ask(ctx, agent, p)
	if err != nil {
		return Fail(a.kind, agent, err.Error(), "")
	}
	e := child{argv: []string{path, "notify", a.kind}, stdin: stdin, stdout: maxWire}.run(ctx)
	if !e.ok {
		return Fail(a.kind, agent, "postd: "+e.why, e.hint)
	}
	return understand(a.kind, agent, e.stdout)
}

// ask is the request as bytes.
func ask(ctx context.Context, agent Agent, p Pointer) ([]byte, error) {
	req := request{V: 1, Kind: agent.Kind(), Agent: agent, Pointer: p}
	if end, ok := ctx.Deadline(); ok {
		req.BudgetMS = max(1, (time.Until(end) - margin).Milliseconds())
	}
	return json.Marshal(req)
}

// understand reads a reply.
func understand(kind string, agent Agent, answer []byte) (Outcome, error) {
	var r reply
	if err := json.Unmarshal(bytes.TrimSpace(answer), &r); err != nil || r.V != 1 || !r.State.Known() {
		return Fail(kind, agent, fmt.Sprintf("postd answered %q", line(string(answer), 80)),
			"install post and postd of the same version")
	}
	out := Tidy(kind, r.Outcome, nil)
	if out.State == Failed {
		return Fail(kind, agent, out.Evidence, "")
	}
	return out, nil
}

// Caller is a connection to a process that answers with ServeOne.
type Caller interface {
	io.ReadWriter
	CloseWrite() error
}

// Ask asks another process, over a connection, to wake an agent. It ends when
// the connection does.
func Ask(ctx context.Context, agent Agent, p Pointer, to Caller) (Outcome, error) {
	start := time.Now()
	req, err := ask(ctx, agent, p)
	if err != nil {
		return Fail(agent.Kind(), agent, err.Error(), "")
	}
	var answer []byte
	if _, err = to.Write(req); err == nil {
		err = to.CloseWrite()
	}
	if err == nil {
		answer, err = io.ReadAll(io.LimitReader(to, maxWire))
	}
	switch {
	case ctx.Err() != nil:
		return Outcome{Pending, agent.Kind() + ": postd serve has not answered (" + overdue(ctx, start) + ")"}, nil
	case err != nil:
		return Fail(agent.Kind(), agent, "postd serve: "+err.Error(), "")
	}
	return understand(agent.Kind(), agent, answer)
}

// ServeOne is the other side, `postd notify KIND`: it reads one request, calls
// the adapter of its kind and writes one reply. The error is for a request
// that cannot be read (KindInvalid) or a reply that cannot be written; all else
// is in the reply.
func ServeOne(ctx context.Context, in io.Reader, out io.Writer, table Table) error {
	data, err := io.ReadAll(io.LimitReader(in, maxWire+1))
	var req request
	if err == nil {
		err = json.Unmarshal(data, &req)
	}
	switch {
	case err != nil:
	case len(data) > maxWire:
		err = errors.New("request is too large")
	case req.V != 1:
		err = fmt.Errorf("request has version %d", req.V)
	case req.Kind != req.Agent.Kind():
		err = errors.New("kind and agent disagree")
	}
	if err != nil {
		return &mail.Error{
			Op: "notify", Kind: mail.KindInvalid, Addr: "request", Err: err, Hint: "install post and postd of the same version",
		}
	}
	if req.BudgetMS > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(req.BudgetMS)*time.Millisecond)
		defer cancel()
	}
	answer, err := json.Marshal(reply{1, serve(ctx, req, table)})
	if err != nil {
		return err
	}
	_, err = out.Write(append(answer, '\n'))
	return err
}

func serve(ctx context.Context, req request, table Table) Outcome {
	ad, err := table.Adapter(req.Kind)
	if err == nil {
		err = req.Pointer.Check()
	}
	if err != nil {
		return Outcome{Failed, line(err.Error(), evidenceMax)}
	}
	o, err := ad.Notify(ctx, req.Agent, req.Pointer)
	return Tidy(req.Kind, o, err)
}
