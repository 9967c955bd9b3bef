package top

import (
	"slices"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"
)

// field is text that a person types.
type field struct {
	runes []rune
	at    int
	lines bool // may hold line breaks
}

func (f field) String() string { return string(f.runes) }

// longest is how much may be typed or pasted, in characters: a page or ten.
const longest = 20_000

func (f field) insert(s string) field {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	var add []rune
	for _, r := range s {
		switch {
		case r == '\n' && f.lines, r == '\t' && f.lines:
			add = append(add, r)
		case r == '\n' || r == '\t':
			add = append(add, ' ')
		case !unicode.IsControl(r):
			add = append(add, r)
		}
	}
	add = add[:max(0, min(len(add), longest-len(f.runes)))]
	f.runes = slices.Insert(slices.Clone(f.runes), f.at, add...)
	f.at += len(add)
	return f
}

// key edits by one key; ok is false if the key means nothing here.
func (f field) key(k tea.KeyPressMsg) (_ field, ok bool) {
	switch k.String() {
	case "left", "ctrl+b":
		f.at = max(0, f.at-1)
	case "right", "ctrl+f":
		f.at = min(len(f.runes), f.at+1)
	case "home", "ctrl+a":
		f.at = 0
	case "end", "ctrl+e":
		f.at = len(f.runes)
	case "backspace", "ctrl+h":
		return f.cut(max(0, f.at-1)), true
	case "delete", "ctrl+d":
		if f.at < len(f.runes) {
			f.at++
			f = f.cut(f.at - 1)
		}
	case "ctrl+u":
		return f.cut(0), true
	case "ctrl+w":
		from := f.at
		for from > 0 && f.runes[from-1] == ' ' {
			from--
		}
		for from > 0 && f.runes[from-1] != ' ' {
			from--
		}
		return f.cut(from), true
	case "alt+enter", "ctrl+j", "shift+enter":
		if !f.lines {
			return f, false
		}
		return f.insert("\n"), true
	default:
		if k.Text == "" {
			return f, false
		}
		return f.insert(k.Text), true
	}
	return f, true
}

// cut takes out what stands between from and the cursor.
func (f field) cut(from int) field {
	f.runes = slices.Delete(slices.Clone(f.runes), from, f.at)
	f.at = from
	return f
}
