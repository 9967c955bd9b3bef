package registry

import (
	"bytes"
	"iter"
	"strings"

	"github.com/postroom/postroom/internal/policy"
)

// The canonical layout (spool-format.md §5): a head line, one agent a line, a
// divider, one channel a line, the rest, the checksum of all before it. What
// lookups need stands first in a line. Values have no raw newline, so a line
// that starts with ] is a divider and nothing else.
const (
	head        = `{"format":1,"agents":[` + "\n"
	channelHead = `],"channels":[` + "\n"
	lineAID     = `{"aid":"`
	lineName    = `,"name":"`
	lineArch    = `,"archived":true`
	lineAliases = `,"aliases":[`
	crcHead     = `"crc32c":"`
	crcTail     = "\"}\n"
	crcLen      = len(crcHead) + 8 + len(crcTail)
)

// line is one agent's line, its first fields cut but not parsed.
type line struct {
	aid, name []byte
	aliases   []byte // `"a","b"`
	archived  bool
	raw       []byte
}

func (l line) agent() policy.Agent {
	return policy.Agent{Name: string(l.name), AID: string(l.aid), Archived: l.archived}
}

// entry parses the line, which the checksum or the encoder vouches for.
func (l line) entry() Entry {
	e, err := decodeEntry(l.raw)
	if err != nil {
		panic("registry: a canonical line does not parse: " + err.Error())
	}
	return e
}

func (l line) hasAlias(quoted []byte) bool {
	return len(l.aliases) > 0 && bytes.Contains(l.aliases, quoted)
}

func cutLine(raw []byte) line {
	l := line{raw: bytes.TrimSuffix(raw, []byte(","))}
	rest := raw[len(lineAID):]
	l.aid, rest = cutQuoted(rest)
	l.name, rest = cutQuoted(rest[len(lineName):])
	if len(rest) >= len(lineArch) && string(rest[:len(lineArch)]) == lineArch {
		l.archived, rest = true, rest[len(lineArch):]
	}
	if len(rest) >= len(lineAliases) && string(rest[:len(lineAliases)]) == lineAliases {
		rest = rest[len(lineAliases):]
		l.aliases = rest[:bytes.IndexByte(rest, ']')]
	}
	return l
}

// cutQuoted cuts at the closing quote. Names and aids need no JSON escape.
func cutQuoted(b []byte) (value, rest []byte) {
	i := bytes.IndexByte(b, '"')
	return b[:i], b[i+1:]
}

// lines yields the agents' lines in file order.
func (r *Registry) lines() iter.Seq[line] {
	return func(yield func(line) bool) {
		rest := r.raw[len(head):]
		for rest[0] != ']' {
			i := bytes.IndexByte(rest, '\n')
			if !yield(cutLine(rest[:i])) {
				return
			}
			rest = rest[i+1:]
		}
	}
}

func (r *Registry) byName(name string) (line, bool) {
	if !plain(name) {
		return line{}, false
	}
	quoted := []byte(`"` + name + `"`)
	for l := range r.lines() {
		if string(l.name) == name || l.hasAlias(quoted) {
			return l, true
		}
	}
	return line{}, false
}

func (r *Registry) byAID(aid string) (line, bool) {
	for l := range r.lines() {
		if string(l.aid) == aid {
			return l, true
		}
	}
	return line{}, false
}

// plain reports whether s may be looked for between quotes: `a","b` would
// match two aliases.
func plain(s string) bool { return s != "" && !strings.ContainsAny(s, "\"\\]") }

func (r *Registry) channelLines() iter.Seq[Channel] {
	return func(yield func(Channel) bool) {
		i := bytes.Index(r.raw, []byte("\n"+channelHead))
		rest := r.raw[i+1+len(channelHead):]
		for rest[0] != ']' {
			end := bytes.IndexByte(rest, '\n')
			c, err := decodeChannel(bytes.TrimSuffix(rest[:end], []byte(",")))
			if err != nil {
				panic("registry: a canonical line does not parse: " + err.Error())
			}
			if !yield(c) {
				return
			}
			rest = rest[end+1:]
		}
	}
}
