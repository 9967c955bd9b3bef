package search

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/postroom/postroom/internal/mail"
)

// A facet is a token of a column of its own, so that the full-text index
// intersects names with words. What an author may choose stands in it as a
// digest: whatever it is, it is one token, and no word of a query is one.
const (
	facetAct       = "a"
	facetFrom      = "f" // the author's name
	facetTo        = "t" // an address in to or cc
	facetRecipient = "r" // the aid of who it went to
	facetThread    = "c"
	facetPerson    = "h1" // it goes to a person
	facetEvery     = "z1"
)

func facet(kind, value string) string {
	sum := sha256.Sum256([]byte(value))
	return kind + hex.EncodeToString(sum[:8])
}

// facets lists the tokens of a message.
func facets(m *mail.Message) []string {
	out := []string{facetEvery, facet(facetAct, string(m.Act)), facet(facetFrom, m.From), facet(facetThread, m.Conversation)}
	for _, to := range append([]string{m.To}, m.CC...) {
		out = append(out, facet(facetTo, to))
		if to == mail.NameHuman {
			out = append(out, facetPerson)
		}
	}
	if m.NeedsHuman {
		out = append(out, facetPerson)
	}
	if m.Envelope != nil {
		for _, aid := range append(m.Envelope.Recipients[:len(m.Envelope.Recipients):len(m.Envelope.Recipients)], m.Envelope.CC...) {
			out = append(out, facet(facetRecipient, aid))
		}
	}
	return out
}
