package journal

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// Follower reads what is appended to the journal as it comes, for who does not
// hold the lease. The zero Follower begins with the oldest record. It proves
// nothing: that is Verify's.
type Follower struct {
	name string
	at   int64 // of name, behind the last whole line that was read
}

// Place is where a Follower stands, to be kept.
type Place struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"` // behind the last whole line that was read
}

// Place returns where f stands.
func (f *Follower) Place() Place { return Place{f.name, f.at} }

// FollowFrom returns a Follower that goes on at a place that was kept.
func FollowFrom(p Place) Follower { return Follower{name: p.File, at: p.Offset} }

// Skip passes over all that is there.
func (f *Follower) Skip(fsys vfs.FS) error {
	names, err := files(fsys)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(names) == 0 {
		return nil
	}
	if err != nil {
		return failure("read journal", Dir, mail.KindStore, err, "")
	}
	f.name, f.at = names[len(names)-1], 0
	return f.read(fsys, nil)
}

// Back goes to reach bytes before the end, so that Next begins with what
// happened last. A record that is cut there is left out.
func (f *Follower) Back(fsys vfs.FS, reach int64) error {
	names, err := files(fsys)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failure("read journal", Dir, mail.KindStore, err, "")
	}
	for _, name := range slices.Backward(names) {
		fi, err := fsys.Lstat(path(name))
		if err != nil {
			return failure("read journal", name, mail.KindStore, err, "")
		}
		f.name, f.at = name, max(0, fi.Size()-reach) // half a line is no record, so it is passed over
		if reach -= fi.Size(); reach <= 0 {
			break
		}
	}
	return nil
}

// Next calls fn for each record that is new since the last call. A line that
// is not whole yet comes with a later call; one that cannot be read is passed
// over. An error of fn ends it and is returned.
func (f *Follower) Next(fsys vfs.FS, fn func(Record) error) error {
	names, err := files(fsys)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return failure("read journal", Dir, mail.KindStore, err, "")
	}
	for _, name := range names {
		if name < f.name {
			continue
		}
		if name > f.name {
			f.name, f.at = name, 0
		}
		if err := f.read(fsys, fn); err != nil {
			return err
		}
	}
	return nil
}

// read takes the whole lines of a file that are new; without fn it only passes
// over them.
func (f *Follower) read(fsys vfs.FS, fn func(Record) error) error {
	file, err := fsys.OpenFile(path(f.name), os.O_RDONLY, 0)
	if err != nil {
		return failure("read journal", f.name, mail.KindStore, err, "")
	}
	defer file.Close()
	fi, err := file.Stat()
	if err != nil {
		return failure("read journal", f.name, mail.KindStore, err, "")
	}
	f.at = min(f.at, fi.Size()) // a torn end was cut off
	buf := make([]byte, 0, readChunk)
	for from := f.at; ; {
		n, err := file.ReadAt(buf[len(buf):cap(buf)], from)
		if err != nil && err != io.EOF {
			return failure("read journal", f.name, mail.KindStore, err, "")
		}
		from += int64(n)
		buf = buf[:len(buf)+n]
		rest, fault := f.lines(buf, fn)
		if fault != nil || n == 0 {
			return fault
		}
		if buf = append(buf[:0], rest...); len(buf) == cap(buf) {
			buf = append(make([]byte, 0, 2*cap(buf)), buf...)
		}
	}
}

// lines hands over the whole lines of a chunk and returns what is left of it.
func (f *Follower) lines(chunk []byte, fn func(Record) error) (rest []byte, err error) {
	for {
		end := bytes.IndexByte(chunk, '\n')
		if end < 0 {
			return chunk, nil
		}
		f.at += int64(end) + 1
		if fn != nil {
			if r, bad := parseLine(chunk[:end]); bad == nil {
				err = fn(r)
			}
		}
		if err != nil {
			return nil, err
		}
		chunk = chunk[end+1:]
	}
}
