package mail

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CleanSubject puts a subject on one line: each run of white space that holds a
// line break or control character, and each control character, becomes one
// space; white space at both ends goes. So a subject can begin no line of its
// own anywhere (design §10). Other text stays as it is.
func CleanSubject(s string) string {
	if !strings.ContainsFunc(s, breaks) && strings.TrimSpace(s) == s {
		return s
	}
	var b strings.Builder
	rest := strings.TrimFunc(s, blank)
	for rest != "" {
		n := strings.IndexFunc(rest, blank)
		if n < 0 {
			n = len(rest)
		}
		b.WriteString(rest[:n])
		rest = rest[n:]
		n = len(rest) - len(strings.TrimLeftFunc(rest, blank))
		if strings.ContainsFunc(rest[:n], breaks) {
			b.WriteByte(' ')
		} else {
			b.WriteString(rest[:n])
		}
		rest = rest[n:]
	}
	return b.String()
}

// breaks reports whether r is a control character or begins a line somewhere.
func breaks(r rune) bool { return unicode.IsControl(r) || r == 0x2028 || r == 0x2029 }

func blank(r rune) bool { return breaks(r) || unicode.IsSpace(r) }

// Neutralise makes text safe to show on a terminal, in a transcript and to a
// model: nothing in it moves the cursor, hides, reorders or looks like what it
// is not. Controls become control pictures (␛), other characters that cannot be
// seen become [U+202E], invalid UTF-8 becomes U+FFFD. Line feeds and tabs stay
// if multiline, and CR LF becomes a line feed; otherwise all of them become
// pictures or spaces. Neutralising twice changes nothing more.
func Neutralise(s string, multiline bool) string {
	if plain(s, multiline) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	prev := rune(-1)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		next, _ := utf8.DecodeRuneInString(s[i+size:])
		i += size
		switch {
		case r == '\n' && multiline, r == '\t' && multiline:
			b.WriteRune(r)
		case r == '\r' && next == '\n' && multiline:
		case r == '\t':
			b.WriteByte(' ')
		case r < ' ':
			b.WriteRune(0x2400 + r)
		case r == 0x7f:
			b.WriteRune('\u2421')
		case hidden(prev, r, next):
			writeCode(&b, r)
			r = ']'
		default:
			b.WriteRune(r)
		}
		prev = r
	}
	return b.String()
}

// plain is the fast way out: printable ASCII and what may stay.
func plain(s string, multiline bool) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && (!multiline || c != '\n' && c != '\t') || c >= 0x7f {
			return false
		}
	}
	return true
}

func writeCode(b *strings.Builder, r rune) {
	b.WriteString("[U+" + strings.ToUpper(padHex(r)) + "]")
}

// hidden reports whether r cannot be seen or reorders what can. The joiners
// and the two common variation selectors are part of real writing, so they may
// stand alone between two letters or symbols that are not ASCII, or behind one
// character, respectively.
func hidden(prev, r, next rune) bool {
	if r < 0x80 {
		return false
	}
	switch {
	case joiner(r):
		return !(visible(prev) || prev == 0xfe0e || prev == 0xfe0f) || !visible(next)
	case r == 0xfe0e || r == 0xfe0f:
		return prev < '#' || selector(prev) || joiner(prev)
	}
	return unseen(r)
}

// visible reports whether r is a letter or symbol beyond ASCII.
func visible(r rune) bool { return r >= 0x80 && r != utf8.RuneError && !unseen(r) }

func joiner(r rune) bool { return r == 0x200c || r == 0x200d }

func selector(r rune) bool { return r >= 0xfe00 && r <= 0xfe0f }

// unseen reports whether r has no glyph of its own, separates lines, or
// changes the direction of text.
func unseen(r rune) bool {
	switch r {
	case 0x034f, // combining grapheme joiner
		0x115f, 0x1160, 0x3164, 0xffa0, // Hangul fillers
		0x17b4, 0x17b5, // Khmer inherent vowels
		0x2028, 0x2029, // separators
		0x2800, // blank Braille
		0xfffc: // object replacement
		return true
	}
	if selector(r) || r >= 0xe0000 && r <= 0xe0fff { // selectors, tags
		return true
	}
	// Format characters: bidi controls, zero-width ones, soft hyphen; but some
	// Arabic number signs, which can be seen, count among them too.
	if unicode.Is(unicode.Cf, r) {
		return !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
	}
	return unicode.IsControl(r)
}
