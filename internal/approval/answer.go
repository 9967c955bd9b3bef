package approval

import (
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
)

// AnswerMessage returns what the asker is told about c, in a message from
// human whose parent is c.Approval.Message. act is "" where nothing has to be
// said: a notice that was read.
func AnswerMessage(c Closed) (act mail.Act, subject, body string) {
	a, d := &c.Approval, &c.Decision
	var first string
	switch a.Kind {
	case policy.Notice:
		if d.Verdict != VerdictExpired {
			return "", "", ""
		}
		first = "Nobody read your notice before it expired."
	case policy.Release:
		first = releaseLine(d)
	default:
		first = questionLine(d)
	}
	var b strings.Builder
	b.WriteString(first + "\n")
	if text := strings.TrimSpace(d.Text); text != "" {
		b.WriteString("\n" + text + "\n")
	}
	if d.Verdict == VerdictExpired {
		b.WriteString("\nIt was put before a person at " + a.Created.UTC().Format(stamp) +
			" and expired at " + a.Expires.UTC().Format(stamp) + ".\n")
	}
	return mail.Inform, answerSubject(a, d), b.String()
}

func questionLine(d *Decision) string {
	switch {
	case d.Verdict == VerdictExpired:
		return "Nobody answered your question in time. This is not a yes: act as if you had not asked, or ask again."
	case d.Verdict == VerdictRejected && d.Choice == "":
		return "The answer is no."
	case d.Verdict == VerdictRejected:
		return "The answer is no: " + oneLine(d.Choice)
	case d.Choice != "":
		return "The answer is: " + oneLine(d.Choice)
	}
	return "The answer to your question:"
}

func releaseLine(d *Decision) string {
	switch d.Verdict {
	case VerdictAllowed:
		return "A person released your message: it is being delivered."
	case VerdictExpired:
		return "Nobody released your message in time. It was stopped and not delivered."
	}
	return "A person stopped your message. It was not delivered: do not send it again."
}

func answerSubject(a *Approval, d *Decision) string {
	word := map[Verdict]string{VerdictAllowed: "released", VerdictRejected: "rejected", VerdictAnswered: "answered", VerdictExpired: "expired"}[d.Verdict]
	if a.Kind == policy.Release && d.Verdict != VerdictAllowed {
		word = "stopped"
	}
	if s := oneLine(a.Subject); s != "" {
		return word + ": " + s
	}
	return word
}

// oneLine keeps text from starting a line of its own.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// AnswerID is the id of that message: the same approval is answered once,
// however often the answer is given.
func (a *Approval) AnswerID() mail.ID { return mail.DerivedID(a.Message, "answer", a.ID) }
