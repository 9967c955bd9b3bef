package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

const readChunk = 256 << 10

// Each calls fn for the records with from <= At < to, in the order of the
// journal; a zero time is no limit. An error of fn ends it and is returned. A
// torn last line is passed over. A line in the middle that cannot be read is
// passed over too, and the first such is reported at the end (KindCorrupt).
func Each(fsys vfs.FS, from, to time.Time, fn func(Record) error) error {
	return EachMatching(fsys, from, nil, func(r Record) error {
		if !to.IsZero() && !r.At.Before(to) {
			return nil
		}
		return fn(r)
	})
}

// EachMatching is Each for the records whose line holds needle, which is found
// before anything is parsed: for an id, an aid or an event. Text that JSON
// escapes is not found.
func EachMatching(fsys vfs.FS, from time.Time, needle []byte, fn func(Record) error) error {
	names, err := files(fsys)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return failure("read journal", Dir, mail.KindStore, err, "")
	}
	var first error
	for i, name := range names {
		// A file holds no record later than its date, only earlier ones.
		if !from.IsZero() && name < fileOf(from) {
			continue
		}
		s := scan{name: name, newest: i == len(names)-1, needle: needle, from: from, fn: fn}
		if err := s.file(fsys); err != nil {
			return err
		}
		if first == nil {
			first = s.bad
		}
	}
	return first
}

// scan is the reading of one file.
type scan struct {
	name   string
	newest bool
	needle []byte
	from   time.Time
	fn     func(Record) error
	line   int   // lines before the current chunk
	bad    error // the first unreadable line
}

func (s *scan) file(fsys vfs.FS) error {
	return eachChunk(fsys, s.name, func(chunk []byte, last bool) error {
		for from := 0; from < len(chunk); {
			at := bytes.Index(chunk[from:], s.needle)
			if at < 0 {
				break
			}
			at += from
			begin := bytes.LastIndexByte(chunk[:at], '\n') + 1
			end := bytes.IndexByte(chunk[at:], '\n') + at
			if end < at { // only a file's last line has no line feed
				end = len(chunk)
			}
			if err := s.record(chunk, begin, end, last && end+1 >= len(chunk)); err != nil {
				return err
			}
			from = end + 1
		}
		s.line += bytes.Count(chunk, []byte("\n"))
		return nil
	})
}

// record hands the line chunk[begin:end] to fn.
func (s *scan) record(chunk []byte, begin, end int, last bool) error {
	r, err := parseLine(chunk[begin:end])
	switch {
	case err != nil && last && s.newest:
		return nil // torn, or being written
	case err != nil && s.bad == nil:
		line := s.line + bytes.Count(chunk[:begin], []byte("\n")) + 1
		s.bad = &mail.Error{
			Op: "read journal", Kind: mail.KindCorrupt, Addr: fmt.Sprintf("%s line %d", s.name, line),
			Err: err, Hint: "run post verify",
		}
		return nil
	case err != nil, !s.from.IsZero() && r.At.Before(s.from):
		return nil
	}
	return s.fn(r)
}

// eachChunk reads a file in pieces that end where a line ends; the last one
// may not.
func eachChunk(fsys vfs.FS, name string, fn func(chunk []byte, last bool) error) error {
	f, err := fsys.OpenFile(path(name), os.O_RDONLY, 0)
	if err != nil {
		return failure("read journal", name, mail.KindStore, err, "")
	}
	defer f.Close()
	buf, have := make([]byte, readChunk), 0
	for {
		n, err := f.Read(buf[have:])
		have += n
		if err != nil && err != io.EOF {
			return failure("read journal", name, mail.KindStore, err, "")
		}
		if err == io.EOF {
			if have == 0 {
				return nil
			}
			return fn(buf[:have], true)
		}
		end := bytes.LastIndexByte(buf[:have], '\n') + 1
		if end > 0 {
			if err := fn(buf[:end], false); err != nil {
				return err
			}
			have = copy(buf, buf[end:have])
		}
		if have == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
}
