package approval

import "github.com/postroom/postroom/internal/mail"

// longestAnswer is how much of an answer one line shows, in characters.
const longestAnswer = 200

// Says tells a decision in one line, for a person: neutralised.
func (d *Decision) Says() string {
	text := string(d.Verdict) + " by " + d.By + " at " + d.At.UTC().Format(stamp)
	if d.Choice != "" {
		text += ": " + d.Choice
	}
	if d.Text != "" {
		text += ": " + mail.CutSubject(d.Text, longestAnswer)
	}
	return mail.Neutralise(text, false)
}
