package notify

import (
	"fmt"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/postroom/postroom/internal/mail"
)

// evidenceMax bounds evidence, in bytes.
const evidenceMax = 300

// Command writes the command that an agent runs to see its mail. The office
// is quoted for a POSIX shell (cmd and PowerShell on Windows) where needed.
func Command(program, agent, office string) string {
	return quote(program) + " inbox --as " + agent + " --office " + quote(office)
}

// text is the pointer in our own words.
func text(p Pointer, again bool) string {
	what := plural(p.Count, "new message", "new messages")
	if again {
		what = plural(p.Count, "message still unread", "messages still unread")
	}
	var more []string
	if p.Unread > p.Count {
		more = append(more, fmt.Sprintf("%d unread in all", p.Unread))
	}
	if p.Oblige > 0 {
		more = append(more, plural(p.Oblige, "expects an answer", "expect an answer"))
	}
	if len(more) > 0 {
		what += " (" + strings.Join(more, ", ") + ")"
	}
	return what + ": run `" + p.Command + "`"
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func quote(s string) string {
	plain := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune(`/._-+:\`, r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 &&
		(runtime.GOOS == "windows" || !strings.Contains(s, `\`)) {
		return s
	}
	if runtime.GOOS == "windows" {
		return `"` + s + `"` // a path there cannot hold a quote
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// line makes s one line of at most max bytes that no terminal and no reader
// can take for anything but text.
func line(s string, max int) string {
	var b strings.Builder
	gap := false
	for _, r := range s {
		if r == utf8.RuneError {
			r = '?'
		}
		if unicode.IsSpace(r) || hidden(r) {
			gap = b.Len() > 0
			continue
		}
		if b.Len()+utf8.RuneLen(r)+1 > max-len("…") {
			b.WriteString("…")
			break
		}
		if gap {
			b.WriteByte(' ')
			gap = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// hidden reports whether r controls the display instead of being seen:
// C0, C1, line and paragraph separators, bidirectional marks, tags.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}

func clean(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, hidden) < 0
}

func validName(s string) bool {
	_, err := mail.ParseName(s)
	return err == nil
}

func alnum(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

// validAID says whether a stable id may name a file under wake/: what the
// registry accepts.
func validAID(s string) bool {
	ok := s != "" && len(s) <= 64
	for _, c := range []byte(s) {
		ok = ok && (alnum(c) || c >= 'A' && c <= 'Z' || c == '-' || c == '_')
	}
	return ok
}
