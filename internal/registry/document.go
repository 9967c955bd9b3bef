package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/postroom/postroom/internal/mail"
)

// document is the whole registry, parsed. Only edits and files that something
// else wrote need it.
type document struct {
	agents   []Entry
	channels []Channel
	retired  []string // names of channels that are gone
	extra    map[string]json.RawMessage

	agentLine, channelLine []int // where they stand in a parsed file, from 1
}

// fault is what is wrong with a document, and where.
type fault struct {
	line int // 0 if unknown
	err  error
}

func (f *fault) Error() string {
	if f.line == 0 {
		return f.err.Error()
	}
	return fmt.Sprintf("line %d: %v", f.line, f.err)
}

func (f *fault) Unwrap() error { return f.err }

var errFormat = errors.New("written by a newer version")

// parse reads a registry strictly, whatever its layout.
func parse(raw []byte) (*document, error) {
	p := parser{raw: raw, dec: json.NewDecoder(bytes.NewReader(raw)), doc: &document{}}
	if !utf8.Valid(raw) {
		return nil, &fault{err: errors.New("not UTF-8")}
	}
	if err := p.top(); err != nil {
		var f *fault
		if errors.As(err, &f) {
			return nil, f
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, &fault{lineAt(raw, syntax.Offset), err}
		}
		return nil, &fault{p.line(), err}
	}
	return p.doc, p.doc.check()
}

type parser struct {
	raw []byte
	dec *json.Decoder
	doc *document
}

func (p *parser) line() int { return lineAt(p.raw, p.dec.InputOffset()) }

func lineAt(raw []byte, off int64) int {
	return 1 + bytes.Count(raw[:min(int(off), len(raw))], []byte("\n"))
}

func (p *parser) delim(want json.Delim) error {
	t, err := p.dec.Token()
	if err != nil {
		return err
	}
	if t != want {
		return fmt.Errorf("%v where %v belongs", t, want)
	}
	return nil
}

func (p *parser) top() error {
	if err := p.delim('{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for p.dec.More() {
		t, err := p.dec.Token()
		if err != nil {
			return err
		}
		key := t.(string)
		if seen[key] {
			return fmt.Errorf("%q stands twice", key)
		}
		seen[key] = true
		if err := p.member(key); err != nil {
			return err
		}
	}
	if err := p.delim('}'); err != nil {
		return err
	}
	if !seen["format"] || !seen["agents"] {
		return errors.New(`"format" or "agents" is missing`)
	}
	if _, err := p.dec.Token(); err != io.EOF {
		return errors.New("something follows the end")
	}
	return nil
}

func (p *parser) member(key string) error {
	switch key {
	case "format":
		var n int
		if err := p.dec.Decode(&n); err != nil {
			return err
		}
		if n != 1 {
			return &fault{p.line(), errFormat}
		}
		return nil
	case "agents":
		return p.list(func(raw json.RawMessage, line int) error {
			e, err := decodeEntry(raw)
			p.doc.agents = append(p.doc.agents, e)
			p.doc.agentLine = append(p.doc.agentLine, line)
			return err
		})
	case "channels":
		return p.list(func(raw json.RawMessage, line int) error {
			c, err := decodeChannel(raw)
			slices.Sort(c.Members) // a person may have written them in any order
			p.doc.channels = append(p.doc.channels, c)
			p.doc.channelLine = append(p.doc.channelLine, line)
			return err
		})
	case "retired":
		return p.dec.Decode(&p.doc.retired)
	}
	var value json.RawMessage
	if err := p.dec.Decode(&value); err != nil {
		return err
	}
	if key != "crc32" {
		if p.doc.extra == nil {
			p.doc.extra = map[string]json.RawMessage{}
		}
		p.doc.extra[key] = value
	}
	return nil
}

func (p *parser) list(fn func(json.RawMessage, int) error) error {
	if err := p.delim('['); err != nil {
		return err
	}
	for p.dec.More() {
		var raw json.RawMessage
		if err := p.dec.Decode(&raw); err != nil {
			return err
		}
		line := lineAt(p.raw, p.dec.InputOffset()-int64(len(raw)))
		if err := fn(raw, line); err != nil {
			return &fault{line, err}
		}
	}
	return p.delim(']')
}

