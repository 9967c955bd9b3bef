package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/postroom/postroom/internal/mail"
)

// Output is standard output, buffered. The first write that fails is kept and
// ends the command with KindStore, whatever the command itself thinks.
type Output struct {
	w      *bufio.Writer
	err    error
	gone   bool // see abandon
	json   bool
	quiet  bool
	colour bool
	width  int // of the terminal, in columns; 0: none
}

func newOutput(w io.Writer) *Output { return &Output{w: bufio.NewWriterSize(w, 32<<10)} }

// JSON reports whether --json was given.
func (o *Output) JSON() bool { return o.json }

// Printf prints a result. Values that come from outside must be neutralised:
// see Text and Line.
func (o *Output) Printf(format string, args ...any) {
	o.keep(fmt.Fprintf(o.w, format, args...))
}

// Write lets results be copied in.
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	o.keep(n, err)
	return n, err
}

// Say prints what only a reader wants to know: nothing with --json or -q.
func (o *Output) Say(format string, args ...any) {
	if !o.json && !o.quiet {
		o.Printf(format+"\n", args...)
	}
}

// Object prints v, which marshals to a JSON object, on one line with "v":1
// first.
func (o *Output) Object(v any) {
	data, err := json.Marshal(v)
	if err != nil || len(data) < 2 || data[0] != '{' {
		o.keep(0, fmt.Errorf("%T is no JSON object: %w", v, errors.Join(err)))
		return
	}
	sep := ","
	if data[1] == '}' {
		sep = ""
	}
	o.Printf("{\"v\":1%s%s\n", sep, escapeHidden(data[1:]))
}

// escapeHidden writes what a terminal would obey or not show as JSON escapes: to
// a parser it is the same text.
func escapeHidden(data []byte) []byte {
	if Line(string(data)) == string(data) {
		return data
	}
	out := make([]byte, 0, len(data)+64)
	for _, r := range string(data) {
		switch {
		case r < 0x7f || unicode.IsPrint(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, "\\u%04x\\u%04x", hi, lo)
		default:
			out = fmt.Appendf(out, "\\u%04x", r)
		}
	}
	return out
}

// Flush hands everything to the system. A receipt may be written only when it
// returned nil.
func (o *Output) Flush() error {
	if o.err == nil {
		o.keep(0, o.w.Flush())
	}
	return o.err
}

// taken is Flush for what a receipt is to follow: it fails, too, if there is
// nobody to have read what was written.
func (e *Env) taken() error {
	if err := e.Out.Flush(); err != nil {
		return err
	}
	if e.StdoutShut != nil && e.StdoutShut() {
		return &mail.Error{Op: "write output", Kind: mail.KindStore, Err: errors.New("standard output is closed"),
			Hint: "the mail stays unread; give the command an output"}
	}
	return nil
}

// abandon gives the output up: what failed was told in another way, and
// nothing more is printed.
func (o *Output) abandon() {
	o.err, o.gone = nil, true
	o.w.Reset(io.Discard)
}

func (o *Output) abandoned() bool { return o.gone }

func (o *Output) keep(_ int, err error) {
	if err != nil && o.err == nil {
		o.err = &mail.Error{Op: "write output", Kind: mail.KindStore, Err: err}
	}
}

// leastSubject is what is left of a subject however narrow a terminal is, in
// columns.
const leastSubject = 16

// leastPath is what a path's end must have to be worth showing.
const leastPath = 10

// Table prints rows under a header, in columns. Every cell is neutralised; the
// last column is not padded. Subjects are cut to the terminal's width; of a
// workspace the end is left, or nothing.
func (o *Output) Table(header []string, rows [][]string) {
	width := make([]int, len(header))
	all := append([][]string{header}, rows...)
	for i, row := range all {
		for j, cell := range row {
			if i > 0 {
				row[j] = Line(cell)
			}
			width[j] = max(width[j], columns(row[j]))
		}
	}
	last, room := len(header)-1, o.width
	for _, w := range width[:last] {
		room -= w + 2
	}
	subject, path := o.width > 0 && header[last] == "SUBJECT", o.width > 0 && header[last] == "WORKSPACE"
	for i, row := range all {
		switch {
		case subject:
			row[last] = fit(row[last], max(room, leastSubject))
		case path && room < leastPath:
			row[last] = ""
		case path && i > 0:
			row[last] = fitEnd(row[last], room)
		}
		var b strings.Builder
		for j, cell := range row {
			if j > 0 {
				b.WriteString("  ")
			}
			b.WriteString(cell)
			if j < len(row)-1 {
				b.WriteString(strings.Repeat(" ", width[j]-columns(cell)))
			}
		}
		line := strings.TrimRight(b.String(), " ")
		if i == 0 {
			line = o.Bold(line)
		}
		o.Printf("%s\n", line)
	}
}

// Bold, Dim, Red and Green decorate on a terminal and nowhere else.
func (o *Output) Bold(s string) string { return o.decorate("1", s) }

// Dim is for what matters less.
func (o *Output) Dim(s string) string { return o.decorate("2", s) }

// Red is for what went wrong.
func (o *Output) Red(s string) string { return o.decorate("31", s) }

// Green is for what is added.
func (o *Output) Green(s string) string { return o.decorate("32", s) }

// Hit marks what was searched for: in colour on a terminal, else in brackets.
func (o *Output) Hit(s string) string {
	if !o.colour {
		return "[" + s + "]"
	}
	return o.decorate("1;33", s)
}

func (o *Output) decorate(code, s string) string {
	if !o.colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Line makes text from outside safe to show on one line.
func Line(s string) string { return mail.Neutralise(s, false) }

// Text makes text from outside safe to show, with its line breaks.
func Text(s string) string { return mail.Neutralise(s, true) }
