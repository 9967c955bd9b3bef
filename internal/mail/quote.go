package mail

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// quoteMax is how much of somebody's text an error repeats, in bytes.
const quoteMax = 60

// quoteShort quotes s for an error: printable, on one line, not long.
func quoteShort(s string) string {
	if len(s) <= quoteMax {
		return strconv.Quote(s)
	}
	cut := quoteMax
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strconv.Quote(s[:cut] + "…")
}

// quoteRune names a character for an error: as itself if it can be seen.
func quoteRune(r rune) string {
	switch {
	case r == ' ':
		return "a space"
	case r == utf8.RuneError:
		return "an invalid character"
	case strconv.IsGraphic(r):
		return "'" + string(r) + "'"
	}
	return "U+" + strings.ToUpper(padHex(r))
}

// padHex returns r in lower-case hex, at least four digits.
func padHex(r rune) string {
	h := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", max(0, 4-len(h))) + h
}
