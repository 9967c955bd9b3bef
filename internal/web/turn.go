package web

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/search"
)

const (
	// foldAbove is how long a text may be before it is folded, foldTo what is shown
	// of it then, in bytes.
	foldAbove = 4 << 10
	foldTo    = 2 << 10
)

// turn is one message of a conversation.
type turn struct {
	ID       mail.ID
	From, To string
	CC       []string
	Act      mail.Act
	Subject  string // "" if it is that of the message before
	about    string
	At       time.Time
	Voice    string // "person", "office" or "agent"
	ReplyTo  mail.ID
	Here     bool // what it replies to is shown on this page
	Body     template.HTML
	Folded   bool
	Size     string
	Deadline time.Time
	Owed     []mailbox.Owed
	Settled  bool   // it obliged somebody, and nothing is owed any more
	Fate     string // what became of it, as far as receipts say
	Asked    *asked
}

// asked is what a message put before a person.
type asked struct {
	ID, Kind, Why string
	Options       []option
	Seen          string // for the form that decides
	Expires       time.Time
	Open          bool
	Verdict       string
	Choice, Text  string
	By            string
	At            time.Time
}

func turnOf(d *cli.Desk, h search.Hit, notes openNotes, v *threadView) turn {
	m := h.Message
	t := turn{ID: m.ID, From: m.From, To: m.To, CC: m.CC, Act: m.Act, At: m.CreatedAt, Voice: voiceOf(m.From), ReplyTo: m.InReplyTo,
		Deadline: m.Deadline, Owed: notes.byID[m.ID], Fate: fateOf(h.States), Asked: askedBy(d, m)}
	before := v.Subject
	if n := len(v.Turns); n > 0 {
		before = v.Turns[n-1].about
	}
	if t.about = m.Subject; !strings.EqualFold(bareSubject(m.Subject), bareSubject(before)) {
		t.Subject = m.Subject
	}
	t.Here = slices.ContainsFunc(v.Turns, func(x turn) bool { return x.ID == m.InReplyTo })
	t.Settled = m.Act.Obliges() && m.To != mail.NameHuman && len(t.Owed) == 0 && t.Asked == nil
	t.Body, t.Folded = folded(m.Body, v.Open == m.ID)
	if t.Folded {
		t.Size = bytesWords(len(m.Body))
	}
	return t
}

// folded renders a text, or its beginning if it is long.
func folded(body string, whole bool) (out template.HTML, cutOff bool) {
	if whole || len(body) <= foldAbove {
		return markdown(body), false
	}
	return markdown(mail.Parts(body, foldTo)[0]), true
}

func voiceOf(from string) string {
	switch from {
	case mail.NameHuman:
		return "person"
	case mail.NamePostroom:
		return "office"
	}
	return "agent"
}

// bareSubject is a subject without what replies put before it.
func bareSubject(s string) string {
	for {
		s = strings.TrimSpace(s)
		if len(s) < 3 || !strings.EqualFold(s[:3], "re:") {
			return s
		}
		s = s[3:]
	}
}

// askedBy finds what a message put before a person, nil if nothing.
func askedBy(d *cli.Desk, m *mail.Message) *asked {
	kinds := []policy.AskKind{policy.Release}
	if m.To == mail.NameHuman || m.NeedsHuman {
		kinds = []policy.AskKind{policy.Question, policy.Notice, policy.Release}
	}
	for _, kind := range kinds {
		a, dec, err := approval.Get(d.Office.FS, approval.IDFor(kind, m.ID, ""))
		if err != nil || a == nil {
			continue
		}
		out := &asked{ID: a.ID, Kind: string(a.Kind), Why: a.Why, Seen: seen(a), Expires: a.Expires, Open: dec == nil}
		for _, name := range a.Choices() {
			out.Options = append(out.Options, option{Name: name, No: approval.Rejecting(name)})
		}
		if dec != nil {
			out.Verdict, out.Choice, out.Text, out.By, out.At = string(dec.Verdict), dec.Choice, dec.Text, dec.By, dec.At
		}
		return out
	}
	return nil
}

// fateOf says in few words what became of a message.
func fateOf(list []search.State) string {
	var out []string
	if len(list) <= 3 {
		for _, s := range list {
			if s.Agent == "" {
				continue // the message's own: shown by what was asked
			}
			out = append(out, s.State+" by "+s.Agent)
			if s.State == "unread" {
				out[len(out)-1] = s.Agent + " has not read it"
			}
		}
		return strings.Join(out, ", ")
	}
	count := map[string]int{}
	for _, s := range list {
		count[s.State]++
	}
	for _, s := range slices.Backward(search.States()) {
		if count[s] > 0 {
			out = append(out, fmt.Sprintf("%d %s", count[s], s))
		}
	}
	return strings.Join(out, ", ")
}

// bytesWords is a size for a person.
func bytesWords(n int) string {
	switch {
	case n < 1<<10:
		return plural(n, "byte", "bytes")
	case n < 1<<20:
		return fmt.Sprintf("%d KB", (n+512)>>10)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}
