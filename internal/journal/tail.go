package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// tailChunk is what is read of a file's end at first: nearly always the last
// record is a settled one.
const tailChunk = 4 << 10

var (
	settledMark = []byte(`"event":"settled"`)
	parkedMark  = []byte(`"event":"parked"`)
)

// bootKey is where a parked record says in which boot that was.
const bootKey = "boot"

// tailOf returns the end of a file from its last settled record on, or from one
// that was parked in this boot, or all of it, and the offset where that begins.
func tailOf(f vfs.File, size int64, boot string) (tail []byte, off int64, err error) {
	tail, off, _, err = markedTail(f, size, boot)
	return tail, off, err
}

// markedTail is tailOf with the record that the tail begins with; zero if that
// is no mark.
func markedTail(f vfs.File, size int64, boot string) (tail []byte, off int64, mark Record, err error) {
	for n := int64(tailChunk); ; n *= 4 {
		off = max(0, size-n)
		buf := make([]byte, size-off)
		if got, err := f.ReadAt(buf, off); err != nil && (err != io.EOF || got < len(buf)) {
			return nil, 0, mark, err
		}
		at, mark, found := lastMark(buf, settledMark, func(r Record) bool { return r.Event == Settled })
		if boot != "" {
			later := max(at, 0)
			if in, parked, some := lastMark(buf[later:], parkedMark, func(r Record) bool { return r.Event == Parked && r.Detail[bootKey] == boot }); some {
				at, mark, found = later+in, parked, true
			}
		}
		if found {
			return buf[at:], off + int64(at), mark, nil
		}
		if off == 0 {
			return buf, 0, Record{}, nil
		}
	}
}

// lastMark finds the line of the last record that is whole, holds mark and is
// the one.
func lastMark(buf, text []byte, is func(Record) bool) (at int, mark Record, found bool) {
	for end := len(buf); ; {
		hit := bytes.LastIndex(buf[:end], text)
		if hit < 0 {
			return 0, mark, false
		}
		at = bytes.LastIndexByte(buf[:hit], '\n') + 1
		if n := bytes.IndexByte(buf[hit:], '\n'); n >= 0 {
			if r, err := parseLine(buf[at : hit+n]); err == nil && is(r) {
				return at, r, true
			}
		}
		end = hit
	}
}

// goodLines returns the length of the whole, readable, chained records that b
// begins with, and the last one's head. What a failed write left behind may
// look whole, but it does not follow.
func goodLines(b []byte) (n int, head Head) { return goodAfter(b, Record{}) }

// goodAfter is goodLines where the first line was read already, if mark has a
// number.
func goodAfter(b []byte, mark Record) (n int, head Head) {
	for {
		i := bytes.IndexByte(b[n:], '\n')
		if i < 0 {
			return n, head
		}
		r, err := mark, error(nil)
		if n > 0 || mark.N == 0 {
			r, err = parseLine(b[n : n+i])
		}
		if err != nil || n > 0 && (r.N != head.N+1 || r.Prev != head.Hash) {
			return n, head
		}
		head = Head{r.N, hashLine(b[n : n+i])}
		n += i + 1
	}
}

// headOf returns the head of a file that is not the newest, and so was durable
// before the next one began.
func headOf(fsys vfs.FS, name string) (Head, error) {
	f, err := fsys.OpenFile(path(name), os.O_RDONLY, 0)
	if err != nil {
		return Head{}, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return Head{}, err
	}
	tail, _, err := tailOf(f, fi.Size(), "")
	if err != nil {
		return Head{}, err
	}
	good, head := goodLines(tail)
	if good < len(tail) {
		return Head{}, &mail.Error{
			Op: "read journal", Kind: mail.KindCorrupt, Addr: name,
			Err: errors.New("a line in an older file is unreadable"), Hint: "run post verify",
		}
	}
	return head, nil
}

