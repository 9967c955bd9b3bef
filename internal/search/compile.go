package search

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/debt"
	"github.com/postroom/postroom/internal/mail"
)

// Reader is who searches. An agent finds what it sent or received, as post
// thread shows it; the zero Reader is a person, who finds everything.
type Reader struct{ AID, Name string }

// statement is a query as SQL. Every value is bound; match is made of quoted
// strings only.
type statement struct {
	match string // "" if no part of the query is in the full-text index
	where []string
	args  []any
	none  bool // it is known that nothing fits
}

func (s *statement) and(cond string, args ...any) {
	s.where, s.args = append(s.where, cond), append(s.args, args...)
}

// quoted is a string of the FTS5 syntax; there nothing but " has a meaning.
func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

func either(tokens []string) string {
	var list []string
	for _, t := range tokens {
		list = append(list, quoted(t))
	}
	return "facet : (" + strings.Join(list, " OR ") + ")"
}

func (t Term) fts() string {
	star := ""
	if t.Prefix {
		star = " *"
	}
	return "{subject body} : " + quoted(t.Value) + star
}

// compile turns a query into SQL, with the office's names of today.
func (x *Index) compile(ctx context.Context, q Query, who Reader) (*statement, error) {
	s := &statement{}
	var must, not []string
	wanted := map[string][]string{} // one field said twice means either
	var states []string
	var to []string // aids
	for _, t := range q.Terms {
		tokens, aids, err := x.tokens(ctx, t)
		switch {
		case err != nil:
			return nil, err
		case t.Field == fieldState:
			states = append(states, t.Value)
		case t.Field == fieldIs:
			if err := x.owed(s); err != nil {
				return nil, err
			}
		case t.Field == "" && t.Not:
			not = append(not, t.fts())
		case t.Field == "":
			must = append(must, t.fts())
		case t.Not:
			not = append(not, either(tokens))
		default:
			wanted[t.Field] = append(wanted[t.Field], tokens...)
			to = append(to, aids...)
		}
	}
	for _, field := range Fields() {
		if len(wanted[field]) > 0 {
			must = append(must, either(wanted[field]))
		}
	}
	if who.AID != "" {
		must = append(must, either(append(x.names(facetFrom, who.AID, who.Name), facet(facetRecipient, who.AID))))
	}
	if len(must) == 0 && len(not) > 0 {
		must = []string{either([]string{facetEvery})}
	}
	s.match = strings.Join(must, " AND ")
	if len(not) > 0 {
		s.match = "(" + s.match + ") NOT (" + strings.Join(not, " OR ") + ")"
	}
	if err := x.dates(ctx, s, q); err != nil {
		return nil, err
	}
	return s, x.states(ctx, s, states, to, who)
}

// tokens are the facets that a term asks for, and the agents that to: names.
func (x *Index) tokens(ctx context.Context, t Term) (tokens, aids []string, err error) {
	switch t.Field {
	case fieldAct:
		return []string{facet(facetAct, t.Value)}, nil, nil
	case fieldThread:
		conv, err := x.conversation(ctx, t)
		return []string{facet(facetThread, conv)}, nil, err
	case fieldFrom, fieldTo:
		return x.who(t)
	}
	return nil, nil, nil
}

// who finds out whom a name means, whatever it is called today.
func (x *Index) who(t Term) (tokens, aids []string, err error) {
	kind, name := facetTo, strings.TrimPrefix(strings.ToLower(t.Value), "agent.")
	if t.Field == fieldFrom {
		kind = facetFrom
	}
	switch name {
	case mail.NameHuman:
		if kind == facetTo {
			return []string{facetPerson}, nil, nil
		}
		return []string{facet(kind, name)}, nil, nil
	case mail.NamePostroom:
		return []string{facet(kind, name)}, nil, nil
	case mail.NameBroadcast, mail.NameAll:
		return []string{facet(kind, mail.NameBroadcast), facet(kind, mail.NameAll)}, nil, nil
	}
	if a, ok := x.Registry.Agent(name); ok {
		tokens = x.names(kind, a.AID, name)
		if kind == facetTo {
			tokens, aids = append(tokens, facet(facetRecipient, a.AID)), []string{a.AID}
		}
		return tokens, aids, nil
	}
	if _, ok := x.Registry.Channel(name); ok && kind == facetTo {
		return []string{facet(kind, name)}, nil, nil
	}
	hint := `see "post agents"`
	if near := x.Registry.Suggest(name); len(near) > 0 {
		hint = "did you mean " + t.Field + ":" + near[0] + "?"
	}
	return nil, nil, &mail.Error{Op: "search", Kind: mail.KindUnknown, Addr: mail.Neutralise(t.part, false),
		Err: errors.New("this office has nobody of that name"), Hint: hint}
}

