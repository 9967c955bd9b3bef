package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/registry"
)

// Request is one search.
type Request struct {
	Query Query
	Who   Reader
	Limit int     // hits at most, at least 1
	Above mail.ID // only what is older than this message; "" from the newest on
	Below mail.ID // only what is newer than this message, the oldest first
	From  mail.ID // this message and what is newer, the oldest first
	Rank  bool    // the best first, not the newest
	// MayRead decides once more about each message, by the message itself.
	MayRead func(*mail.Message) bool
}

// Hit is one message that was found.
type Hit struct {
	Message *mail.Message
	Subject []Piece
	Snippet []Piece // the place in the body, on one line, neutralised
	States  []State
}

// State is what became of a message for one recipient ("" for the message as a
// whole).
type State struct {
	Agent string `json:"agent,omitempty"` // name
	State string `json:"state"`
}

// Found is the answer to a request.
type Found struct {
	Hits []Hit
	More bool
	// Last is the last message that was looked at: Above, or Below, of the next
	// request.
	Last mail.ID
	// Doubtful are messages that the index has and the office has not, or not as
	// they were: the office was changed by something else.
	Doubtful []mail.ID
	// Blind are agents whose receipts could not be read; see Receipts.
	Blind []string
}

// Find searches. The index must be up to date: see Update. One that proves damaged
// only now is begun anew once; Rebuilt says so.
func (x *Index) Find(ctx context.Context, r Request) (Found, error) {
	f, err := x.find(ctx, r)
	if !corrupt(err) {
		return f, err
	}
	if err := x.restart(ctx, "it was damaged"); err != nil {
		return f, err
	}
	if _, err := x.Update(ctx); err != nil {
		return f, err
	}
	return x.find(ctx, r)
}

func (x *Index) find(ctx context.Context, r Request) (Found, error) {
	var f Found
	var err error
	if slices.ContainsFunc(r.Query.Terms, func(t Term) bool { return t.Field == fieldState }) {
		if f.Blind, err = x.Receipts(ctx); err != nil {
			return f, err
		}
	}
	rows, err := x.rows(ctx, r)
	if err != nil {
		return f, x.failed(err)
	}
	if f.More = len(rows) > r.Limit; f.More {
		rows = rows[:r.Limit]
	}
	terms := wordsOf(r.Query)
	var shown []int64
	for _, row := range rows {
		f.Last = row.id
		m, data, err := x.Office.ReadMessage(row.id)
		if err != nil || mail.DigestOf(data) != row.digest {
			f.Doubtful = append(f.Doubtful, row.id)
			continue
		}
		if r.MayRead != nil && !r.MayRead(m) {
			continue
		}
		f.Hits = append(f.Hits, Hit{Message: m, Subject: mark(mail.Neutralise(m.Subject, false), terms), Snippet: snippet(m.Body, terms), States: []State{}})
		shown = append(shown, row.row)
	}
	return f, x.became(ctx, &f, shown)
}

type found struct {
	row    int64
	id     mail.ID
	digest mail.Digest
}

