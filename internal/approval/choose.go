package approval

import (
	"errors"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
)

// The choices of a release that names none.
const (
	Deliver = "deliver"
	Stop    = "stop"
)

// Choices lists what a person may choose; empty for a notice and for a
// question that takes text only.
func (a *Approval) Choices() []string {
	if a.Kind == policy.Release && len(a.Options) == 0 {
		return []string{Deliver, Stop}
	}
	return a.Options
}

// Choose finds the option that word means: an option as a whole, else the only
// one that starts so, in any case of letters.
//
// Errors: KindInvalid (no such option), KindAmbiguous. The hint lists the
// options.
func (a *Approval) Choose(word string) (string, error) {
	choices := a.Choices()
	fail := func(kind mail.Kind, what string) (string, error) {
		return "", &mail.Error{Op: "choose", Kind: kind, Addr: quote(word), Err: errors.New(what), Hint: a.hint()}
	}
	word = fold(word)
	if word == "" {
		return fail(mail.KindInvalid, "nothing chosen")
	}
	for _, match := range []func(option string) bool{
		func(option string) bool { return option == word },
		func(option string) bool { return strings.HasPrefix(option, word) },
	} {
		var found []string
		for _, c := range choices {
			if match(fold(c)) && !slices.Contains(found, c) {
				found = append(found, c)
			}
		}
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return fail(mail.KindAmbiguous, "several options match")
		}
	}
	return fail(mail.KindInvalid, "no such option")
}

// Rejecting reports whether choosing the option says no: its name, up to the
// first punctuation, is no, reject, deny, stop or refuse.
func Rejecting(option string) bool {
	switch leading(option) {
	case "no", "reject", "deny", "stop", "refuse":
		return true
	}
	return false
}

// allowing is its counterpart for a release. What is neither lets nothing
// through.
func allowing(option string) bool {
	switch leading(option) {
	case "yes", "deliver", "allow", "release", "approve":
		return true
	}
	return false
}

func leading(option string) string {
	option = fold(option)
	option, _, _ = strings.Cut(option, " - ")
	if i := strings.IndexAny(option, ",;:.!(–—"); i >= 0 {
		option = option[:i]
	}
	return strings.TrimSpace(option)
}

func fold(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// settle turns what a person said into a decision that a may end with.
// d.Verdict is "", or VerdictRejected where a person says no whatever was
// chosen, or what the rest of d amounts to anyway.
func (a *Approval) settle(d Decision) (Decision, error) {
	fail := func(what string) (Decision, error) {
		return Decision{}, &mail.Error{Op: "decide", Kind: mail.KindInvalid, Addr: a.ID,
			Err: errors.New(what), Hint: a.hint()}
	}
	if d.By == "" || d.At.IsZero() {
		return fail("nobody, or no time, is named")
	}
	if d.Choice != "" {
		choice, err := a.Choose(d.Choice)
		if err != nil {
			return Decision{}, err
		}
		d.Choice = choice
	}
	said := d.Verdict
	switch d.Verdict = a.verdict(&d); {
	case d.Verdict == "":
		return fail("nothing was chosen")
	case said != "" && said != d.Verdict:
		return fail("it cannot end as " + quote(string(said)) + " with that choice")
	}
	d.At = d.At.UTC()
	return d, nil
}

// verdict is what d amounts to; "" if it says nothing.
func (a *Approval) verdict(d *Decision) Verdict {
	no := d.Verdict == VerdictRejected
	switch a.Kind {
	case policy.Notice:
		return VerdictRead
	case policy.Release:
		switch {
		case allowing(d.Choice):
			return VerdictAllowed
		case no || d.Choice != "":
			return VerdictRejected
		}
	case policy.Question:
		switch {
		case no || Rejecting(d.Choice):
			return VerdictRejected
		case d.Choice != "" || strings.TrimSpace(d.Text) != "":
			return VerdictAnswered
		}
	}
	return ""
}

// hint says how to decide a.
func (a *Approval) hint() string {
	switch c := a.Choices(); {
	case len(c) > 0:
		return "choose one of: " + strings.Join(c, ", ")
	case a.Kind == policy.Notice:
		return "a notice is closed by reading it"
	}
	return "answer with text"
}
