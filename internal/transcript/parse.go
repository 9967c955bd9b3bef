package transcript

import (
	"bufio"
	"bytes"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// Section is one section as read.
type Section struct {
	Header  string    // between the brackets, with → whichever arrow was written
	At      time.Time // UTC, to the minute; zero if the header has none
	Act     mail.Act
	Subject string
	ID      mail.ID
	Body    string // unescaped
	// Whole is false where the frame is broken: a torn end, or a person's edit.
	Whole bool
}

// Parse reads the sections of a transcript one by one; it holds one section at
// a time. What stands before the first header is skipped. A read error ends
// the sequence and comes last.
func Parse(r io.Reader) iter.Seq2[Section, error] {
	return func(yield func(Section, error) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		var text []byte
		started, fresh := false, true // fresh: at the start of a line
		for {
			piece, err := in.ReadSlice('\n')
			if fresh && bytes.HasPrefix(piece, []byte(mark)) {
				if started && !yield(parseSection(text), nil) {
					return
				}
				started, text = true, text[:0]
			}
			if started {
				text = append(text, piece...)
			}
			fresh = err == nil
			switch err {
			case nil, bufio.ErrBufferFull:
				continue
			}
			if started && !yield(parseSection(text), nil) {
				return
			}
			if err != io.EOF {
				yield(Section{}, &mail.Error{Op: "read transcript", Kind: mail.KindStore, Err: err})
			}
			return
		}
	}
}

// parseSection reads one section, from its header to its end.
func parseSection(text []byte) Section {
	head, rest, headed := strings.Cut(string(text), "\n")
	var s Section
	s.Header, s.At = parseHeader(head)
	meta, body, whole := "", "", false
	if after, ok := strings.CutPrefix(rest, "\n> "); ok {
		meta, rest, whole = strings.Cut(after, "\n")
		rest, ok = strings.CutPrefix(rest, "\n")
		whole = whole && ok
	}
	s.Act, s.Subject, s.ID = parseMeta(meta)
	body, framed := strings.CutSuffix(rest, rule+"\n\n")
	if body != "" && framed {
		body, framed = strings.CutSuffix(body, "\n\n")
	}
	s.Body = Unescape(strings.TrimRight(body, "\n"))
	s.Whole = headed && whole && framed && !s.At.IsZero() && s.ID != ""
	return s
}

// parseHeader reads "## [a→b] 2026-05-30 14:03 UTC".
func parseHeader(line string) (string, time.Time) {
	line = strings.TrimPrefix(strings.TrimSuffix(line, "\r"), mark)
	i := strings.LastIndex(line, "] ")
	if i < 0 {
		return strings.ReplaceAll(strings.TrimSuffix(line, "]"), ArrowASCII, Arrow), time.Time{}
	}
	at, err := time.Parse(headTime, line[i+2:])
	if err != nil {
		at = time.Time{}
	}
	return strings.ReplaceAll(line[:i], ArrowASCII, Arrow), at
}

// parseMeta reads "request · subject · id"; the subject may hold dots.
func parseMeta(line string) (mail.Act, string, mail.ID) {
	act, rest, ok := strings.Cut(line, dot)
	i := strings.LastIndex(rest, dot)
	if !ok || i < 0 {
		return mail.Act(act), rest, ""
	}
	return mail.Act(act), rest[:i], mail.ID(rest[i+len(dot):])
}