// rows looks into the index only: one row more than the limit if there is one.
func (x *Index) rows(ctx context.Context, r Request) ([]found, error) {
	s, err := x.compile(ctx, r.Query, r.Who)
	if err != nil || s.none {
		return nil, err
	}
	for _, bound := range []struct {
		id   mail.ID
		cond string
	}{{r.Above, `m.row < ?`}, {r.Below, `m.row > ?`}, {r.From, `m.row >= ?`}} {
		if bound.id == "" {
			continue
		}
		row, err := x.rowOf(ctx, bound.id)
		if err != nil {
			return nil, err
		}
		s.and(bound.cond, row)
	}
	query, args := s.sql(`m.row, m.id, m.digest`, r.Rank, r.Below != "" || r.From != "")
	list, err := x.db.QueryContext(ctx, fmt.Sprintf(query+` LIMIT %d`, r.Limit+1), args...)
	if err != nil {
		return nil, err
	}
	defer list.Close()
	var out []found
	for list.Next() {
		var f found
		if err := list.Scan(&f.row, &f.id, &f.digest); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, list.Err()
}

// sql puts the statement together, without a limit. The full-text index gives its
// rows newest first, or oldest first, by itself, and is told the limits of the rows.
func (s *statement) sql(columns string, rank, oldest bool) (string, []any) {
	from, order, args, way := `message m`, `m.row`, s.args, ` DESC`
	if oldest {
		way = ` ASC`
	}
	where := slices.Clone(s.where)
	if s.match != "" {
		from, order = `text CROSS JOIN message m ON m.row = text.rowid`, `text.rowid`
		for i, w := range where {
			where[i] = strings.ReplaceAll(w, "m.row BETWEEN", "text.rowid BETWEEN")
			for _, op := range []string{"<", ">", ">="} {
				where[i] = strings.ReplaceAll(where[i], "m.row "+op+" ?", "text.rowid "+op+" ?")
			}
		}
		where, args = append([]string{`text MATCH ?`}, where...), append([]any{s.match}, args...)
		if rank {
			order = `bm25(text, 4.0, 1.0, 0.0), text.rowid`
		}
	}
	query := `SELECT ` + columns + ` FROM ` + from
	if len(where) > 0 {
		query += ` WHERE ` + strings.Join(where, " AND ")
	}
	return query + ` ORDER BY ` + order + way, args
}

// became tells what became of the hits, with the names of today, as far as their
// recipients' receipts say.
func (x *Index) became(ctx context.Context, f *Found, rows []int64) error {
	list := numbers(rows)
	aids, err := x.ids(ctx, `SELECT DISTINCT a.aid FROM delivery d JOIN agent a ON a.n = d.agent WHERE d.row IN (SELECT value FROM json_each(?))`, list)
	if err != nil {
		return x.failed(err)
	}
	blind, err := x.receiptsBy(ctx, func(yield func(registry.Entry) bool) {
		for _, aid := range aids {
			if e, ok := x.Registry.EntryByAID(string(aid)); ok && !yield(e) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	f.Blind = append(f.Blind, blind...)
	slices.Sort(f.Blind)
	f.Blind = slices.Compact(f.Blind)
	at := map[int64]int{}
	for i, row := range rows {
		at[row] = i
	}
	if err := x.statesOf(ctx, f, at, list); err != nil {
		return x.failed(err)
	}
	return nil
}

func (x *Index) statesOf(ctx context.Context, f *Found, at map[int64]int, list string) error {
	rows, err := x.db.QueryContext(ctx, `SELECT d.row, a.aid, d.state FROM delivery d JOIN agent a ON a.n = d.agent WHERE d.row IN (SELECT value FROM json_each(?1))
		UNION ALL SELECT row, '', mark + ?2 FROM mark WHERE row IN (SELECT value FROM json_each(?1))`, list, done)
	if err != nil {
		return err
	}
	defer rows.Close()
	names := map[string]string{}
	for rows.Next() {
		var row int64
		var aid string
		var n int
		if err := rows.Scan(&row, &aid, &n); err != nil {
			return err
		}
		i, ok := at[row]
		if !ok || n < 0 || n >= len(States()) {
			return errors.New("the index has a state that there is not")
		}
		if _, ok := names[aid]; !ok {
			names[aid] = aid
			if e, ok := x.Registry.EntryByAID(aid); ok {
				names[aid] = e.Name
			}
		}
		f.Hits[i].States = append(f.Hits[i].States, State{names[aid], States()[n]})
	}
	return rows.Err()
}

// numbers is a JSON list.
func numbers(list []int64) string {
	var b strings.Builder
	for i, n := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(n, 10))
	}
	return "[" + b.String() + "]"
}

// Count is how many messages the index has.
func (x *Index) Count(ctx context.Context) (n int, err error) {
	err = x.db.QueryRowContext(ctx, `SELECT count(*) FROM message`).Scan(&n)
	return n, err
}
