package demooffice

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// story is what some agents say to each other, once or again and again.
type story struct {
	name   string
	weight int           // how often it is told; 0: once
	before time.Duration // how long before the end of the office's time, for those told once
	lines  []line
}

// line is one message of a story, or what a person decides about one.
type line struct {
	from, to, act, subject string
	body                   string
	re                     int           // the line that is answered, from 1; 0: none
	after                  time.Duration // the line before
	cc, due                string
	options                []string // that a person may choose from
	person, byHand         bool
}

// decides reports whether a person's decision is meant, and not a message.
func (l line) decides() bool { return slices.Contains([]string{"answers", "rejects", "reads"}, l.act) }

// parse reads stories.txt.
func parse(text string) ([]story, error) {
	var stories []story
	for n, row := range strings.Split(text, "\n") {
		var err error
		switch {
		case strings.HasPrefix(row, "# ") && len(stories) == 0 || row == "#":
		case strings.HasPrefix(row, "== "):
			var s story
			if s, err = parseStory(row[3:]); err == nil {
				stories = append(stories, s)
			}
		case len(stories) == 0:
		case strings.HasPrefix(row, "@"):
			var l line
			s := &stories[len(stories)-1]
			if l, err = parseLine(row[1:]); err == nil {
				err = l.follows(s.lines)
				s.lines = append(s.lines, l)
			}
		default:
			if s := &stories[len(stories)-1]; len(s.lines) > 0 {
				s.lines[len(s.lines)-1].body += row + "\n"
			}
		}
		if err != nil {
			return nil, fmt.Errorf("stories.txt:%d: %w", n+1, err)
		}
	}
	for i := range stories {
		for k := range stories[i].lines {
			l := &stories[i].lines[k]
			l.body = strings.TrimSpace(l.body) + "\n"
		}
	}
	return stories, nil
}

func parseStory(head string) (story, error) {
	m := regexp.MustCompile(`^([a-z-]+) (?:×(\d+)|at -(\w+))$`).FindStringSubmatch(head)
	if m == nil {
		return story{}, fmt.Errorf("%q is no head of a story", head)
	}
	s := story{name: m[1]}
	var err error
	if m[2] != "" {
		s.weight, err = strconv.Atoi(m[2])
	} else {
		s.before, err = time.ParseDuration(m[3])
	}
	return s, err
}

func parseLine(head string) (l line, err error) {
	parts := strings.Split(head, " | ")
	from, to, ok := strings.Cut(parts[0], " > ")
	if !ok || len(parts) < 2 {
		return l, fmt.Errorf("%q names nobody, or no act", head)
	}
	l.from, l.to = from, to
	l.act, l.subject, _ = strings.Cut(parts[1], " ")
	for _, p := range parts[2:] {
		word, rest, _ := strings.Cut(p, " ")
		switch {
		case word == "re":
			l.re, err = strconv.Atoi(rest)
		case strings.HasPrefix(word, "+"):
			var minutes int
			minutes, err = strconv.Atoi(word[1:])
			l.after = time.Duration(minutes) * time.Minute
		case word == "cc":
			l.cc = rest
		case word == "choose":
			l.options = strings.Split(rest, ", ")
		case word == "due":
			l.due = rest
		case p == "person":
			l.person = true
		case p == "by hand":
			l.byHand = true
		default:
			err = fmt.Errorf("what is %q?", p)
		}
		if err != nil {
			return l, err
		}
	}
	return l, nil
}

// follows checks that a line answers one before it, and has what it needs.
func (l *line) follows(before []line) error {
	if l.re > len(before) {
		return fmt.Errorf("line %d is not before this one", l.re)
	}
	if l.re == 0 && l.subject == "" && !l.byHand || l.decides() && l.re == 0 {
		return fmt.Errorf("%s > %s needs a subject, or what it answers", l.from, l.to)
	}
	if l.re == 0 || l.decides() {
		return nil
	}
	for at := l.re; at > 0 && l.subject == ""; at = before[at-1].re {
		l.subject = before[at-1].subject
	}
	if !strings.HasPrefix(l.subject, "Re: ") {
		l.subject = "Re: " + l.subject
	}
	return nil
}
