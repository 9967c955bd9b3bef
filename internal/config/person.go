package config

import (
	"errors"
	"strings"
	"time"
)

// Person is the [person] table: how a person is told that something waits for
// them (docs/person.md). The zero value tells nobody.
type Person struct {
	Notify [][]string // adapters, each a kind and its arguments
	Quiet  string     // "22:00-07:00 Europe/Berlin"; "" for never
	// RemindAfter is how long after the notice the one reminder comes, as a Go
	// duration; "" is DefaultRemindAfter, "off" is none.
	RemindAfter string
	Show        string // ShowNothing if empty
}

// How much of a message a notice may show.
const (
	ShowNothing = "nothing" // who asks, and how many
	ShowSubject = "subject"
	ShowBody    = "body" // and the subject
)

// DefaultRemindAfter is when the reminder comes if nobody says otherwise.
const DefaultRemindAfter = time.Hour

const (
	personTable = "person"
	remindOff   = "off"
)

// Reminder is how long after the notice the reminder comes; 0 for never.
func (p Person) Reminder() time.Duration {
	switch p.RemindAfter {
	case "":
		return DefaultRemindAfter
	case remindOff:
		return 0
	}
	d, _ := time.ParseDuration(p.RemindAfter)
	return d
}

// Check looks at what is wrong whatever the machine. Whether a time zone or an
// adapter is known here is found out where it is needed: an office opens without.
func (p Person) Check() error {
	for _, n := range p.Notify {
		if len(n) == 0 || n[0] == "" {
			return errors.New(`notify has an adapter without a kind; write "desktop", "KIND:ARG" or ["KIND", "ARG", …]`)
		}
	}
	if p.RemindAfter != "" && p.RemindAfter != remindOff {
		if _, err := positive("remind_after", p.RemindAfter); err != nil {
			return errors.New(err.Error() + `, nor "off"`)
		}
	}
	switch p.Show {
	case "", ShowNothing, ShowSubject, ShowBody:
		return nil
	}
	return errors.New(`show is "nothing", "subject" or "body"`)
}

// adapters turns an array into adapters: "KIND", "KIND:ARG" or ["KIND", "ARG"].
func adapters(value any) ([][]string, bool) {
	list, ok := value.([]any)
	if !ok {
		return nil, false
	}
	out := make([][]string, 0, len(list))
	for _, v := range list {
		switch v := v.(type) {
		case string:
			kind, arg, has := strings.Cut(v, ":")
			words := []string{kind}
			if has {
				words = append(words, arg)
			}
			out = append(out, words)
		case []any:
			var words []string
			for _, w := range v {
				text, ok := w.(string)
				if !ok {
					return nil, false
				}
				words = append(words, text)
			}
			out = append(out, words)
		}
	}
	return out, true
}

// encode is the table as TOML; "" if nothing is set.
func (p Person) encode() string {
	var b strings.Builder
	if len(p.Notify) > 0 {
		b.WriteString("notify = [")
		for i, n := range p.Notify {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(adapterTOML(n))
		}
		b.WriteString("]\n")
	}
	for _, kv := range [][2]string{{"quiet", p.Quiet}, {"remind_after", p.RemindAfter}, {"show", p.Show}} {
		if kv[1] != "" {
			b.WriteString(kv[0] + " = " + quoteTOML(kv[1]) + "\n")
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "[" + personTable + "]\n" + b.String()
}

func adapterTOML(words []string) string {
	if len(words) == 1 {
		return quoteTOML(words[0])
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quoteTOML(w)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// SetPerson returns postroom.toml with another [person] table. Everything else
// keeps its bytes. The error is DecodeOffice's, of what it would have made.
func SetPerson(data []byte, p Person) ([]byte, error) {
	var kept []string
	within, done := false, false
	table := strings.TrimSuffix(p.encode(), "\n")
	for _, line := range strings.Split(strings.TrimRight(string(data), "\r\n"), "\n") {
		if head := strings.TrimSpace(line); strings.HasPrefix(head, "[") {
			name, _, _ := strings.Cut(head[1:], "]")
			if within = strings.TrimSpace(name) == personTable; within && table != "" {
				kept, done = append(kept, table), true
			} else if within {
				kept = append(kept, line) // what a later version keeps there stays there
			}
		}
		if trimmed := strings.TrimSpace(line); !within || strings.HasPrefix(trimmed, "#") || trimmed == "" {
			kept = append(kept, line)
		} else if name, _, ok := strings.Cut(trimmed, "="); ok && !ownKey(strings.TrimSpace(name)) {
			kept = append(kept, line) // of a later version
		}
	}
	if !done && table != "" {
		kept = append(kept, "", table)
	}
	out := []byte(strings.Join(kept, "\n") + "\n")
	_, err := DecodeOffice(out)
	return out, err
}

func ownKey(name string) bool {
	switch name {
	case "notify", "quiet", "remind_after", "show":
		return true
	}
	return false
}
