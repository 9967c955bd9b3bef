package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// Report is what Verify found.
type Report struct {
	Files   int
	Records uint64
	First   time.Time // of the first and last record
	Last    time.Time
	Head    Head   // of the last good record: worth keeping elsewhere
	Torn    int    // bytes at the end that are no whole record; the next pass sets them aside
	Break   *Break // nil if the chain holds
}

// Flaw says what is wrong with a chain.
type Flaw string

// The flaws.
const (
	Changed    Flaw = "changed"    // a line is not what the next one, or a kept head, vouches for
	Missing    Flaw = "missing"    // records are gone
	Reordered  Flaw = "reordered"  // records stand in another order, or twice
	Unreadable Flaw = "unreadable" // a line is no record
)

// Break is the first place where the chain does not hold.
type Break struct {
	File string
	Line int // from 1
	N    uint64
	Flaw Flaw
	Text string // one sentence without a full stop
}

// Verify reads the whole journal and checks that every record follows the one
// before, and that each head that was kept elsewhere is in it. It stops at the
// first break. The error is about reading only: a broken chain is in the
// Report.
func Verify(fsys vfs.FS, kept ...Head) (Report, error) {
	var v verifier
	for _, h := range kept {
		if v.kept == nil {
			v.kept = map[uint64]string{}
		}
		v.kept[h.N] = h.Hash
	}
	names, err := files(fsys)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return v.Report, failure("verify journal", Dir, mail.KindStore, err, "")
	}
	for i, name := range names {
		v.file, v.line, v.newest = name, 0, i == len(names)-1
		v.Files++
		if err := eachChunk(fsys, name, v.chunk); err != nil {
			return v.Report, err
		}
		if v.Break != nil {
			return v.Report, v.lookAhead(fsys, names[i:])
		}
	}
	for n := range v.kept {
		if n > v.Head.N {
			v.fail(v.Head.N, Missing, fmt.Sprintf("the journal ends at record %d, and record %d was there once", v.Head.N, n))
		}
	}
	return v.Report, nil
}

type verifier struct {
	Report
	kept         map[uint64]string
	file         string
	line         int
	newest       bool
	prevFile     string
	prevLine     int
	wanted, seen uint64 // a gap: the missing number, and the one found in its place
}

func (v *verifier) chunk(chunk []byte, last bool) error {
	for line := range bytes.Lines(chunk) {
		v.line++
		body, whole := bytes.CutSuffix(line, []byte("\n"))
		if v.Break == nil && !whole && v.newest {
			v.Torn = len(line)
			return nil
		}
		if v.Break == nil {
			v.record(body, whole)
		}
	}
	return nil
}

func (v *verifier) record(line []byte, whole bool) {
	r, err := parseLine(line)
	switch {
	case err != nil || !whole:
		v.fail(v.Head.N+1, Unreadable, "the line is no record")
		return
	case r.N == 1 && v.Head.N == 0 && r.Prev != "":
		v.fail(1, Changed, "record 1 names a record before it")
		return
	case r.N == v.Head.N+1 && r.Prev != v.Head.Hash:
		v.line, v.file = v.prevLine, v.prevFile
		v.fail(v.Head.N, Changed, fmt.Sprintf("record %d is not what record %d was written behind", v.Head.N, r.N))
		return
	case r.N > v.Head.N+1:
		v.wanted, v.seen = v.Head.N+1, r.N
		v.fail(r.N, Missing, fmt.Sprintf("record %d stands where record %d belongs", r.N, v.wanted))
		return
	case r.N <= v.Head.N:
		v.fail(r.N, Reordered, fmt.Sprintf("record %d stands behind record %d", r.N, v.Head.N))
		return
	}
	v.Head = Head{r.N, hashLine(line)}
	if hash, ok := v.kept[r.N]; ok && hash != v.Head.Hash {
		v.fail(r.N, Changed, fmt.Sprintf("record %d is not the one whose head was kept", r.N))
		return
	}
	if v.Records++; v.Records == 1 {
		v.First = r.At
	}
	v.Last, v.prevFile, v.prevLine = r.At, v.file, v.line
}

func (v *verifier) fail(n uint64, flaw Flaw, text string) {
	v.Break = &Break{File: v.file, Line: v.line, N: n, Flaw: flaw, Text: text}
}

var errFound = errors.New("found")

// lookAhead tells a gap whose records come later from one whose records are
// gone.
func (v *verifier) lookAhead(fsys vfs.FS, names []string) error {
	if v.wanted == 0 {
		return nil
	}
	needle := fmt.Appendf(nil, `{"n":%d,`, v.wanted)
	for _, name := range names {
		s := scan{name: name, newest: true, needle: needle, fn: func(r Record) error {
			if r.N == v.wanted {
				return errFound
			}
			return nil
		}}
		err := s.file(fsys)
		if errors.Is(err, errFound) {
			v.Break.Flaw = Reordered
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
