package reach

import (
	"fmt"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/policy"
)

// What a notice shows at most, in bytes, if the person wants to see more of a
// message than who asks.
const (
	subjectMax = 200
	bodyMax    = 1000
)

// pointer makes the notice of what is due. open is all that waits.
func (r *Reacher) pointer(list []due, open []approval.Approval) notify.Pointer {
	p := notify.Pointer{Agent: mail.NameHuman, Office: r.Office, OfficeID: r.OfficeID, Count: len(list), Command: r.command(list)}
	again := true
	seen := map[mail.ID]bool{}
	for _, d := range list {
		again = again && d.stage == second
		p.Asks = append(p.Asks, r.askOf(d.approval))
		if id := d.approval.Message; !seen[id] && len(p.IDs) < notify.MaxIDs {
			seen[id] = true
			p.IDs = append(p.IDs, id)
		}
	}
	p.Asks = p.Asks[:min(len(p.Asks), notify.MaxAsks)]
	for _, a := range open {
		if a.Broken == nil {
			p.Unread++
		}
		if a.Broken == nil && a.Kind != policy.Notice {
			p.Oblige++
		}
	}
	p.Text = r.text(list, again) + ": run `" + p.Command + "`"
	return p
}

// command is what shows what the notice is about.
func (r *Reacher) command(list []due) string {
	verb := "approvals"
	if len(list) == 1 {
		verb += " " + list[0].approval.ID
	}
	return notify.OfficeCommand(r.Program, verb, r.Office)
}

// text says what waits, in our own words.
func (r *Reacher) text(list []due, again bool) string {
	count := map[policy.AskKind]int{}
	for _, d := range list {
		count[d.approval.Kind]++
	}
	var parts []string
	for _, k := range []struct {
		kind      policy.AskKind
		one, many string
	}{{policy.Question, "question", "questions"}, {policy.Release, "held message", "held messages"}, {policy.Notice, "notice", "notices"}} {
		switch n := count[k.kind]; {
		case n == 1:
			parts = append(parts, "1 "+k.one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, k.many))
		}
	}
	what := strings.Join(parts, ", ")
	verb := " wait for you"
	if len(list) == 1 {
		verb = " waits for you"
	}
	if again {
		verb = strings.Replace(verb, " wait", " still wait", 1)
	}
	what += verb
	if a := list[0].approval; len(list) == 1 && !a.Expires.IsZero() {
		what += ", until " + a.Expires.UTC().Format("2006-01-02 15:04 UTC")
	}
	return what
}

// askOf is one approval as a notice shows it.
func (r *Reacher) askOf(a *approval.Approval) notify.Asked {
	k := notify.Asked{Approval: a.ID, Kind: string(a.Kind), From: a.Asker, Expires: a.Expires}
	if k.From == "" {
		k.From = mail.NamePostroom
	}
	switch r.Person.Show {
	case config.ShowBody:
		k.Body = cut(mail.Neutralise(a.Body, true), bodyMax)
		fallthrough
	case config.ShowSubject:
		k.Subject = cut(strings.Join(strings.Fields(mail.Neutralise(a.Subject, false)), " "), subjectMax)
	}
	return k
}

// cut shortens text to at most max bytes.
func cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return strings.ToValidUTF8(s[:max-len("…")], "") + "…"
}

// testID stands for a message in the notice of a test: there is none.
const testID = mail.ID("2000-01-01T00-00-00-000Z-0000-00000000")

func (r *Reacher) testPointer() notify.Pointer {
	p := notify.Pointer{Agent: mail.NameHuman, IDs: []mail.ID{testID}, Count: 1, Office: r.Office, OfficeID: r.OfficeID,
		Command: notify.OfficeCommand(r.Program, "approvals", r.Office), Test: true}
	p.Text = "this is a test at " + r.Now().UTC().Format(time.DateTime) + " UTC, and nothing waits because of it: run `" + p.Command + "` to see what does"
	return p
}
