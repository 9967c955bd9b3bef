package acp

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
)

// maxLine bounds one message of the child, in bytes. What is longer is dropped:
// the contents of a file that it shows to nobody.
const maxLine = 8 << 20

// sieve takes apart what a child writes. Updates of the session are only
// counted, by their kind: so a flood of them, or one that is not understood,
// costs nothing. Answers and requests go on to the protocol's own code.
type sieve struct {
	update func(kind string) // called in order
	// garbage counts lines that are no message, long ones that were dropped.
	garbage func(what string)
	// ask says whether one more question of the child may be put.
	ask func() bool
}

// envelope is what is looked at of a message.
type envelope struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// run reads until the child's output ends, or to can't be written any more.
func (s sieve) run(from io.Reader, to io.Writer) error {
	r := bufio.NewReaderSize(from, 64<<10)
	var line []byte
	for long := false; ; {
		part, err := r.ReadSlice('\n')
		if !long {
			line = append(line, part...)
		}
		if len(line) > maxLine {
			long, line = true, nil
			s.garbage("too long")
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case !long && len(line) > 0:
			if werr := s.line(line, to); werr != nil {
				return werr
			}
		}
		if err != nil {
			return err
		}
		if long = false; cap(line) > 1<<20 {
			line = nil
		}
		line = line[:0]
	}
}

func (s sieve) line(line []byte, to io.Writer) error {
	var e envelope
	blank := true
	for _, c := range line {
		blank = blank && (c == ' ' || c == '\t' || c == '\r' || c == '\n')
	}
	switch err := json.Unmarshal(line, &e); {
	case blank:
		return nil
	case err != nil || e.Version != "2.0" || e.ID == nil && e.Method == "":
		s.garbage("no message")
		return nil
	case e.ID == nil && e.Method == "session/update":
		var p struct {
			Update struct {
				Kind string `json:"sessionUpdate"`
			} `json:"update"`
		}
		if json.Unmarshal(e.Params, &p) != nil || p.Update.Kind == "" {
			s.garbage("no update")
			return nil
		}
		s.update(p.Update.Kind)
		return nil
	case e.ID == nil:
		return nil // a notification that nobody here needs
	case e.Method != "" && !s.ask():
		s.garbage("too many questions")
		return nil
	}
	if line[len(line)-1] != '\n' {
		line = append(line, '\n')
	}
	_, err := to.Write(line)
	return err
}

// shows reports whether an update is something that the model does now: a sign
// that a turn runs. What agents tell of themselves comes at any time.
func shows(kind string) bool {
	switch kind {
	case "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan":
		return true
	}
	return false
}
