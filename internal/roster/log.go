package roster

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
)

// maxLog is how much output of a detached agent is kept at most, in bytes, and
// once more: the file before it.
const maxLog = 1 << 20

// older is added to the name of the log before the one that is written.
const older = ".1"

// keptLog is a bounded log. It may be written by several goroutines.
type keptLog struct {
	mu   sync.Mutex
	path string
	max  int64
	f    *os.File
	size int64
}

func openLog(path string, max int64) (*keptLog, error) {
	l := &keptLog{path: path, max: max}
	return l, l.open()
}

func (l *keptLog) open() error {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	fi, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.f, l.size = f, fi.Size()
	return nil
}

// Write never fails for the agent: an agent is not to die of a full disk that
// only its log needs.
func (l *keptLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+int64(len(p)) > l.max && l.size > 0 {
		l.f.Close()
		_ = os.Rename(l.path, l.path+older)
		if l.open() != nil {
			return len(p), nil
		}
	}
	n, _ := l.f.Write(p)
	l.size += int64(n)
	return len(p), nil
}

func (l *keptLog) Close() error { return l.f.Close() }

// Log is where a detached agent's output is.
type Log struct{ path string }

// Log returns an agent's log, which may not be there.
func (s *Store) Log(aid string) (Log, error) {
	return Log{s.Path(aid, logExt)}, check(aid)
}

// Place is where the log can be read on from.
type Place struct {
	file   os.FileInfo
	offset int64
}

// Tail returns the last n lines, and where what comes then begins. A log that is
// not there is fs.ErrNotExist.
func (l Log) Tail(n int) ([]byte, Place, error) {
	now, at, err := l.From(Place{})
	if err != nil {
		return nil, Place{}, err
	}
	if bytes.Count(now, []byte("\n")) < n {
		if before, err := os.ReadFile(l.path + older); err == nil {
			now = append(before, now...)
		}
	}
	return lastLines(now, n), at, nil
}

func lastLines(text []byte, n int) []byte {
	end := len(text)
	if end > 0 && text[end-1] == '\n' {
		end--
	}
	for ; n > 0; n-- {
		at := bytes.LastIndexByte(text[:end], '\n')
		if at < 0 {
			return text
		}
		if end = at; n == 1 {
			return text[at+1:]
		}
	}
	return nil
}

// From returns what was written since a place. Of a log that was moved away
// meanwhile the rest comes first.
func (l Log) From(p Place) ([]byte, Place, error) {
	f, err := os.Open(l.path)
	if err != nil {
		return nil, p, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, p, err
	}
	var out []byte
	from := int64(0)
	switch {
	case p.file == nil:
	case os.SameFile(p.file, fi):
		from = min(p.offset, fi.Size())
	default:
		out = rest(l.path+older, p)
	}
	data, err := io.ReadAll(io.NewSectionReader(f, from, fi.Size()-from))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return append(out, data...), Place{fi, from + int64(len(data))}, err
}

// rest is what stands behind a place in a log that was moved away.
func rest(path string, p Place) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !os.SameFile(fi, p.file) {
		return nil
	}
	data, _ := io.ReadAll(io.NewSectionReader(f, p.offset, maxLog))
	return data
}
