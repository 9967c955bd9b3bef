package notify

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/postroom/postroom/internal/mail"
)

// MaxAsks bounds how many approvals a notice to a person names.
const MaxAsks = 20

// PersonOnly reports whether an adapter tells people, and wakes no agent.
func PersonOnly(kind string) bool { return kind == KindDesktop || kind == KindBell }

// ForPeople reports whether a person can be told by an adapter of that kind.
func ForPeople(kind string) bool {
	return PersonOnly(kind) || kind == KindExec || kind == "webhook"
}

// Bounds of what of a message a notice may show, in bytes.
const (
	subjectMax = 300
	bodyMax    = 2000
)

// Asked is one approval that a notice to a person is about (design §13). Subject
// and Body are set only if the person's own settings say so; they are an agent's
// words, and adapters show them as such.
type Asked struct {
	Approval string    `json:"approval"`
	Kind     string    `json:"kind"` // question, notice, release
	From     string    `json:"from"` // who asks
	Expires  time.Time `json:"expires,omitzero"`
	Subject  string    `json:"subject,omitempty"`
	Body     string    `json:"body,omitempty"`
}

// check returns what is wrong with an ask, or "".
func (a Asked) check() string {
	word := func(s string, dash bool) bool {
		return s != "" && strings.IndexFunc(s, func(r rune) bool { return r > 0x7f || !alnum(byte(r)) && (!dash || r != '-') }) < 0
	}
	_, err := mail.ParseSender(a.From)
	switch {
	case !word(a.Approval, true) || !strings.HasPrefix(a.Approval, "ap-"):
		return "not an approval's id: " + line(a.Approval, 40)
	case !word(a.Kind, false):
		return "not a kind of approval: " + line(a.Kind, 40)
	case err != nil:
		return "not a sender: " + line(a.From, 70)
	case !clean(a.Subject) || len(a.Subject) > subjectMax:
		return "control characters in a subject, or too much of it"
	case !clean(strings.NewReplacer("\n", "", "\t", "").Replace(a.Body)) || len(a.Body) > bodyMax:
		return "control characters in a body, or too much of it"
	}
	return ""
}

// OfficeCommand writes a command of program that looks at an office, quoted as
// Command does.
func OfficeCommand(program, verb, office string) string {
	if program == "" {
		program = "post"
	}
	return quote(program) + " " + verb + " --office " + quote(office)
}

// Title is a notice's first line, for where a title is shown: our own words and
// names.
func (p Pointer) Title() string {
	switch {
	case p.Test:
		return "Postroom: a test"
	case len(p.Asks) == 1:
		a := p.Asks[0]
		switch a.Kind {
		case "question":
			return "Postroom: " + a.From + " asks you"
		case "release":
			return "Postroom: a message of " + a.From + " is held"
		}
		return "Postroom: " + a.From + " tells you something"
	case len(p.Asks) > 1:
		return fmt.Sprintf("Postroom: %d wait for you", p.Count)
	}
	return "Postroom: mail for " + p.Agent
}

// Body is the rest of a notice: what Text says, then a line for each ask whose
// subject may be shown, and its text if that may be, each behind who wrote it.
// No more than max bytes.
func (p Pointer) Body(max int) string {
	var b strings.Builder
	b.WriteString(p.Text)
	for _, a := range p.Asks {
		if a.Subject == "" {
			continue
		}
		fmt.Fprintf(&b, "\n%s writes: %s", a.From, a.Subject)
		if a.Body != "" {
			b.WriteString("\n" + a.Body)
		}
	}
	return shorten(b.String(), max)
}

// shorten cuts text to at most max bytes, between characters.
func shorten(s string, max int) string {
	if len(s) <= max {
		return s
	}
	s = s[:max-len("…")]
	for len(s) > 0 && !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "…"
}
