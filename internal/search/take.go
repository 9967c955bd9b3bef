package search

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/spool"
)

const (
	// batchRecords is how many records of the journal one transaction takes in.
	batchRecords = 4000
	// batchTime ends a transaction earlier, so that nobody waits for long.
	batchTime = 2 * time.Second
	// sayEvery is how often progress is told.
	sayEvery = 100 * time.Millisecond
	// missingRetries is how many messages without a copy are looked for each time.
	missingRetries = 200
	// settleTime is how old a copy must be for the journal to have nothing of it:
	// a pass writes it first and the journal then.
	settleTime = time.Hour
)

// Taken says what an update did.
type Taken struct {
	Messages int  // that are new in the index
	Missing  int  // that the journal tells of and the office has no sound copy of
	Damaged  bool // the journal has a line that cannot be read
}

// Update takes in what the office has and the index has not. A journal that is
// not the one which the index was made from, or an index that proves unsound, is
// begun anew once; Rebuilt says so.
func (x *Index) Update(ctx context.Context) (Taken, error) {
	t, err := x.update(ctx)
	why := ""
	switch {
	case err == nil:
		return t, nil
	case errors.Is(err, journal.ErrElsewhere):
		why = "the journal is not the one it was made from"
	case unsound(err):
		why = "it was damaged"
	default:
		return t, x.failed(err)
	}
	if err := x.restart(ctx, why); err != nil {
		return t, err
	}
	if t, err = x.update(ctx); err != nil {
		return t, x.failed(err)
	}
	return t, nil
}

func (x *Index) failed(err error) error {
	var m *mail.Error
	if errors.As(err, &m) {
		return err
	}
	return storeError(x.path, err)
}

func (x *Index) update(ctx context.Context) (Taken, error) {
	var t Taken
	pos, err := x.position(ctx)
	if err != nil {
		return t, err
	}
	total := journal.Size(x.Office.FS, pos)
	for whole := false; !whole; {
		err := x.patiently(ctx, func(tx *sql.Tx) error {
			b, err := newBatch(ctx, x.Office, tx)
			if err != nil {
				return err
			}
			if whole, err = b.take(x.told(total)); err != nil {
				return err
			}
			t.Messages, t.Damaged = t.Messages+b.new, b.damaged
			return nil
		})
		if err != nil {
			return t, err
		}
	}
	if err := x.sweep(ctx, &t); err != nil {
		return t, err
	}
	return t, x.db.QueryRowContext(ctx, `SELECT count(*) FROM missing`).Scan(&t.Missing)
}

