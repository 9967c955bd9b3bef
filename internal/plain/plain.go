// Package plain is for JSON that holds no surprise: our own small files and
// lines, as our own programs write them. Through encoding/json they cost a short
// process more than everything else it does with them, most of it for learning
// their types.
//
// Invariants. What is written here is what encoding/json would write, byte for
// byte. What is read here and is not bad means what encoding/json would say;
// anything else is bad, and for encoding/json to judge. Never for what a message
// or somebody else's program holds.
package plain

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text reports whether s stands between quotes as it is.
func Text(s string) bool {
	ascii := true
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			return false
		} else if c >= utf8.RuneSelf {
			ascii = false
		}
	}
	return ascii || utf8.ValidString(s) && !strings.ContainsAny(s, "\u2028\u2029")
}

// Writer makes an object, member by member. The zero value is ready. After a
// text that is not plain it is bad.
type Writer struct {
	Bytes []byte
	Bad   bool
}

// Raw adds what needs no look: braces, keys, punctuation.
func (w *Writer) Raw(s string) { w.Bytes = append(w.Bytes, s...) }

// Text adds key, which ends before the opening quote, and s.
func (w *Writer) Text(key, s string) {
	w.Bad = w.Bad || !Text(s)
	w.Bytes = append(append(w.Bytes, key...), '"')
	w.Bytes = append(append(w.Bytes, s...), '"')
}

// Some is Text for what is left out if it is empty.
func (w *Writer) Some(key, s string) {
	if s != "" {
		w.Text(key, s)
	}
}

// Number adds key and n.
func (w *Writer) Number(key string, n int64) {
	w.Bytes = strconv.AppendInt(append(w.Bytes, key...), n, 10)
}

// Cutter takes an object apart, from its front and in the order in which it was
// written.
type Cutter struct {
	Rest string
	Bad  bool // it is not plain, or something else stood there
}

// After takes key off, if it is next.
func (c *Cutter) After(key string) bool {
	rest, ok := strings.CutPrefix(c.Rest, key)
	if ok {
		c.Rest = rest
	}
	return ok
}

// Must takes key off, and is bad if something else is next.
func (c *Cutter) Must(key string) { c.Bad = !c.After(key) || c.Bad }

// Text takes off the rest of a text, whose opening quote is gone, with the
// closing one.
func (c *Cutter) Text() string {
	n := strings.IndexByte(c.Rest, '"')
	if n < 0 || !Text(c.Rest[:n]) {
		c.Bad = true
		return ""
	}
	s := c.Rest[:n]
	c.Rest = c.Rest[n+1:]
	return s
}

// Some takes off key, which ends with the opening quote, and its text, if key is
// next.
func (c *Cutter) Some(key string) string {
	if !c.After(key) {
		return ""
	}
	return c.Text()
}

// Number takes off a number without a sign; up to 63 bits.
func (c *Cutter) Number() uint64 {
	n := 0
	for n < len(c.Rest) && c.Rest[n] >= '0' && c.Rest[n] <= '9' {
		n++
	}
	v, err := strconv.ParseUint(c.Rest[:n], 10, 63)
	if err != nil || n > 1 && c.Rest[0] == '0' {
		c.Bad = true
	}
	c.Rest = c.Rest[n:]
	return v
}