// check enforces the package's invariants on the whole document.
func (d *document) check() error {
	names, aids, inboxes := map[string]string{}, map[string]bool{}, map[string]string{}
	take := func(name, owner string) error {
		if first, taken := names[name]; taken {
			return fmt.Errorf("the name %q is taken by %s", name, first)
		}
		names[name] = owner
		return nil
	}
	for i := range d.agents {
		e := &d.agents[i]
		err := e.check()
		for _, n := range append([]string{e.Name}, e.Aliases...) {
			if err == nil {
				err = take(n, "agent "+e.Name)
			}
		}
		switch first, shared := inboxes[e.InboxPath]; {
		case err != nil:
		case aids[e.AID]:
			err = fmt.Errorf("the aid %q stands twice", e.AID)
		case shared:
			err = fmt.Errorf("%s and %s have the same inbox_path", first, e.Name)
		}
		if err != nil {
			return &fault{at(d.agentLine, i), err}
		}
		aids[e.AID], inboxes[e.InboxPath] = true, e.Name
	}
	return d.checkChannels(take, aids)
}

func (d *document) checkChannels(take func(name, owner string) error, aids map[string]bool) error {
	sets := map[string]string{}
	for i, c := range d.channels {
		err := checkName(c.Name)
		if err == nil {
			err = take(c.Name, "channel "+c.Name)
		}
		set := strings.Join(c.Members, "\n")
		if first, same := sets[set]; err == nil && same && len(c.Members) > 0 {
			err = fmt.Errorf("channels %s and %s have the same members", first, c.Name)
		}
		sets[set] = c.Name
		for j, m := range c.Members {
			if err == nil && !aids[m] {
				err = fmt.Errorf("channel %s: no agent has the aid %q", c.Name, m)
			}
			if err == nil && j > 0 && c.Members[j-1] == m {
				err = fmt.Errorf("channel %s: member %q stands twice", c.Name, m)
			}
		}
		if err != nil {
			return &fault{at(d.channelLine, i), err}
		}
	}
	for _, n := range d.retired {
		if err := take(n, "a channel that is gone"); err != nil {
			return &fault{0, err}
		}
	}
	return nil
}

func at(lines []int, i int) int {
	if i < len(lines) {
		return lines[i]
	}
	return 0
}

// check enforces what an entry alone must hold.
func (e *Entry) check() error {
	for _, n := range append([]string{e.Name}, e.Aliases...) {
		if err := checkNameAt(n, e.Station); err != nil {
			return err
		}
	}
	if !validAID(e.AID) {
		return fmt.Errorf("%q is not an aid", e.AID)
	}
	if !filepath.IsAbs(e.InboxPath) || filepath.Clean(e.InboxPath) != e.InboxPath {
		return fmt.Errorf("agent %s: inbox_path %q is not an absolute, clean path", e.Name, e.InboxPath)
	}
	if e.Workspace != "" && !filepath.IsAbs(e.Workspace) {
		return fmt.Errorf("agent %s: workspace %q is not absolute", e.Name, e.Workspace)
	}
	if !validFile(e.Transcript) {
		return fmt.Errorf("agent %s: transcript %q is not a file name", e.Name, e.Transcript)
	}
	for _, s := range slices.Concat([]string{e.InboxPath, e.Workspace, e.Role, e.Runtime}, e.Notify, e.Launch) {
		if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
			return fmt.Errorf("agent %s: %q is not UTF-8 text", e.Name, s)
		}
	}
	return nil
}

// validAID accepts what needs no escape in JSON or a file name.
func validAID(s string) bool {
	ok := len(s) > 0 && len(s) <= 64
	for _, c := range []byte(s) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_')
	}
	return ok
}

// validFile accepts what package transcript takes as a name, and "".
func validFile(s string) bool {
	ok := len(s) <= 255 && !strings.HasPrefix(s, ".")
	for _, c := range []byte(s) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte(".-_+@", c) >= 0)
	}
	return ok
}

// checkNameAt checks an agent's name: a far agent's ends in @ and its station,
// ours has no station.
func checkNameAt(name, station string) error {
	if station == "" {
		return checkName(name)
	}
	if _, at, err := mail.ParseFarName(name); err != nil || at != station {
		return fmt.Errorf("%q is not a name at station %q", name, station)
	}
	return nil
}

func checkName(name string) error {
	if _, err := mail.ParseName(name); err != nil {
		return fmt.Errorf("%q is not a name", name)
	}
	return nil
}