// names are the facets of all names that an agent ever had.
func (x *Index) names(kind, aid, name string) []string {
	out := []string{facet(kind, name), facet(kind, "agent."+name)}
	if e, ok := x.Registry.EntryByAID(aid); ok {
		for _, n := range append([]string{e.Name}, e.Aliases...) {
			out = append(out, facet(kind, n), facet(kind, "agent."+n))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// conversation is the one that a term names: by itself, or by a message of it,
// whose id may be shortened.
func (x *Index) conversation(ctx context.Context, t Term) (string, error) {
	id := mail.ID(t.Value)
	if !id.Valid() && len(t.Value) >= 4 && strings.Trim(t.Value, "0123456789abcdef-") == "" {
		ids, err := x.ids(ctx, `SELECT id FROM message WHERE substr(id, -length(?1)) = ?1 LIMIT 2`, t.Value)
		switch {
		case err != nil:
			return "", err
		case len(ids) == 2:
			return "", &mail.Error{Op: "search", Kind: mail.KindAmbiguous, Addr: t.part, Err: errors.New("fits several messages"), Hint: "give more of the id"}
		case len(ids) == 1:
			id = ids[0]
		}
	}
	if id.Valid() {
		m, _, err := x.Office.ReadMessage(id)
		if err != nil {
			return "", &mail.Error{Op: "search", Kind: mail.KindNotFound, Addr: t.part, Err: errors.New("this office has no such message"), Hint: "name a conversation, or give the whole id"}
		}
		return m.Conversation, nil
	}
	if !mail.ValidConversation(t.Value) {
		return "", invalid(t.part, "is neither a conversation nor a message id", "copy one from post inbox --json")
	}
	return t.Value, nil
}

func (x *Index) ids(ctx context.Context, query string, args ...any) (out []mail.ID, err error) {
	rows, err := x.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		out = append(out, mail.ID(id))
	}
	return out, rows.Err()
}

// owed limits to messages that somebody owes an answer for: the ledger says so,
// as it does in post owed.
func (x *Index) owed(s *statement) error {
	book, err := debt.Load(x.Office.FS)
	if err != nil {
		return err
	}
	var list []string
	for _, d := range book.Open(x.Office.Settings()) {
		list = append(list, quotedJSON(string(d.ID)))
	}
	s.none = s.none || len(list) == 0
	s.and(`m.id IN (SELECT value FROM json_each(?))`, "["+strings.Join(list, ",")+"]")
	return nil
}

// quotedJSON is for ids, which hold nothing to escape.
func quotedJSON(id string) string { return `"` + id + `"` }

// dates limits the times, and the rows to those where such times are.
func (x *Index) dates(ctx context.Context, s *statement, q Query) error {
	if q.After.IsZero() && q.Before.IsZero() {
		return nil
	}
	low, high := int64(-1<<62), int64(1<<62)
	if !q.After.IsZero() {
		low = q.After.UnixMilli()
		s.and(`m.at >= ?`, low)
	}
	if !q.Before.IsZero() {
		high = q.Before.UnixMilli()
		s.and(`m.at < ?`, high)
	}
	return x.within(ctx, s, `SELECT min(span) << 10, (max(span) << 10) + 1023 FROM span WHERE newest >= ? AND oldest < ?`, low, high)
}

// within limits the rows to a range that a query gives, or to none.
func (x *Index) within(ctx context.Context, s *statement, query string, args ...any) error {
	var first, last sql.NullInt64
	if err := x.db.QueryRowContext(ctx, query, args...).Scan(&first, &last); err != nil {
		return err
	}
	s.none = s.none || !first.Valid
	s.and(`m.row BETWEEN ? AND ?`, first.Int64, last.Int64)
	return nil
}

// states limits to messages in one of the states. Those of a delivery are the
// recipient's whom to: names; else an agent's own, where it is one; else anyone's.
func (x *Index) states(ctx context.Context, s *statement, states, to []string, who Reader) error {
	var conds []string
	var bound []any
	for _, name := range states {
		n := slices.Index(States(), name)
		if n > done {
			conds = append(conds, `EXISTS (SELECT 1 FROM mark k WHERE k.row = m.row AND k.mark = ?)`)
			bound = append(bound, n-done)
			continue
		}
		cond := `EXISTS (SELECT 1 FROM delivery d WHERE d.row = m.row AND d.state = ?`
		bound = append(bound, n)
		switch {
		case len(to) > 0:
			var list []string
			for _, aid := range to {
				list, bound = append(list, "?"), append(bound, aid)
			}
			cond += ` AND d.agent IN (SELECT n FROM agent WHERE aid IN (` + strings.Join(list, ",") + `))`
		case who.AID != "":
			cond += ` AND d.agent = coalesce((SELECT o.agent FROM delivery o WHERE o.row = m.row AND o.agent = (SELECT n FROM agent WHERE aid = ?)), d.agent)`
			bound = append(bound, who.AID)
		}
		conds = append(conds, cond+`)`)
	}
	if len(conds) == 0 {
		return nil
	}
	s.and("("+strings.Join(conds, " OR ")+")", bound...)
	if len(states) > 1 {
		return nil
	}
	// What is rare is not looked for in all messages.
	switch n := slices.Index(States(), states[0]); {
	case n > done:
		return x.within(ctx, s, markedRows, n-done)
	case n == unread:
		return x.within(ctx, s, unreadRows)
	}
	return nil
}
