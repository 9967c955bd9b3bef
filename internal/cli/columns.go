package cli

import "unicode/utf8"

// columns is how much room neutralised text takes on a terminal: two columns
// for East Asian wide characters and most pictures, one for the rest.
func columns(s string) int {
	n := utf8.RuneCountInString(s)
	for _, r := range s {
		if wide(r) {
			n++
		}
	}
	return n
}

func wide(r rune) bool {
	for _, span := range [...][2]rune{
		{0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xac00, 0xd7a3}, {0xf900, 0xfaff},
		{0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
	} {
		if r >= span[0] && r <= span[1] {
			return true
		}
	}
	return false
}

// fit cuts text to some columns.
func fit(s string, room int) string {
	if columns(s) <= room {
		return s
	}
	used := 0
	for i, r := range s {
		used++
		if wide(r) {
			used++
		}
		if used > room-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// fitEnd cuts text to its last columns: a path tells most there.
func fitEnd(s string, room int) string {
	if columns(s) <= room {
		return s
	}
	for columns(s) > room-1 && s != "" {
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
	}
	return "…" + s
}