// Durable returns the newest head that is known to be on the disk for good: the
// record before the last settled one (see the package's invariants). Anybody may
// call it at any time; zero if nothing is settled yet. A head to keep elsewhere
// must be one that no crash can take back.
func Durable(fsys vfs.FS) (Head, error) {
	names, err := files(fsys)
	if errors.Is(err, fs.ErrNotExist) {
		return Head{}, nil
	}
	if err != nil {
		return Head{}, failure("read journal", Dir, mail.KindStore, err, "")
	}
	for i := len(names) - 1; i >= 0; i-- {
		h, found, err := settledHead(fsys, names[i])
		if err != nil {
			return Head{}, failure("read journal", names[i], mail.KindStore, err, "")
		}
		if found {
			return h, nil
		}
	}
	return Head{}, nil
}

func settledHead(fsys vfs.FS, name string) (h Head, found bool, err error) {
	f, err := fsys.OpenFile(path(name), os.O_RDONLY, 0)
	if err != nil {
		return Head{}, false, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return Head{}, false, err
	}
	tail, _, err := tailOf(f, fi.Size(), "")
	if err != nil {
		return Head{}, false, err
	}
	line, _, _ := bytes.Cut(tail, []byte("\n"))
	r, err := parseLine(line)
	if err != nil || r.Event != Settled {
		return Head{}, false, nil
	}
	return Head{r.N - 1, r.Prev}, true, nil
}

// setAside keeps torn as journal/.torn-<date>-<n>, durably.
func setAside(fsys vfs.FS, file string, torn []byte) (string, error) {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s%s-%d", tornPrefix, strings.TrimSuffix(file, ext), n)
		f, err := fsys.OpenFile(path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(torn)
		return name, errors.Join(err, f.Sync(), f.Close(), fsys.SyncDir(Dir))
	}
}

// Parked returns the last parked record of this boot (see Resume) and what
// follows it; false if something was settled since, or nothing parked.
func (j *Journal) Parked() (mark Record, after []Record, ok bool) {
	if j.opened == nil || j.mark.Event != Parked {
		return Record{}, nil, false
	}
	_, rest, _ := bytes.Cut(j.opened, []byte("\n"))
	after, settled := unsettledOf(rest)
	return j.mark, after, !settled
}

// LastParked is Parked for who does not hold the lease: it reads, and cuts
// nothing.
func LastParked(fsys vfs.FS, boot string) (Record, bool) {
	names, err := files(fsys)
	if err != nil || len(names) == 0 || boot == "" {
		return Record{}, false
	}
	f, err := fsys.OpenFile(path(names[len(names)-1]), os.O_RDONLY, 0)
	if err != nil {
		return Record{}, false
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return Record{}, false
	}
	_, _, mark, err := markedTail(f, fi.Size(), boot)
	return mark, err == nil && mark.Event == Parked
}

// Unsettled returns the records after the last settled one, oldest first,
// over as many files as that takes: what a crash may have left half done.
func (j *Journal) Unsettled() ([]Record, error) {
	const op = "read journal"
	if j.opened != nil {
		rs, settled := unsettledOf(j.opened)
		if settled {
			return rs, nil
		}
	}
	names, err := files(j.fsys)
	if err != nil {
		return nil, failure(op, Dir, mail.KindStore, err, "")
	}
	var rs []Record
	for i := len(names) - 1; i >= 0; i-- {
		part, settled, err := unsettledIn(j.fsys, names[i])
		if err != nil {
			return nil, failure(op, names[i], mail.KindStore, err, "")
		}
		rs = append(part, rs...)
		if settled {
			break
		}
	}
	return rs, nil
}

func unsettledIn(fsys vfs.FS, name string) (rs []Record, settled bool, err error) {
	f, err := fsys.OpenFile(path(name), os.O_RDONLY, 0)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	tail, _, err := tailOf(f, fi.Size(), "")
	if err != nil {
		return nil, false, err
	}
	rs, settled = unsettledOf(tail)
	return rs, settled, nil
}

// unsettledOf reads the records of a tail after its last settled one.
func unsettledOf(tail []byte) (rs []Record, settled bool) {
	for line := range bytes.Lines(tail) {
		r, err := parseLine(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			break // the torn end of a file that Open has not seen
		}
		if r.Event == Settled {
			settled, rs = true, nil
			continue
		}
		rs = append(rs, r)
	}
	return rs, settled
}
