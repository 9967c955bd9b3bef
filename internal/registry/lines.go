package registry

import (
	"bytes"
	"encoding/binary"
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
	lineTrans   = `,"transcript":"`
	crcHead     = `"crc32c":"`
	crcTail     = "\"}\n"
	crcLen      = len(crcHead) + 8 + len(crcTail)
)

// line is the start of one agent's line, cut but not parsed.
type line struct {
	off, size  int // of the JSON object in the file
	archived   bool
	aid, name  []byte
	transcript []byte
	aliases    []byte // `"a","b"`
}

// index is the lines of all agents packed one behind the other: what lookups
// need without the rest, a tenth of the file, so that a short process touches
// little memory.
type index []byte

const lineFixed = 4 + 4 + 1 + 1 + 1 + 2 + 4 // offset, size, archived, and four lengths

func (ix index) add(l line) index {
	ix = binary.LittleEndian.AppendUint32(ix, uint32(l.off))
	ix = binary.LittleEndian.AppendUint32(ix, uint32(l.size))
	flag := byte(0)
	if l.archived {
		flag = 1
	}
	ix = append(ix, flag, byte(len(l.aid)), byte(len(l.name)))
	ix = binary.LittleEndian.AppendUint16(ix, uint16(len(l.transcript)))
	ix = binary.LittleEndian.AppendUint32(ix, uint32(len(l.aliases)))
	return append(append(append(append(ix, l.aid...), l.name...), l.transcript...), l.aliases...)
}

// next cuts the first line off a non-empty index.
func (ix index) next() (line, index) {
	l := line{
		off: int(binary.LittleEndian.Uint32(ix)), size: int(binary.LittleEndian.Uint32(ix[4:])),
		archived: ix[8] == 1,
	}
	aid, name := int(ix[9]), int(ix[10])
	trans, aliases := int(binary.LittleEndian.Uint16(ix[11:])), int(binary.LittleEndian.Uint32(ix[13:]))
	ix = ix[lineFixed:]
	l.aid, ix = ix[:aid], ix[aid:]
	l.name, ix = ix[:name], ix[name:]
	l.transcript, ix = ix[:trans], ix[trans:]
	l.aliases, ix = ix[:aliases], ix[aliases:]
	return l, ix
}

func (l line) agent() policy.Agent {
	return policy.Agent{Name: string(l.name), AID: string(l.aid), Archived: l.archived, Transcript: l.file()}
}

// file returns the transcript's name; the usual one is not in the index.
func (l line) file() string {
	if len(l.transcript) == 0 {
		return defaultTranscript(string(l.name))
	}
	return string(l.transcript)
}

func defaultTranscript(name string) string { return "_inbox_" + name + ".md" }

// cutLine cuts the start of an agent's line. Nothing vouches for raw yet, so
// every step may find that it is something else.
func cutLine(raw []byte) (l line, ok bool) {
	rest, ok := cutPrefix(raw, lineAID)
	if l.aid, rest, ok = cutQuoted(rest, ok); !ok || len(l.aid) > 255 {
		return l, false
	}
	rest, ok = cutPrefix(rest, lineName)
	if l.name, rest, ok = cutQuoted(rest, ok); !ok || len(l.name) > 255 {
		return l, false
	}
	if after, found := cutPrefix(rest, lineArch); found {
		l.archived, rest = true, after
	}
	if after, found := cutPrefix(rest, lineAliases); found {
		end := bytes.IndexByte(after, ']')
		if end < 0 {
			return l, false
		}
		l.aliases, rest = after[:end], after[end+1:]
	}
	if after, found := cutPrefix(rest, lineTrans); found {
		if l.transcript, _, ok = cutQuoted(after, true); !ok || len(l.transcript) > 0xffff {
			return l, false
		}
		if usual(l.transcript, l.name) {
			l.transcript = nil
		}
	}
	return l, true
}

// usual reports whether transcript is defaultTranscript(name).
func usual(transcript, name []byte) bool {
	const before, after = "_inbox_", ".md"
	n := len(before) + len(name)
	return len(transcript) == n+len(after) && string(transcript[:len(before)]) == before &&
		bytes.Equal(transcript[len(before):n], name) && string(transcript[n:]) == after
}

func cutPrefix(b []byte, prefix string) ([]byte, bool) {
	if len(b) < len(prefix) || string(b[:len(prefix)]) != prefix {
		return b, false
	}
	return b[len(prefix):], true
}

// cutQuoted cuts at the closing quote. Names, aids and names of transcripts
// need no JSON escape.
func cutQuoted(b []byte, ok bool) (value, rest []byte, found bool) {
	i := bytes.IndexByte(b, '"')
	if !ok || i < 0 {
		return nil, b, false
	}
	return b[:i], b[i+1:], true
}

// lines yields the agents' lines in file order.
func (r *Registry) lines() iter.Seq[line] {
	return func(yield func(line) bool) {
		for rest := r.index; len(rest) > 0; {
			var l line
			if l, rest = rest.next(); !yield(l) {
				return
			}
		}
	}
}

func (r *Registry) byName(name string) (line, bool) {
	if name == "" || strings.ContainsAny(name, `"\`) { // `a","b` would match two aliases
		return line{}, false
	}
	quoted := []byte(`"` + name + `"`)
	for l := range r.lines() {
		if string(l.name) == name || len(l.aliases) > 0 && bytes.Contains(l.aliases, quoted) {
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

// channelLines parses the channels, which the checksum or the encoder vouches
// for.
func (r *Registry) channelLines() iter.Seq[Channel] {
	return func(yield func(Channel) bool) {
		for raw := range bytes.Lines(r.channels) {
			c, err := decodeChannel(bytes.TrimRight(raw, ",\n"))
			if err != nil {
				panic("registry: a canonical line does not parse: " + err.Error())
			}
			if !yield(c) {
				return
			}
		}
	}
}
