package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/spool"
)

const (
	// sampleSize is how many messages are looked up by their words, and have
	// their states compared with the journal.
	sampleSize = 500
	// wordsEach is how many words of each.
	wordsEach = 12
	// faultsMax is how many faults are listed.
	faultsMax = 20
	// fresh is how young a copy may be that the index has not: a pass may be at it.
	fresh = time.Minute
)

// Report compares index and office.
type Report struct {
	Messages int      // of the office, compared by digest
	Indexed  int      // rows
	Sampled  int      // messages looked up by their words and names
	Faults   []string // the first ones
	Wrong    int      // all of them
}

func (r *Report) fault(format string, args ...any) {
	if r.Wrong++; len(r.Faults) < faultsMax {
		r.Faults = append(r.Faults, fmt.Sprintf(format, args...))
	}
}

// Verify compares the index with the office: SQLite's own checks, each copy's
// digest with that of its row, what each conversation has, and a sample of
// messages by their words, names and states. It changes nothing.
func (x *Index) Verify(ctx context.Context) (Report, error) {
	var r Report
	if err := x.sound(ctx, &r); err != nil || r.Wrong > 0 {
		return r, err
	}
	var err error
	if r.Indexed, err = x.Count(ctx); err != nil {
		return r, x.failed(err)
	}
	sample, err := x.digests(ctx, &r)
	if err != nil {
		return r, err
	}
	if extra := r.Indexed - r.Messages; extra > 0 && r.Wrong == 0 {
		r.fault("the index has %d messages that the office has not", extra)
	}
	for _, id := range sample {
		if err := x.lookUp(ctx, &r, id); err != nil {
			return r, err
		}
	}
	r.Sampled = len(sample)
	if err := x.compareThreads(ctx, &r); err != nil {
		return r, err
	}
	return r, x.compareDeliveries(ctx, &r, sample)
}

// sound has SQLite check its own structures. What it cannot read is a fault of
// the index, not of this check.
func (x *Index) sound(ctx context.Context, r *Report) error {
	rows, err := x.db.QueryContext(ctx, `PRAGMA integrity_check(5)`)
	if err == nil {
		for rows.Next() {
			var line string
			if err = rows.Scan(&line); err == nil && line != "ok" {
				r.fault("%s", line)
			}
		}
		err = errors.Join(rows.Err(), rows.Close())
	}
	if err == nil && r.Wrong == 0 {
		err = x.patiently(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO text (text) VALUES ('integrity-check')`)
			return err
		})
	}
	if unsound(err) {
		r.fault("%v", err)
		return nil
	}
	if err != nil {
		return x.failed(err)
	}
	return nil
}

// digests compares every copy with its row and returns a sample of them.
func (x *Index) digests(ctx context.Context, r *Report) (sample []mail.ID, err error) {
	look, err := x.db.PrepareContext(ctx, `SELECT digest FROM message WHERE id = ?`)
	if err != nil {
		return nil, x.failed(err)
	}
	defer look.Close()
	newest := x.Office.Sys.Now().Add(-fresh)
	begin := time.Now()
	err = copies(x.Office, func(id mail.ID) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		var has mail.Digest
		err := look.QueryRowContext(ctx, string(id)).Scan(&has)
		switch {
		case errors.Is(err, sql.ErrNoRows) && id.Time().After(newest):
			return nil
		case errors.Is(err, sql.ErrNoRows):
			r.Messages++
			r.fault("message %s is not in the index", id)
			return nil
		case err != nil:
			return x.failed(err)
		}
		r.Messages++
		if x.Progress != nil && r.Messages&255 == 0 && time.Since(begin) > sayEvery {
			begin = time.Now()
			x.Progress(int64(r.Messages), int64(r.Indexed))
		}
		data, _, err := spool.ReadMail(x.Office.FS, office.MessagePath(id))
		switch {
		case err != nil:
			r.fault("message %s: %v", id, err)
		case mail.DigestOf(data) != has:
			r.fault("message %s is not what was indexed", id)
		case len(sample) < sampleSize:
			sample = append(sample, id)
		default:
			if n := rand.IntN(r.Messages); n < sampleSize {
				sample[n] = id
			}
		}
		return nil
	})
	return sample, err
}

// lookUp searches for one message by its names and some of its words, wherever
// else they stand, and wants to find it.
func (x *Index) lookUp(ctx context.Context, r *Report, id mail.ID) error {
	m, _, err := x.Office.ReadMessage(id)
	if err != nil {
		return nil // digests has complained
	}
	var must []string
	for _, f := range facets(m) {
		must = append(must, either([]string{f}))
	}
	all := words(m.Subject + " " + m.Body)
	for range min(wordsEach, len(all)) {
		w := all[rand.IntN(len(all))].folded
		if strings.ContainsFunc(w, func(r rune) bool { return r >= 0x80 }) {
			continue // the index may cut such words in another way
		}
		must = append(must, Term{Value: w}.fts())
	}
	var n int
	err = x.db.QueryRowContext(ctx, `SELECT count(*) FROM text WHERE text MATCH ? AND rowid = (SELECT row FROM message WHERE id = ?)`,
		strings.Join(must, " AND "), string(id)).Scan(&n)
	switch {
	case corrupt(err):
		r.fault("message %s: %v", id, err)
	case err != nil:
		return x.failed(err)
	case n != 1:
		r.fault("message %s is not found by its own words", id)
	}
	return nil
}

// compareDeliveries compares whom the sample was delivered to with the journal.
func (x *Index) compareDeliveries(ctx context.Context, r *Report, sample []mail.ID) error {
	want := map[mail.ID]map[string]bool{}
	for _, id := range sample {
		want[id] = map[string]bool{}
	}
	pos, err := x.position(ctx)
	if err != nil {
		return x.failed(err)
	}
	err = journal.Each(x.Office.FS, time.Time{}, time.Time{}, func(rec journal.Record) error {
		if to := want[rec.ID]; to != nil && rec.N <= pos.N && rec.AID != "" && (rec.Event == journal.Delivered || rec.Event == journal.Redelivered) {
			to[rec.AID] = true
		}
		return ctx.Err()
	})
	if err != nil && mail.KindOf(err) != mail.KindCorrupt {
		return err
	}
	for id, to := range want {
		aids, err := x.ids(ctx, `SELECT a.aid FROM delivery d JOIN agent a ON a.n = d.agent WHERE d.row = (SELECT row FROM message WHERE id = ?)`, string(id))
		if err != nil {
			return x.failed(err)
		}
		same := len(aids) == len(to)
		for _, aid := range aids {
			same = same && to[string(aid)]
		}
		if !same {
			r.fault("message %s went to others than the index says", id)
		}
	}
	return nil
}
