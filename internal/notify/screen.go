package notify

import (
	"strconv"
	"strings"
	"unicode"
)

// screen is what a terminal shows.
type screen struct {
	x, y int // of the cursor, in cells from the top left
	rows []row
}

// row is one line of it. faint cells hold what a program suggests, not what
// anybody typed.
type row struct {
	text  []rune
	faint []bool
}

// parseScreen reads what tmux capture-pane -e prints.
func parseScreen(text string, x, y int) screen {
	s := screen{x: x, y: y}
	faint := false
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		var r row
		for rest := []rune(line); len(rest) > 0; {
			if rest[0] == '\x1b' {
				var params string
				var sgr bool
				if params, sgr, rest = escape(rest[1:]); sgr {
					faint = faintAfter(faint, params)
				}
				continue
			}
			if !unicode.IsControl(rest[0]) {
				r.text, r.faint = append(r.text, rest[0]), append(r.faint, faint)
			}
			rest = rest[1:]
		}
		s.rows = append(s.rows, r)
	}
	return s
}

// escape takes one escape sequence off, behind its ESC; sgr says that it sets
// attributes.
func escape(in []rune) (params string, sgr bool, rest []rune) {
	if len(in) == 0 {
		return "", false, nil
	}
	switch in[0] {
	case '[':
		for i, c := range in[1:] {
			if c >= '@' && c <= '~' {
				return string(in[1 : i+1]), c == 'm', in[i+2:]
			}
		}
		return "", false, nil
	case ']': // a title or a link, up to BEL or ESC \
		for i, c := range in {
			if c == '\a' {
				return "", false, in[i+1:]
			}
			if c == '\x1b' {
				return "", false, in[min(len(in), i+2):]
			}
		}
		return "", false, nil
	}
	return "", false, in[1:]
}

// faintAfter applies the parameters of an SGR sequence.
func faintAfter(faint bool, params string) bool {
	p := strings.Split(strings.ReplaceAll(params, ":", ";"), ";")
	for i := 0; i < len(p); i++ {
		n, _ := strconv.Atoi(p[i]) // empty is 0
		switch n {
		case 0, 22:
			faint = false
		case 2:
			faint = true
		case 38, 48, 58: // a colour: its own parameters follow
			if i+1 < len(p) && p[i+1] == "5" {
				i += 2
			} else {
				i += 4
			}
		}
	}
	return faint
}

func (s screen) row(y int) row {
	if y < 0 || y >= len(s.rows) {
		return row{}
	}
	return s.rows[y]
}

// from is the row's text from a column on; typed leaves out what is faint.
func (r row) from(x int, typed bool) string {
	var b strings.Builder
	for i := x; i < len(r.text); i++ {
		if !typed || !r.faint[i] {
			b.WriteRune(r.text[i])
		}
	}
	return b.String()
}

func (r row) blank() bool { return strings.TrimSpace(r.from(0, false)) == "" }

// rule reports whether the row is a horizontal line, perhaps with a title in it.
func (r row) rule() bool {
	t := strings.TrimSpace(r.from(0, false))
	return strings.HasPrefix(t, "───") && strings.HasSuffix(t, "─")
}

// look is what a known CLI's screen says of its prompt.
type glance int

const (
	strange glance = iota // no prompt where it should be: a dialog, a menu, something new
	working               // a turn runs
	empty                 // the prompt is there, and nothing is typed
	typed                 // somebody typed something
)

// cliScreen says how one CLI draws its prompt: marker, space, text; further
// lines are indented below.
type cliScreen struct {
	marker   rune
	margin   int      // blank columns before the marker
	ruled    bool     // between two horizontal lines; else between two blank rows
	programs []string // what runs in its pane
	hint     string   // what it shows near the prompt while a turn runs
	invites  string   // what stands in an empty prompt, if it is not faint
}

// text is the column where what is typed begins.
func (c cliScreen) text() int { return c.margin + 2 }

// cliScreens is the table of the CLIs whose screens are known, by runtime; it
// was recorded on the real programs (testdata/screens).
func cliScreens() map[string]cliScreen {
	return map[string]cliScreen{
		"claude": {marker: '❯', ruled: true, programs: []string{"claude", "node"}, hint: "esc to interrupt"},
		"codex":  {marker: '›', programs: []string{"codex", "node"}, hint: "esc to interrupt"},
		"gemini": {marker: '>', margin: 1, programs: []string{"gemini", "node"}, hint: "esc to cancel", invites: "Type your message or @path/to/file"},
	}
}

// promptRows bounds how many lines of a prompt are looked at.
const promptRows = 12

// read says what the screen shows, and the text in the prompt without its
// white space. Whatever is not surely a prompt is strange.
func (c cliScreen) read(s screen) (glance, string) {
	top := s.y
	for top > s.y-promptRows && !c.marked(s.row(top)) {
		if !indented(s.row(top)) {
			return strange, ""
		}
		top--
	}
	if !c.marked(s.row(top)) || !c.border(s.row(top-1)) {
		return strange, ""
	}
	end := top + 1
	for end < top+promptRows && !c.border(s.row(end)) {
		if !indented(s.row(end)) {
			return strange, ""
		}
		end++
	}
	if end <= s.y || !c.border(s.row(end)) {
		return strange, ""
	}
	var text strings.Builder
	for y := top; y < end; y++ {
		text.WriteString(s.row(y).from(c.text(), true))
	}
	draft := squeeze(text.String())
	if c.invites != "" && draft == squeeze(c.invites) && s.x == c.text() && s.y == top {
		draft = ""
	}
	switch {
	case c.busy(s, top, end):
		return working, draft
	case draft != "":
		return typed, draft
	case s.x != c.text() || s.y != top || end != top+1:
		return strange, "" // the cursor is not where typing would begin
	}
	return empty, ""
}

func (c cliScreen) marked(r row) bool {
	if len(r.text) <= c.margin || r.text[c.margin] != c.marker || strings.TrimSpace(string(r.text[:c.margin])) != "" {
		return false
	}
	return len(r.text) == c.margin+1 || unicode.IsSpace(r.text[c.margin+1])
}

func (c cliScreen) border(r row) bool {
	if c.ruled {
		return r.rule()
	}
	return r.blank()
}

// busy looks for the hint that the CLI shows during a turn: in the lines just
// around the prompt, so that the same words in the conversation count little.
func (c cliScreen) busy(s screen, top, end int) bool {
	for y := top - 4; y < end+4; y++ {
		if (y < top || y >= end) && strings.Contains(s.row(y).from(0, false), c.hint) {
			return true
		}
	}
	return false
}

func indented(r row) bool {
	t := r.from(0, false)
	return strings.HasPrefix(t, "  ") && strings.TrimSpace(t) != ""
}

// shows reports whether the text stands anywhere on the screen, however it is
// wrapped and indented.
func (s screen) shows(text string) bool {
	var b strings.Builder
	for _, r := range s.rows {
		b.WriteString(squeeze(r.from(0, false)))
	}
	return strings.Contains(b.String(), squeeze(text))
}

// squeeze drops white space: a terminal wraps where it likes.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}
