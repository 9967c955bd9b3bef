package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
)

const (
	// batchGroup is how many messages share one lock and one pass.
	batchGroup = 200
	// batchBuffer is how much of the input is looked ahead, in bytes.
	batchBuffer = 256 << 10
	// batchLine bounds one line: a body of mail.MaxSize whose characters are
	// all escaped.
	batchLine = 7 * mail.MaxSize
	// batchGC is how much garbage may pile up, in per cent of what is in use.
	batchGC = 400
)

// batchMessage is one line of a batch.
type batchMessage struct {
	To           nameList `json:"to"`
	CC           nameList `json:"cc"`
	Act          mail.Act `json:"act"`
	Subject      string   `json:"subject"`
	Body         string   `json:"body"`
	Conversation string   `json:"conversation"`
	InReplyTo    string   `json:"in_reply_to"`
	NeedsHuman   bool     `json:"needs_human"`
	Deadline     string   `json:"deadline"`
	Key          string   `json:"key"`
	Again        bool     `json:"again"`
	Options      []string `json:"options"`
}

// nameList is addresses: a list, or one string with commas.
type nameList []string

// UnmarshalJSON takes both forms.
func (n *nameList) UnmarshalJSON(data []byte) error {
	var list []string
	if len(data) > 0 && data[0] == '[' {
		if err := json.Unmarshal(data, &list); err != nil {
			return err
		}
	} else {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		list = []string{s}
	}
	*n = splitNames(strings.Join(list, ","))
	return nil
}

// batchEntry is one line as read: a draft, or why it is none.
type batchEntry struct {
	line  int
	draft mailbox.Draft
	err   error
}

// batchReader reads a batch in groups: what is there already goes together,
// and nothing waits for input that has not come.
type batchReader struct {
	desk *desk
	in   *bufio.Reader
	line int
}

func (s *send) runBatch(ctx context.Context, e *Env, args []string) error {
	switch {
	case len(args) > 0:
		return usageError(e.name, "does not know what to do with "+quote(args[0]), "with --batch the recipients stand in the input")
	case s.text.given || s.file.given || s.subject != "" || s.act != "" || s.key != "" || s.cc != "" || s.replyTo != "" || s.conversation != "" || s.deadline != "" || len(s.options) > 0:
		return usageError(e.name, "--batch takes the messages from standard input whole", "put act, subject, cc, key … into each line")
	case e.StdinTTY:
		return usageError(e.name, "--batch reads messages from standard input", "pipe them in, one JSON object a line")
	}
	// Nothing lives long here, and a group of large messages fits into memory.
	defer debug.SetGCPercent(debug.SetGCPercent(batchGC))
	d, err := e.openDesk()
	if err != nil {
		return err
	}
	if err := d.Office.CheckWritable(); err != nil {
		return err
	}
	r := &batchReader{desk: d, in: bufio.NewReaderSize(e.Stdin, batchBuffer)}
	code := mail.ExitOK
	var count atomic.Int64
	stop := e.slowly(func() string { return itoa(int(count.Load())) + " messages so far" })
	defer stop()
	for {
		group, rerr := r.group()
		list := s.sendGroup(ctx, d, group)
		e.report(list)
		code = worst([]outcome{{Exit: e.told(list)}, {Exit: code}})
		if e.Out.abandoned() {
			return Said(code) // nobody learns of what follows, so nothing follows
		}
		count.Add(int64(len(group)))
		if rerr != nil {
			if rerr != io.EOF {
				return &mail.Error{Op: e.name, Kind: mail.KindStore, Addr: "standard input", Err: rerr, Hint: "what was answered is sent; send the rest again"}
			}
			return Said(code)
		}
	}
}

// sendGroup sends the drafts of a group together.
func (s *send) sendGroup(ctx context.Context, d *desk, group []batchEntry) []outcome {
	var drafts []mailbox.Draft
	for _, b := range group {
		if b.err == nil {
			draft := b.draft
			draft.Again = draft.Again || s.again
			draft.NeedsHuman = draft.NeedsHuman || s.human
			drafts = append(drafts, draft)
		}
	}
	var done [][]outcome
	if len(drafts) > 0 {
		done = d.deliver(ctx, d.SendAll(drafts), s.compose)
	}
	var out []outcome
	for _, b := range group {
		var list []outcome
		if b.err != nil {
			list = []outcome{failed("", b.err)}
		} else {
			list, done = done[0], done[1:]
		}
		for _, o := range list {
			o.Line = b.line
			if o.To == "" {
				o.To = strings.Join(b.draft.To, ",")
			}
			out = append(out, o)
		}
	}
	return out
}

// group reads at least one message and then whatever is there already. The
// error is io.EOF at the end, or what broke the input.
func (r *batchReader) group() (group []batchEntry, err error) {
	for n := 0; n < batchGroup; {
		raw, err := r.next()
		if raw != nil {
			r.line++
			if len(bytes.TrimSpace(raw)) > 0 {
				b := r.parse(raw)
				group, n = append(group, b), n+max(1, len(b.draft.To))
			}
		}
		if err != nil {
			return group, err
		}
		if n > 0 && !r.ready() {
			break
		}
	}
	return group, nil
}

// ready reports whether a whole line can be read without waiting.
func (r *batchReader) ready() bool {
	ahead, _ := r.in.Peek(r.in.Buffered())
	return bytes.IndexByte(ahead, '\n') >= 0
}

// next reads one line. One that is too long is passed over and comes back cut,
// for parse to refuse.
func (r *batchReader) next() ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		if len(line) <= batchLine {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && len(line) == 0 {
			return nil, err
		}
		return line, err
	}
}

func (r *batchReader) parse(raw []byte) batchEntry {
	b := batchEntry{line: r.line}
	invalid := func(err error, hint string) batchEntry {
		b.err = &mail.Error{Op: "read batch", Kind: mail.KindInvalid, Err: err, Hint: hint}
		return b
	}
	if len(raw) > batchLine {
		b.err = &mail.Error{Op: "read batch", Kind: mail.KindTooLarge, Err: errors.New("the line is too long"), Hint: "put the text in a file and send its path"}
		return b
	}
	var m batchMessage
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return invalid(jsonFault(err), `write one JSON object a line: {"to":"coder","body":"…"}`)
	}
	if dec.More() {
		return invalid(errors.New("something follows the object"), "write one JSON object a line")
	}
	b.draft = mailbox.Draft{To: m.To, CC: m.CC, Act: m.Act, Subject: m.Subject, Body: m.Body, Conversation: m.Conversation,
		NeedsHuman: m.NeedsHuman, Deadline: m.Deadline, Key: m.Key, Again: m.Again, Options: m.Options}
	if strings.TrimSpace(m.Body) == "" {
		return invalid(errors.New("the message is empty"), `give it a "body"`)
	}
	if m.InReplyTo != "" {
		b.draft.InReplyTo, b.err = r.desk.Find(m.InReplyTo)
	}
	return b
}

// jsonFault says what is wrong with a line, in its author's words.
func jsonFault(err error) error {
	if t := (*json.UnmarshalTypeError)(nil); errors.As(err, &t) {
		return errors.New(quote(t.Field) + " cannot be a " + t.Value)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}