// told returns what reports progress, given how much is left.
func (x *Index) told(total int64) func(left int64) {
	last := time.Now()
	return func(left int64) {
		if x.Progress != nil && time.Since(last) >= sayEvery {
			last = time.Now()
			x.Progress(max(0, total-left), total)
		}
	}
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (x *Index) position(ctx context.Context) (journal.Position, error) { return positionOf(ctx, x.db) }

func positionOf(ctx context.Context, q querier) (p journal.Position, err error) {
	err = q.QueryRowContext(ctx, `SELECT file, end, length, n, hash FROM meta`).Scan(&p.File, &p.Offset, &p.Length, &p.N, &p.Hash)
	return p, err
}

// batch is one transaction that takes things in.
type batch struct {
	ctx     context.Context
	o       *office.Office
	tx      *sql.Tx
	pos     journal.Position
	next    int64 // row of the next message
	first   int64 // the least row
	agents  map[string]int64
	rows    map[mail.ID]int64 // found or made in this batch
	spans   map[int64][2]int64
	threads map[string]*threadCount // what this batch adds
	new     int
	damaged bool
	stmts   map[string]*sql.Stmt
}

func newBatch(ctx context.Context, o *office.Office, tx *sql.Tx) (*batch, error) {
	b := &batch{ctx: ctx, o: o, tx: tx, agents: map[string]int64{}, rows: map[mail.ID]int64{}, spans: map[int64][2]int64{}, threads: map[string]*threadCount{}, stmts: map[string]*sql.Stmt{}}
	var err error
	if b.pos, err = positionOf(ctx, tx); err != nil {
		return nil, err
	}
	return b, tx.QueryRowContext(ctx, newestRows).Scan(&b.next, &b.first)
}

// errFull ends a batch.
var errFull = errors.New("the batch is full")

// take takes in records behind the position, and says whether those were all.
func (b *batch) take(told func(left int64)) (whole bool, err error) {
	begin, n := time.Now(), 0
	pos := b.pos
	err = journal.After(b.o.FS, pos, func(r journal.Record, at journal.Position) error {
		if n == batchRecords || n&63 == 63 && time.Since(begin) > batchTime {
			return errFull
		}
		if n&255 == 0 {
			if err := b.ctx.Err(); err != nil {
				return err
			}
			told(journal.Size(b.o.FS, at))
		}
		n++
		b.pos = at
		return b.record(r)
	})
	switch {
	case errors.Is(err, errFull):
		err = nil
	case mail.KindOf(err) == mail.KindCorrupt:
		whole, b.damaged, err = true, true, nil
	case err != nil:
		return false, err
	default:
		whole = true
	}
	if n == 0 {
		return whole, nil
	}
	if err := b.put(); err != nil {
		return false, err
	}
	return whole, b.exec(`UPDATE meta SET file = ?, end = ?, length = ?, n = ?, hash = ?`, b.pos.File, b.pos.Offset, b.pos.Length, b.pos.N, b.pos.Hash)
}

// exec runs a statement that is prepared once in a batch.
func (b *batch) exec(query string, args ...any) error {
	s, err := b.prepare(query)
	if err == nil {
		_, err = s.ExecContext(b.ctx, args...)
	}
	return err
}

func (b *batch) prepare(query string) (*sql.Stmt, error) {
	if s := b.stmts[query]; s != nil {
		return s, nil
	}
	s, err := b.tx.PrepareContext(b.ctx, query)
	b.stmts[query] = s
	return s, err
}

// record takes in one record: the message that it is about, and what became of it.
func (b *batch) record(r journal.Record) error {
	mark := 0
	switch r.Event {
	case journal.Delivered, journal.Redelivered:
	case journal.Bounced:
		mark = bounced
	case journal.Escalated:
		mark = asked
	case journal.Decided:
		mark = decided
	case journal.Expired:
		mark = expired
	default:
		return nil
	}
	if !r.ID.Valid() {
		return nil
	}
	row, err := b.row(r)
	switch {
	case err != nil:
		return err
	case mark == 0 && r.AID != "" && row != 0:
		agent, err := b.agent(r.AID)
		if err != nil {
			return err
		}
		return b.exec(`INSERT INTO delivery (row, agent, state) VALUES (?1, ?2, coalesce((SELECT state FROM early WHERE agent = ?2 AND id = ?3), 0)) ON CONFLICT DO NOTHING`,
			row, agent, string(r.ID))
	case mark == 0 || row == 0:
		return nil
	case mark == decided || mark == expired:
		if err := b.exec(`DELETE FROM mark WHERE row = ? AND mark = ?`, row, asked); err != nil {
			return err
		}
	}
	return b.exec(`INSERT INTO mark (row, mark) VALUES (?, ?) ON CONFLICT DO NOTHING`, row, mark)
}

func (b *batch) agent(aid string) (n int64, err error) {
	if n, ok := b.agents[aid]; ok {
		return n, nil
	}
	if err := b.exec(`INSERT INTO agent (aid) VALUES (?) ON CONFLICT DO NOTHING`, aid); err != nil {
		return 0, err
	}
	s, err := b.prepare(`SELECT n FROM agent WHERE aid = ?`)
	if err == nil {
		err = s.QueryRowContext(b.ctx, aid).Scan(&n)
	}
	b.agents[aid] = n
	return n, err
}

// known is the row that a message has already, 0 if none.
func (b *batch) known(id mail.ID) (row int64, err error) {
	if row, ok := b.rows[id]; ok {
		return row, nil
	}
	s, err := b.prepare(`SELECT row FROM message WHERE id = ?`)
	if err != nil {
		return 0, err
	}
	if err = s.QueryRowContext(b.ctx, string(id)).Scan(&row); errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return row, err
}

// row is the row of the message that a record is about. It is made if it has to
// be; 0 means that the office has no sound copy.
func (b *batch) row(r journal.Record) (int64, error) {
	row, err := b.known(r.ID)
	if err != nil || row != 0 {
		b.rows[r.ID] = row
		return row, err
	}
	row = b.next
	why, err := b.message(row, r.ID, r.Digest)
	switch {
	case err != nil:
		return 0, err
	case why != "":
		return 0, b.exec(`INSERT INTO missing (id, digest, why) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, string(r.ID), string(r.Digest), why)
	}
	b.next++
	b.rows[r.ID] = row
	return row, nil
}

// message puts the office's copy of a message into the index, as row. A copy that
// is not what the journal says is not taken in: why says so.
func (b *batch) message(row int64, id mail.ID, digest mail.Digest) (why string, err error) {
	data, _, err := spool.ReadMail(b.o.FS, office.MessagePath(id))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "the office has no copy of it", nil
	case err != nil:
		return err.Error(), nil
	}
	is := mail.DigestOf(data)
	if digest != "" && is != digest {
		return "the office's copy is not what was delivered", nil
	}
	m, err := mail.Parse(data)
	if err != nil || m.ID != id {
		return "the office's copy is no message of this id", nil
	}
	at := m.CreatedAt.UnixMilli()
	thread, err := b.thread(m.Conversation)
	if err != nil {
		return "", err
	}
	if err := b.exec(`INSERT INTO message (row, id, digest, at, thread) VALUES (?, ?, ?, ?, ?)`, row, string(id), string(is), at, thread); err != nil {
		return "", err
	}
	if err := b.exec(`INSERT INTO text (rowid, subject, body, facet) VALUES (?, ?, ?, ?)`, row, indexed(m.Subject), indexed(m.Body), strings.Join(facets(m), " ")); err != nil {
		return "", err
	}
	b.spanned(row, at)
	b.threaded(m.Conversation, thread, row)
	b.new++
	return "", nil
}

// indexed is text as SQLite is given it: it ends where a zero byte is.
func indexed(s string) string { return strings.ReplaceAll(s, "\x00", " ") }

func (b *batch) spanned(row, at int64) {
	span := row >> spanBits
	s, ok := b.spans[span]
	if !ok {
		s = [2]int64{at, at}
	}
	b.spans[span] = [2]int64{min(s[0], at), max(s[1], at)}
}

// put writes what was counted.
func (b *batch) put() error {
	if err := b.putThreads(); err != nil {
		return err
	}
	return b.putSpans()
}

func (b *batch) putSpans() error {
	for span, s := range b.spans {
		if err := b.exec(`INSERT INTO span (span, oldest, newest) VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET oldest = min(oldest, excluded.oldest), newest = max(newest, excluded.newest)`, span, s[0], s[1]); err != nil {
			return err
		}
	}
	return nil
}
