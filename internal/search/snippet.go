package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/postroom/postroom/internal/mail"
)

// Piece is a piece of text that is part of a hit, or is not.
type Piece struct {
	Text string `json:"text"`
	Hit  bool   `json:"hit,omitempty"`
}

const (
	// snippetWidth is how much of a body is shown, in characters.
	snippetWidth = 160
	// snippetLead is how much of it stands before the first hit.
	snippetLead = 50
	// snippetLook is how far into a body a hit is looked for, in bytes.
	snippetLook = mail.MaxSize
)

// phrase is a part of a query as words, folded.
type phrase struct {
	words  []string
	prefix bool // the last word may go on
}

// wordsOf are the words that a query wants there.
func wordsOf(q Query) []phrase {
	var out []phrase
	for _, t := range q.Terms {
		if t.Field != "" || t.Not {
			continue
		}
		p := phrase{prefix: t.Prefix}
		for _, w := range words(t.Value) {
			p.words = append(p.words, w.folded)
		}
		out = append(out, p)
	}
	return out
}

// word is one word of a text and where it stands, in bytes.
type word struct {
	from, to int
	folded   string
}

// words cuts a text as the full-text index does: letters, digits and what is
// written over them belong to words, nothing else does.
func words(s string) (out []word) {
	begin := -1
	end := func(at int) {
		if begin >= 0 {
			out = append(out, word{begin, at, fold(s[begin:at])})
			begin = -1
		}
	}
	for i, r := range s {
		switch in := inWord(r) || begin >= 0 && unicode.Is(unicode.M, r); {
		case in && begin < 0:
			begin = i
		case !in:
			end(i)
		}
	}
	end(len(s))
	return out
}

// fold makes words equal that the index takes for equal, but for letters with an
// accent in one character: such hits are found and not marked.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.M, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// spans lists where the phrases stand in a text, in order, without overlaps.
func spans(list []word, phrases []phrase) (out [][2]int) {
	for i := 0; i < len(list); i++ {
		best := 0
		for _, p := range phrases {
			if p.at(list[i:]) {
				best = max(best, len(p.words))
			}
		}
		if best > 0 {
			out = append(out, [2]int{list[i].from, list[i+best-1].to})
			i += best - 1
		}
	}
	return out
}

func (p phrase) at(list []word) bool {
	if len(p.words) == 0 || len(list) < len(p.words) {
		return false
	}
	for i, w := range p.words {
		if list[i].folded != w && !(p.prefix && i == len(p.words)-1 && strings.HasPrefix(list[i].folded, w)) {
			return false
		}
	}
	return true
}

// mark cuts a neutralised text where hits begin and end.
func mark(s string, phrases []phrase) []Piece {
	out := []Piece{}
	at := 0
	for _, span := range spans(words(s), phrases) {
		if span[0] > at {
			out = append(out, Piece{Text: s[at:span[0]]})
		}
		out = append(out, Piece{Text: s[span[0]:span[1]], Hit: true})
		at = span[1]
	}
	if at < len(s) {
		out = append(out, Piece{Text: s[at:]})
	}
	return out
}

// snippet shows the place of a body where the first hit is, its beginning if
// there is none, on one line and neutralised.
func snippet(body string, phrases []phrase) []Piece {
	body = body[:min(len(body), snippetLook)]
	from := 0
	if at := spans(words(body), phrases); len(at) > 0 {
		from = back(body, at[0][0], snippetLead)
	}
	// White space of a text is one space in a snippet; some more than is shown is
	// looked at, so that much white space leaves enough.
	text := strings.Join(strings.Fields(body[from:forward(body, from, 4*snippetWidth)]), " ")
	if end := forward(text, 0, snippetWidth); end < len(text) {
		if i := strings.LastIndexByte(text[:end], ' '); i > end-snippetLead {
			end = i // not within a word, if there is a space near
		}
		text = text[:end] + "…"
	}
	if from > 0 {
		text = "…" + text
	}
	return mark(mail.Neutralise(text, false), phrases)
}

// back goes some characters back, to where a word begins if one does near.
func back(s string, at, n int) int {
	begin := at
	for ; n > 0 && begin > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:begin])
		begin -= size
	}
	if begin > 0 {
		if i := strings.IndexFunc(s[begin:at], unicode.IsSpace); i >= 0 {
			begin += i
		}
	}
	return begin
}

// forward goes some characters on.
func forward(s string, at, n int) int {
	for ; n > 0 && at < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return at
}
