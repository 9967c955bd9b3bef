package search

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/mail"
)

// Thread is one conversation. What is first and last is by the order in which the
// office took the messages in.
type Thread struct {
	Name        string
	Messages    int
	First, Last mail.ID
	// Fits is the newest message that fits the query: Last if there is none.
	Fits mail.ID
	// Fresh is how many of the messages are newer than the one asked about.
	Fresh int
}

// Threads lists the conversations that have a message which fits the query, the
// one with the newest such first. Above is the Fits of the last one listed
// before. Rank, Below and MayRead mean nothing here.
func (x *Index) Threads(ctx context.Context, r Request) (list []Thread, more bool, err error) {
	s, err := x.compile(ctx, r.Query, r.Who)
	if err != nil || s.none {
		return nil, false, err
	}
	above := int64(1 << 62)
	if r.Above != "" {
		if above, err = x.rowOf(ctx, r.Above); err != nil {
			return nil, false, err
		}
	}
	var fits []int64
	if s.match == "" && len(s.where) == 0 {
		fits, err = x.rowsIn(ctx, `SELECT last FROM thread WHERE last < ? ORDER BY last DESC LIMIT ?`, above, r.Limit+1)
	} else {
		fits, err = x.newestFits(ctx, s, above, r)
	}
	if err != nil {
		return nil, false, x.failed(err)
	}
	if more = len(fits) > r.Limit; more {
		fits = fits[:r.Limit]
	}
	for _, row := range fits {
		t, err := x.threadAt(ctx, `t.n = m.thread AND m.row = ?`, row)
		if err != nil {
			return nil, false, x.failed(err)
		}
		list = append(list, t)
	}
	return list, more, nil
}

// Thread returns a conversation of this name. from is a message of it, or "":
// Fresh counts those behind that. The zero Thread means that there is none.
func (x *Index) Thread(ctx context.Context, name string, from mail.ID) (Thread, error) {
	t, err := x.threadAt(ctx, `m.row = t.last AND t.name = ?`, name)
	if errors.Is(err, sql.ErrNoRows) {
		return Thread{}, nil
	}
	if err == nil && from != "" {
		err = x.db.QueryRowContext(ctx, `SELECT count(*) FROM message WHERE thread = (SELECT n FROM thread WHERE name = ?)
			AND row > (SELECT row FROM message WHERE id = ?)`, name, string(from)).Scan(&t.Fresh)
	}
	if err != nil {
		return t, x.failed(err)
	}
	return t, nil
}

func (x *Index) threadAt(ctx context.Context, where string, arg any) (t Thread, err error) {
	err = x.db.QueryRowContext(ctx, `SELECT t.name, t.messages, (SELECT id FROM message WHERE row = t.first), (SELECT id FROM message WHERE row = t.last), m.id
		FROM message m, thread t WHERE `+where, arg).Scan(&t.Name, &t.Messages, &t.First, &t.Last, &t.Fits)
	return t, err
}

func (x *Index) rowsIn(ctx context.Context, query string, args ...any) (out []int64, err error) {
	rows, err := x.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var row int64
		if err := rows.Scan(&row); err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

// newestFits walks the messages that fit, newest first, and keeps the first of
// each conversation; one whose newest lies above was listed before.
func (x *Index) newestFits(ctx context.Context, s *statement, above int64, r Request) (fits []int64, err error) {
	seen := map[int64]bool{}
	for at := above; len(fits) <= r.Limit; {
		rows, threads, err := x.walk(ctx, s, at, r.Limit+1-len(fits), seen)
		if err != nil || len(rows) == 0 {
			return fits, err
		}
		for i, row := range rows {
			at = row
			if above < 1<<62 {
				listed, err := x.fitsFrom(ctx, s, threads[i], above)
				if err != nil {
					return nil, err
				}
				if listed {
					continue
				}
			}
			fits = append(fits, row)
		}
	}
	return fits, nil
}

// walk returns the next n rows that fit and are the newest of a conversation not
// seen yet.
func (x *Index) walk(ctx context.Context, s *statement, at int64, n int, seen map[int64]bool) (rows, threads []int64, err error) {
	from := *s
	from.where, from.args = slices.Clone(s.where), slices.Clone(s.args)
	from.and(`m.row < ?`, at)
	query, args := from.sql(`m.row, m.thread`, false, false)
	list, err := x.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, nil, err
	}
	defer list.Close()
	for len(rows) < n && list.Next() {
		var row, thread int64
		if err := list.Scan(&row, &thread); err != nil {
			return nil, nil, err
		}
		if !seen[thread] {
			seen[thread] = true
			rows, threads = append(rows, row), append(threads, thread)
		}
	}
	return rows, threads, list.Err()
}

