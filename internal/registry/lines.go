package registry

import (
	"bytes"
	"encoding/binary"
	"iter"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
)

// The canonical layout (spool-format.md §2): a head line, one agent a line, a
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
	crcHead     = `"crc32":"`
	crcTail     = "\"}\n"
	crcLen      = len(crcHead) + 8 + len(crcTail)
)

// line is the start of one agent's line, cut but not parsed.
type line struct {
	off, size  int // of the JSON object in the file
	archived   bool
	key        []byte // aid to name, as in the file
	aid, name  []byte
	transcript []byte
	aliases    []byte // `"a","b"`
}

// index is the lines of all agents packed one behind the other: what lookups
// need without the rest, a tenth of the file, so that a short process touches
// little memory.
type index []byte

const lineFixed = 4 + 4 + 1 + 1 + 1 + 2 + 4 // offset, size, archived, and four lengths

// keyGap is what stands between aid and name in the file, and is copied along:
// one copy costs less than two.
const keyGap = `"` + lineName

func (ix index) add(l *line) index {
	n := len(ix)
	ix = append(slices.Grow(ix, lineFixed+len(l.key))[:n+lineFixed], l.key...)
	b := ix[n : n+lineFixed]
	binary.LittleEndian.PutUint32(b[0:], uint32(l.off))
	binary.LittleEndian.PutUint32(b[4:], uint32(l.size))
	b[8], b[9], b[10] = 0, byte(len(l.aid)), byte(len(l.name))
	if l.archived {
		b[8] = 1
	}
	binary.LittleEndian.PutUint16(b[11:], uint16(len(l.transcript)))
	binary.LittleEndian.PutUint32(b[13:], uint32(len(l.aliases)))
	if len(l.transcript)+len(l.aliases) > 0 {
		ix = append(append(ix, l.transcript...), l.aliases...)
	}
	return ix
}

// sizes returns the lengths of the first line's aid, name, transcript and
// aliases, and of all of the line.
func (ix index) sizes() (aid, name, trans, aliases, all int) {
	b := ix[:lineFixed]
	aid, name, trans = int(b[9]), int(b[10]), int(binary.LittleEndian.Uint16(b[11:]))
	aliases = int(binary.LittleEndian.Uint32(b[13:]))
	return aid, name, trans, aliases, lineFixed + aid + len(keyGap) + name + trans + aliases
}

// next cuts the first line off a non-empty index.
func (ix index) next() (line, index) {
	aid, name, trans, _, all := ix.sizes()
	l := line{
		off: int(binary.LittleEndian.Uint32(ix)), size: int(binary.LittleEndian.Uint32(ix[4:])),
		archived: ix[8] == 1,
	}
	rest := ix[lineFixed:all]
	l.aid, rest = rest[:aid], rest[aid+len(keyGap):]
	l.name, rest = rest[:name], rest[name:]
	l.transcript, l.aliases = rest[:trans], rest[trans:]
	return l, ix[all:]
}

// agent knows the station by the name: both agree in every registry that was
// checked, and the index need not hold it twice.
func (l line) agent() policy.Agent {
	a := policy.Agent{Name: string(l.name), AID: string(l.aid), Archived: l.archived, Transcript: l.file()}
	_, a.Station = mail.SplitStation(a.Name)
	return a
}

func (l line) far() bool { return bytes.IndexByte(l.name, '@') >= 0 }

// file returns the transcript's name; the usual one is not written down.
func (l line) file() string {
	if len(l.transcript) == 0 {
		return defaultTranscript(string(l.name))
	}
	return string(l.transcript)
}

func defaultTranscript(name string) string { return "_inbox_" + name + ".md" }

// cutLine cuts the start of an agent's line. Nothing vouches for raw yet, so
// every step may find that it is something else.
func cutLine(raw []byte, l *line) (ok bool) {
	rest, ok := cutPrefix(raw, lineAID)
	if l.aid, rest, ok = cutQuoted(rest, ok); !ok || len(l.aid) > 255 {
		return false
	}
	rest, ok = cutPrefix(rest, lineName)
	if l.name, rest, ok = cutQuoted(rest, ok); !ok || len(l.name) > 255 {
		return false
	}
	l.key = raw[len(lineAID) : len(lineAID)+len(l.aid)+len(keyGap)+len(l.name)]
	if after, found := cutPrefix(rest, lineArch); found {
		l.archived, rest = true, after
	}
	if after, found := cutPrefix(rest, lineAliases); found {
		end := bytes.IndexByte(after, ']')
		if end < 0 {
			return false
		}
		l.aliases, rest = after[:end], after[end+1:]
	}
	if after, found := cutPrefix(rest, lineTrans); found {
		l.transcript, _, ok = cutQuoted(after, true)
	}
	return ok && len(l.transcript) <= 0xffff
}

func cutPrefix(b []byte, prefix string) ([]byte, bool) {
	if len(b) < len(prefix) || string(b[:len(prefix)]) != prefix {
		return b, false
	}
	return b[len(prefix):], true
}

// cutQuoted cuts at the closing quote. Names, aids and names of transcripts
// need no JSON escape, and are too short for anything but a plain loop.
func cutQuoted(b []byte, ok bool) (value, rest []byte, found bool) {
	for i, c := range b {
		if c == '"' {
			return b[:i], b[i+1:], ok
		}
	}
	return nil, b, false
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
	for rest := r.index; len(rest) > 0; {
		aid, n, _, aliases, all := rest.sizes()
		at := lineFixed + aid + len(keyGap)
		if n == len(name) && string(rest[at:at+n]) == name ||
			aliases > 0 && bytes.Contains(rest[all-aliases:all], quoted) {
			l, _ := rest.next()
			return l, true
		}
		rest = rest[all:]
	}
	return line{}, false
}

func (r *Registry) byAID(aid string) (line, bool) {
	for rest := r.index; len(rest) > 0; {
		n, _, _, _, all := rest.sizes()
		if n == len(aid) && string(rest[lineFixed:lineFixed+n]) == aid {
			l, _ := rest.next()
			return l, true
		}
		rest = rest[all:]
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
