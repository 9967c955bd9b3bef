package top

import "github.com/charmbracelet/x/ansi"

// look is what a piece of text means; the theme says how that appears.
type look int

const (
	plain look = iota
	dim
	bold
	accent
	good
	warn
	bad
)

// theme gives looks their appearance. Without colour nothing is told by colour
// alone: words say it, too.
type theme struct{ colour, light bool }

func (t theme) code(l look) string {
	pick := func(dark, light string) string {
		switch {
		case !t.colour:
			return ""
		case t.light:
			return light
		}
		return dark
	}
	switch l {
	case dim:
		return pick("38;5;245", "38;5;241")
	case bold:
		return "1"
	case accent:
		return pick("38;5;80", "38;5;25")
	case good:
		return pick("38;5;114", "38;5;22")
	case warn:
		return pick("38;5;221", "38;5;94")
	case bad:
		return pick("38;5;210", "38;5;124")
	}
	return ""
}

func (t theme) paint(l look, s string) string { return sgr(t.code(l), s) }

// strong is text that begins something.
func (t theme) strong(l look, s string) string {
	code := "1"
	if c := t.code(l); c != "" && c != "1" {
		code += ";" + c
	}
	return sgr(code, s)
}

// chosen is a line that the cursor is on. Its own looks would be unreadable in
// reverse.
func (t theme) chosen(s string) string { return sgr("7", ansi.Strip(s)) }

func sgr(code, s string) string {
	if code == "" || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[m"
}
