package policy

import (
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// RemindEvery is how long the next reminder of one debt has to wait, unless a
// person insists.
const RemindEvery = time.Hour

// MayChase reports whether somebody may have the debtor reminded, or waive the
// debt: a person, or whom it is owed to. by is an aid; "" is a person.
func MayChase(d Debt, by string) bool { return by == "" || by == d.Creditor }

// RemindedLately reports whether the debtor was reminded less than RemindEvery
// ago, by whomever.
func RemindedLately(d Debt, now time.Time) bool {
	return !d.LastReminded.IsZero() && now.Sub(d.LastReminded) < RemindEvery
}

// Remind makes the notice by which somebody has the debtor reminded, due or not.
// Its cause counts those before it: the same one repeated after a crash is the
// same notice, and the next one is another. by is an aid; "" is a person.
func Remind(d Debt, dir Directory, by string, now time.Time) Tell {
	due := ", due since "
	if now.Before(d.Due) {
		due = ", due at "
	}
	return Tell{
		To: named(dir, d.Debtor), Cause: "asked:" + string(d.Kind) + ":" + d.Debtor + ":" + strconv.Itoa(d.Reminders),
		Text: sayName(dir, by, "A person") + " reminds you: you owe " + sayName(dir, d.Creditor, "a person") + " " + d.owes() + string(d.ID) +
			due + d.Due.UTC().Format("2006-01-02 15:04 UTC") + howToAnswer(d.ID),
	}
}

// Waived makes the notices that a debt is waived: to the debtor, and to whom it
// was owed if somebody else waived it. why is a person's reason; an agent's words
// do not become the office's.
func Waived(d Debt, dir Directory, by, why string) []Tell {
	who := sayName(dir, by, "A person")
	reason := ""
	if why = strings.TrimSpace(why); why != "" && by == "" {
		reason = " They wrote:\n\n" + why
	}
	stage := string(d.Kind) + ":" + d.Debtor
	out := []Tell{{
		To: named(dir, d.Debtor), Cause: "waived:" + stage,
		Text: who + " waived what you owed " + sayName(dir, d.Creditor, "a person") + ": " + d.owes() + string(d.ID) +
			". Nothing is expected of you for it any more." + reason,
	}}
	if creditor, ok := dir.ByAID(d.Creditor); ok && by != d.Creditor {
		out = append(out, Tell{
			To: creditor, Cause: "waived:" + stage,
			Text: who + " waived what " + named(dir, d.Debtor).Name + " owed you: " + d.owes() + string(d.ID) +
				". Do not wait for it." + reason,
		})
	}
	return out
}

// named is an agent by its aid, with the aid for a name if nobody has it.
func named(dir Directory, aid string) Agent {
	if a, ok := dir.ByAID(aid); ok {
		return a
	}
	return Agent{Name: aid, AID: aid}
}

func sayName(dir Directory, aid, person string) string {
	if aid == "" || aid == mail.NameHuman {
		return person
	}
	return named(dir, aid).Name
}
