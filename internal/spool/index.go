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

const (
	// firstChunk and chunk are how much of a file's end is read at a time when
	// looking backwards: nearly always the last line is all that is asked for.
	firstChunk = 4 << 10
	chunk      = 64 << 10
	// maxLine is the longest line that can be one of ours, in bytes; what is
	// longer is passed over without being kept in memory.
	maxLine = 2 * mail.MaxSize
	// Reach is how far back from its end somebody else's index is read. Its owner
	// may write there, and make it as long as the disk is large.
	Reach = 16 << 20
	// tailReach is how far back the last sound line may be: a crash leaves no
	// more than one pass's lines torn.
	tailReach  = 4 << 20
	everything = 1 << 62
)

// indexHead is how every line begins that AppendIndex writes.
var indexHead = []byte(`{"seq":`)

// errGarbage is the cause when an index has no sound line where one must be.
var errGarbage = errors.New("no line of this index can be read")

// AppendIndex appends one line per delivery, giving each the next sequence
// number in place (or keeping a greater one, from a journal that is redone),
// and returns the file for the caller to sync. A torn last line from a crash is
// cut first: it was never reported to anybody. What is no index at all is set
// aside.
func (b Box) AppendIndex(lines []mail.IndexLine) (vfs.File, error) {
	f, size, last, err := b.openIndex()
	if err != nil {
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

// openIndex opens the index for appending and returns where its sound lines end
// and their last sequence number.
func (b Box) openIndex() (f vfs.File, size int64, last uint64, err error) {
	for range 2 {
		f, err = b.FS.OpenFile(b.Path(Index), os.O_RDWR|os.O_CREATE, 0o600)
		if err == nil {
			if size, last, err = soundTail(f); err == nil {
				return f, size, last, nil
			}
			f.Close()
		}
		fi, lerr := b.FS.Lstat(b.Path(Index))
		if lerr != nil || fi.Mode().IsRegular() && !errors.Is(err, errGarbage) {
			break
		}
		if serr := b.setAside("", Index); serr != nil {
			return nil, 0, 0, serr
		}
		// The new file's name is as durable as the old one's was.
		if serr := b.FS.SyncDir(b.Path()); serr != nil {
			return nil, 0, 0, serr
		}
	}
	return nil, 0, 0, err
}

// soundTail cuts a torn end and returns the size then and the last sequence
// number.
func soundTail(f vfs.File) (size int64, seq uint64, err error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	size = fi.Size()
	found := false
	err = backwards(f, size, tailReach, func(line []byte, start, end int64, whole bool) bool {
		l, perr := mail.IndexLine{}, errGarbage
		if whole && bytes.HasPrefix(line, indexHead) {
			l, perr = mail.ParseIndexLine(line)
		}
		if found = perr == nil; found {
			size, seq = end, l.Seq
		} else {
			size = start
		}
		return !found
	})
	if err == nil && !found && size > 0 {
		err = errGarbage
	}
	if err == nil && size < fi.Size() {
		err = f.Truncate(size)
	}
	return size, seq, err
}

// backwards calls fn with each line from the end, as far back as reach bytes;
// start and end are its offsets, whole says that it ended in a newline. A line
// over maxLine is nil. It stops when fn returns false.
func backwards(f vfs.File, size, reach int64, fn func(line []byte, start, end int64, whole bool) bool) error {
	var rest []byte // from pos on, up to end but for what is over
	end, over := size, false
	pos, step := size, int64(firstChunk)
	for pos > max(0, size-reach) {
		n := min(step, pos)
		step = min(4*step, chunk)
		pos -= n
		buf := make([]byte, n, int(n)+len(rest))
		if _, err := io.ReadFull(io.NewSectionReader(f, pos, n), buf); err != nil {
			return err
		}
		rest = append(buf, rest...)
		for {
			cut := bytes.LastIndexByte(rest[:len(rest)-len(ending(rest, over))], '\n') + 1
			if cut == 0 {
				break
			}
			if !emit(rest[cut:], pos+int64(cut), end, over, fn) {
				return nil
			}
			rest, end, over = rest[:cut], pos+int64(cut), false
		}
		if len(rest) > maxLine {
			rest, over = nil, true
		}
	}
	if pos == 0 && end > 0 {
		emit(rest, 0, end, over, fn)
	}
	return nil
}

// ending is the newline that ends the last line of b, if that is in b.
func ending(b []byte, over bool) []byte {
	if over || len(b) == 0 || b[len(b)-1] != '\n' {
		return nil
	}
	return b[len(b)-1:]
}

func emit(line []byte, start, end int64, over bool, fn func(line []byte, start, end int64, whole bool) bool) bool {
	if over {
		return fn(nil, start, end, true)
	}
	body, whole := bytes.CutSuffix(line, []byte("\n"))
	return fn(body, start, end, whole)
}

// ScanIndex calls fn with the index lines from the newest to the oldest until
// fn returns false. A missing index has no lines, and neither has what is no
// file; torn ones are skipped.
func (b Box) ScanIndex(fn func(mail.IndexLine) bool) error {
	return b.scanRaw(everything, func(line []byte) bool {
		if !bytes.HasPrefix(line, indexHead) {
			return true
		}
		l, err := mail.ParseIndexLine(line)
		return err != nil || fn(l)
	})
}

// ScanTraffic is ScanIndex for what the fuse wants to know; it ends at Reach.
func (b Box) ScanTraffic(fn func(mail.Traffic) bool) error {
	return b.scanRaw(Reach, func(line []byte) bool {
		t, ok := mail.ParseTraffic(line)
		return !ok || fn(t)
	})
}

// FindIndex looks for a message's line, as far back as reach bytes; 0 is the
// whole index.
func (b Box) FindIndex(id mail.ID, reach int64) (found mail.IndexLine, ok bool, err error) {
	if reach == 0 {
		reach = everything
	}
	needle := []byte(id)
	err = b.scanRaw(reach, func(line []byte) bool {
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

func (b Box) scanRaw(reach int64, fn func(line []byte) bool) error {
	f, err := b.FS.OpenFile(b.Path(Index), os.O_RDONLY, 0)
	if err != nil {
		if fi, lerr := b.FS.Lstat(b.Path(Index)); errors.Is(err, fs.ErrNotExist) || lerr == nil && !fi.Mode().IsRegular() {
			return nil
		}
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return err
	}
	return backwards(f, fi.Size(), reach, func(line []byte, _, _ int64, _ bool) bool { return fn(line) })
}
