package spool

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// chunk is how much of a file's end is read at a time when looking backwards.
const chunk = 64 << 10

// AppendIndex appends one line per delivery, giving each the next sequence
// number in place (or keeping a greater one, from a journal that is redone), and returns the file for the caller to sync. A torn last line from a
// crash is cut first: it was never reported to anybody.
func (b Box) AppendIndex(lines []mail.IndexLine) (vfs.File, error) {
	f, err := b.FS.OpenFile(b.Path(Index), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	size, last, err := soundTail(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	var buf []byte
	for i := range lines {
		last = max(last+1, lines[i].Seq)
		lines[i].Seq = last
		buf = lines[i].AppendLine(buf)
	}
	if _, err := f.WriteAt(buf, size); err != nil {
		f.Truncate(size)
		f.Close()
		return nil, err
	}
	return f, nil
}

// soundTail cuts a torn last line and returns the size then and the last
// sequence number.
func soundTail(f vfs.File) (size int64, seq uint64, err error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	size = fi.Size()
	err = backwards(f, size, func(line []byte, end int64, whole bool) bool {
		l, perr := mail.ParseIndexLine(line)
		if whole && perr == nil {
			size, seq = end, l.Seq
			return false
		}
		size = end - int64(len(line))
		if whole {
			size--
		}
		return true
	})
	if err == nil && size < fi.Size() {
		err = f.Truncate(size)
	}
	return size, seq, err
}

// backwards calls fn with each line from the end; whole says that the line
// ended in a newline, end is the offset just after it. It stops when fn returns
// false.
func backwards(f vfs.File, size int64, fn func(line []byte, end int64, whole bool) bool) error {
	var rest []byte // the beginning of a line that starts in an earlier chunk
	end := size     // offset just after rest
	for pos := size; pos > 0; {
		n := min(int64(chunk), pos)
		pos -= n
		buf := make([]byte, n, int(n)+len(rest))
		if _, err := io.ReadFull(io.NewSectionReader(f, pos, n), buf); err != nil {
			return err
		}
		rest = append(buf, rest...)
		for {
			body := rest
			whole := len(body) > 0 && body[len(body)-1] == '\n'
			if whole {
				body = body[:len(body)-1]
			}
			cut := bytes.LastIndexByte(body, '\n')
			if cut < 0 {
				break
			}
			if !fn(body[cut+1:], end, whole) {
				return nil
			}
			end = pos + int64(cut) + 1
			rest = rest[:cut+1]
		}
	}
	if len(rest) == 0 {
		return nil
	}
	whole := rest[len(rest)-1] == '\n'
	fn(bytes.TrimSuffix(rest, []byte("\n")), end, whole)
	return nil
}

// ScanIndex calls fn with the index lines from the newest to the oldest until
// fn returns false. A missing index has no lines; torn ones are skipped.
func (b Box) ScanIndex(fn func(mail.IndexLine) bool) error {
	return b.scanRaw(func(line []byte) bool {
		l, err := mail.ParseIndexLine(line)
		return err != nil || fn(l)
	})
}

// ScanTraffic is ScanIndex for what the fuse wants to know.
func (b Box) ScanTraffic(fn func(mail.Traffic) bool) error {
	return b.scanRaw(func(line []byte) bool {
		t, ok := mail.ParseTraffic(line)
		return !ok || fn(t)
	})
}

// FindIndex looks for a message's line.
func (b Box) FindIndex(id mail.ID) (found mail.IndexLine, ok bool, err error) {
	needle := []byte(id)
	err = b.scanRaw(func(line []byte) bool {
		if !bytes.Contains(line, needle) {
			return true
		}
		if l, perr := mail.ParseIndexLine(line); perr == nil && l.ID == id {
			found, ok = l, true
		}
		return !ok
	})
	return found, ok, err
}

func (b Box) scanRaw(fn func(line []byte) bool) error {
	f, err := b.FS.OpenFile(b.Path(Index), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	return backwards(f, fi.Size(), func(line []byte, _ int64, _ bool) bool { return fn(line) })
}
