package journal

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// Position is a place in the journal: behind one record, which it proves. The
// zero Position is the beginning.
type Position struct {
	Head
	File   string // the record's file
	Offset int64  // the end of its line, in bytes
	Length int64  // of its line, with the line feed
}

// ErrElsewhere: the record before a position is another one than it was, so the
// journal was cut back or is another office's.
var ErrElsewhere = errors.New("the journal is not the one that was read before")

// After calls fn for each whole record behind pos, in the order of the journal,
// with the position behind it. It is for who keeps a copy: what fn was given
// needs never be read again. An error of fn ends it and is returned. A line that
// cannot be read is passed over, and the first such is reported at the end
// (KindCorrupt); a torn last line is left for the next time. The error wraps
// ErrElsewhere if pos does not fit.
func After(fsys vfs.FS, pos Position, fn func(Record, Position) error) error {
	names, err := files(fsys)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failure("read journal", Dir, mail.KindStore, err, "")
	}
	if pos.File != "" {
		at := slices.Index(names, pos.File)
		if at < 0 {
			return failure("read journal", pos.File, mail.KindConflict, ErrElsewhere, "")
		}
		names = names[at:]
	}
	var first error
	for i, name := range names {
		r := &reading{fsys: fsys, name: name, newest: i == len(names)-1, fn: fn}
		if err := r.from(pos); err != nil {
			return err
		}
		if first == nil {
			first = r.bad
		}
	}
	return first
}

// Size is how many bytes the journal has behind pos.
func Size(fsys vfs.FS, pos Position) (size int64) {
	names, _ := files(fsys) // without a journal there is nothing behind
	for _, name := range names {
		if fi, err := fsys.Lstat(path(name)); err == nil && name >= pos.File {
			size += fi.Size()
		}
	}
	return max(0, size-pos.Offset)
}

// reading is the reading of one file from a position on.
type reading struct {
	fsys   vfs.FS
	name   string
	newest bool
	fn     func(Record, Position) error
	bad    error
}

func (r *reading) from(pos Position) error {
	f, err := r.fsys.OpenFile(path(r.name), os.O_RDONLY, 0)
	if err != nil {
		return failure("read journal", r.name, mail.KindStore, err, "")
	}
	defer f.Close()
	off := int64(0)
	if r.name == pos.File {
		line := make([]byte, pos.Length)
		if _, err := f.ReadAt(line, pos.Offset-pos.Length); err != nil && err != io.EOF ||
			!bytes.HasSuffix(line, []byte("\n")) || hashLine(line[:len(line)-1]) != pos.Hash {
			return failure("read journal", r.name, mail.KindConflict, ErrElsewhere, "")
		}
		off = pos.Offset
	}
	in := bufio.NewReaderSize(io.NewSectionReader(f, off, 1<<62), readChunk)
	for {
		line, err := in.ReadBytes('\n')
		switch {
		case err == io.EOF:
			return nil // what is left is torn, or being written
		case err != nil:
			return failure("read journal", r.name, mail.KindStore, err, "")
		}
		off += int64(len(line))
		if err := r.line(line, off, in); err != nil {
			return err
		}
	}
}

func (r *reading) line(line []byte, end int64, in *bufio.Reader) error {
	text := line[:len(line)-1]
	rec, err := parseLine(text)
	if err == nil {
		return r.fn(rec, Position{Head{rec.N, hashLine(text)}, r.name, end, int64(len(line))})
	}
	if _, more := in.Peek(1); r.bad == nil && (more == nil || !r.newest) {
		r.bad = failure("read journal", r.name, mail.KindCorrupt, err, "run post verify")
	}
	return nil
}