// fitsFrom reports whether a conversation has a message that fits and is not
// older than a row.
func (x *Index) fitsFrom(ctx context.Context, s *statement, thread, row int64) (bool, error) {
	in := *s
	in.where, in.args = slices.Clone(s.where), slices.Clone(s.args)
	in.and(`m.row >= ?`, row)
	in.and(`m.thread = ?`, thread)
	if s.match != "" {
		var name string
		if err := x.db.QueryRowContext(ctx, `SELECT name FROM thread WHERE n = ?`, thread).Scan(&name); err != nil {
			return false, err
		}
		in.match = "(" + s.match + ") AND " + either([]string{facet(facetThread, name)})
	}
	query, args := in.sql(`1`, false, false)
	var one int
	err := x.db.QueryRowContext(ctx, query+` LIMIT 1`, args...).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Whole reports whether the index ever was up to date: it may be behind, but what
// is old is in it.
func (x *Index) Whole(ctx context.Context) (bool, error) {
	var swept int
	if err := x.db.QueryRowContext(ctx, `SELECT swept FROM meta`).Scan(&swept); err != nil {
		return false, x.failed(err)
	}
	return swept == 1, nil
}

// rowOf is the row of a message that a caller names.
func (x *Index) rowOf(ctx context.Context, id mail.ID) (row int64, err error) {
	err = x.db.QueryRowContext(ctx, `SELECT row FROM message WHERE id = ?`, string(id)).Scan(&row)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, &mail.Error{Op: "search", Kind: mail.KindNotFound, Addr: "--before", ID: id,
			Err: errors.New("the index has no such message"), Hint: "give the whole id of the last hit"}
	}
	if err != nil {
		return 0, x.failed(err)
	}
	return row, nil
}

// threads counts what a batch adds to each conversation.
type threadCount struct{ n, first, last, messages int64 }

// thread is the number of a conversation.
func (b *batch) thread(name string) (n int64, err error) {
	if t := b.threads[name]; t != nil {
		return t.n, nil
	}
	if err := b.exec(`INSERT INTO thread (name) VALUES (?) ON CONFLICT DO NOTHING`, name); err != nil {
		return 0, err
	}
	s, err := b.prepare(`SELECT n FROM thread WHERE name = ?`)
	if err == nil {
		err = s.QueryRowContext(b.ctx, name).Scan(&n)
	}
	return n, err
}

// threaded counts a message that is in the index now.
func (b *batch) threaded(name string, n, row int64) {
	t := b.threads[name]
	if t == nil {
		t = &threadCount{n: n, first: row, last: row}
		b.threads[name] = t
	}
	t.first, t.last, t.messages = min(t.first, row), max(t.last, row), t.messages+1
}

func (b *batch) putThreads() error {
	for _, t := range b.threads {
		if err := b.exec(`UPDATE thread SET first = CASE messages WHEN 0 THEN ?1 ELSE min(first, ?1) END, last = CASE messages WHEN 0 THEN ?2 ELSE max(last, ?2) END,
			messages = messages + ?3 WHERE n = ?4`, t.first, t.last, t.messages, t.n); err != nil {
			return err
		}
	}
	return nil
}

// compareThreads wants each conversation to have the messages that say so.
func (x *Index) compareThreads(ctx context.Context, r *Report) error {
	rows, err := x.db.QueryContext(ctx, `SELECT t.name FROM thread t LEFT JOIN (SELECT thread, count(*) c, min(row) f, max(row) l FROM message GROUP BY thread) m
		ON m.thread = t.n WHERE m.c IS NOT t.messages OR m.f IS NOT t.first OR m.l IS NOT t.last LIMIT ?`, faultsMax)
	if err != nil {
		return x.failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return x.failed(err)
		}
		r.fault("conversation %s does not have the messages that the index says", strings.ToValidUTF8(name, "?"))
	}
	if err := rows.Err(); err != nil {
		return x.failed(err)
	}
	return nil
}
