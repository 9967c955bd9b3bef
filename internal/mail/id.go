package mail

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"time"
)

// ID names one message for ever (design §5, spool-format.md §3):
//
//	2026-05-30T14-03-11-123Z-0004-a1b2c3d4
//
// UTC time to the millisecond, a decimal counter of four digits, and the owner
// tag of eight hex digits. All ids have the same length and sort as strings in
// the order of their clocks. The zero ID "" means none.
type ID string

// The shape of an id, in bytes.
const (
	idLen   = 38
	stemLen = 29 // time and counter
	timeLen = 24
	tagLen  = 8

	maxCounter = 9999
)

// idEpoch and idEnd bound the times an id can hold: 1970 to the end of 9999.
const (
	idEpoch int64 = 0
	idEnd   int64 = 253402300799999
)

// ParseID checks that s is an id, to the byte: real calendar date, lower-case
// hex, nothing before or after. So an id can be used as a file name.
func ParseID(s string) (ID, error) {
	if ID(s).Valid() {
		return ID(s), nil
	}
	return "", &Error{
		Op: "parse id", Kind: KindInvalid, Addr: quoteShort(s),
		Err:  errors.New("is not a message id"),
		Hint: "use the whole id as post inbox --json shows it, such as 2026-05-30T14-03-11-123Z-0004-a1b2c3d4",
	}
}

// Valid reports whether id is well-formed.
func (id ID) Valid() bool {
	_, _, ok := id.split()
	return ok
}

// Time returns the id's millisecond in UTC; the zero time if id is not valid.
func (id ID) Time() time.Time {
	ms, _, ok := id.split()
	if !ok {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Counter returns the number, 0 to 9999, that orders ids of one millisecond.
func (id ID) Counter() int {
	_, n, _ := id.split()
	return n
}

// Stem returns time and counter, the first 29 bytes; "" if id is not valid.
func (id ID) Stem() string {
	if !id.Valid() {
		return ""
	}
	return string(id[:stemLen])
}

// Tag returns the eight hex digits at the end; "" if id is not valid.
func (id ID) Tag() string {
	if !id.Valid() {
		return ""
	}
	return string(id[idLen-tagLen:])
}

// Month returns the id's month as "2006-01", the directory of the office's
// copy; "" if id is not valid.
func (id ID) Month() string {
	if !id.Valid() {
		return ""
	}
	return string(id[:7])
}

// Short returns the suffix that people type: the tag.
func (id ID) Short() string { return id.Tag() }

// MatchSuffix reports whether s, in either case, is a suffix of id. The empty
// string matches nothing. Whoever asks must check that only one id matches.
func MatchSuffix(id ID, s string) bool {
	return s != "" && len(s) <= len(id) && strings.EqualFold(string(id[len(id)-len(s):]), s)
}

// OwnerTag returns the tag that binds an id to the agent with stable id aid:
// the first eight hex digits of SHA-256(aid + "\n" + stem). So nobody can give
// a message an id of somebody else's (spool-format.md §3).
func OwnerTag(aid, stem string) string {
	sum := sha256.Sum256([]byte(aid + "\n" + stem))
	return hex.EncodeToString(sum[:tagLen/2])
}

// OwnedBy reports whether id is valid and carries aid's tag.
func (id ID) OwnedBy(aid string) bool {
	return id.Valid() && string(id[idLen-tagLen:]) == OwnerTag(aid, string(id[:stemLen]))
}

// DerivedID returns the id of a message that the office writes because of
// another one: a bounce, a notice, an answer (design §7.9, §13). It has the
// cause's time and counter; its tag is the start of SHA-256 over the cause and
// the parts, each with its length before it. The same cause and parts always
// give the same id, so a crash repeats none. It is never the cause itself.
// An invalid cause gives "".
func DerivedID(cause ID, parts ...string) ID {
	if !cause.Valid() {
		return ""
	}
	b := appendSized(nil, string(cause))
	for _, p := range parts {
		b = appendSized(b, p)
	}
	for {
		sum := sha256.Sum256(b)
		tag := hex.EncodeToString(sum[:tagLen/2])
		if tag != cause.Tag() {
			return cause[:stemLen+1] + ID(tag)
		}
		b = sum[:]
	}
}

// appendSized appends s with its length before it, so that lists of strings
// that differ never hash the same bytes.
func appendSized(dst []byte, s string) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(len(s)))
	return append(dst, s...)
}

// split parses an id into Unix milliseconds and counter.
func (id ID) split() (ms int64, counter int, ok bool) {
	if len(id) != idLen || id[4] != '-' || id[7] != '-' || id[10] != 'T' || id[13] != '-' ||
		id[16] != '-' || id[19] != '-' || id[23] != 'Z' || id[24] != '-' || id[stemLen] != '-' {
		return 0, 0, false
	}
	ok = true
	num := func(from, to int) int {
		n := 0
		for _, c := range []byte(id[from:to]) {
			if c < '0' || c > '9' {
				ok = false
			}
			n = n*10 + int(c-'0')
		}
		return n
	}
	year, month, day := num(0, 4), num(5, 7), num(8, 10)
	hour, minute, sec, milli := num(11, 13), num(14, 16), num(17, 19), num(20, 23)
	counter = num(25, stemLen)
	if !ok || year < 1970 || month < 1 || month > 12 || hour > 23 || minute > 59 || sec > 59 ||
		!lowerHex(string(id[stemLen+1:])) {
		return 0, 0, false
	}
	t := time.Date(year, time.Month(month), day, hour, minute, sec, milli*int(time.Millisecond), time.UTC)
	if t.Day() != day {
		return 0, 0, false
	}
	return t.UnixMilli(), counter, true
}

// newID builds an id; ms must lie between idEpoch and idEnd, counter between 0
// and maxCounter.
func newID(ms int64, counter int, aid string) ID {
	stem := stemOf(ms, counter)
	return ID(stem + "-" + OwnerTag(aid, stem))
}

func stemOf(ms int64, counter int) string {
	t := time.UnixMilli(ms).UTC()
	year, month, day := t.Date()
	hour, minute, sec := t.Clock()
	b := make([]byte, 0, idLen)
	b = appendDigits(b, year, 4)
	b = append(b, '-')
	b = appendDigits(b, int(month), 2)
	b = append(b, '-')
	b = appendDigits(b, day, 2)
	b = append(b, 'T')
	b = appendDigits(b, hour, 2)
	b = append(b, '-')
	b = appendDigits(b, minute, 2)
	b = append(b, '-')
	b = appendDigits(b, sec, 2)
	b = append(b, '-')
	b = appendDigits(b, int(ms%1000), 3)
	b = append(b, 'Z', '-')
	return string(appendDigits(b, counter, 4))
}

// appendDigits appends n in decimal with leading zeros.
func appendDigits(dst []byte, n, width int) []byte {
	for range width {
		dst = append(dst, '0')
	}
	for i := len(dst) - 1; n > 0 && width > 0; i, width = i-1, width-1 {
		dst[i] = byte('0' + n%10)
		n /= 10
	}
	return dst
}

func lowerHex(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
