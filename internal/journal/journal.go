package journal

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// Journal is the journal opened for writing.
type Journal struct {
	fsys vfs.FS
	file vfs.File // the newest; nil before the first record
	name string   // of file
	size int64    // good bytes in file
	// opened is the end of the file as Open found it, nil once anything follows.
	opened []byte
	mark   Record // that opened begins with, if that is one
	head   Head

	boot     string // see Resume
	unsynced bool
	dirty    bool    // the directory has an entry that is not durable
	torn     bool    // a failed write could not be cut off yet
	broken   error   // a failed fsync: what is on the disk is not known any more
	owing    *Record // the recovered record that the next Append chains first
}

// Open opens the journal for the holder of the lease. It finds the last good
// record, sets what is torn behind it aside and cuts it off; the next Append
// then chains a recovered record, dated now. It reads the end of the newest
// file, back to the last settled record (4 KB at least), and no more.
func Open(fsys vfs.FS, now time.Time) (*Journal, error) { return Resume(fsys, now, "") }

// Resume is Open for who knows the id of this boot of the machine: what a pass
// of the same boot has parked is whole, so the end is read back to there.
func Resume(fsys vfs.FS, now time.Time, boot string) (*Journal, error) {
	const op = "open journal"
	names, err := files(fsys)
	if errors.Is(err, fs.ErrNotExist) {
		if err = fsys.Mkdir(Dir, 0o700); err == nil {
			err = fsys.SyncDir(".")
		}
	}
	if err != nil {
		return nil, failure(op, Dir, mail.KindStore, err, "")
	}
	j := &Journal{fsys: fsys, boot: boot}
	if len(names) == 0 {
		return j, nil
	}
	if err := j.openFile(names[len(names)-1], os.O_RDWR); err != nil {
		return nil, failure(op, j.name, mail.KindStore, err, "")
	}
	if err := j.settleTail(names, now); err != nil {
		j.file.Close()
		return nil, failure(op, j.name, mail.KindOf(err), err, "")
	}
	return j, nil
}

func (j *Journal) openFile(name string, flag int) error {
	f, err := j.fsys.OpenFile(path(name), flag, 0o600)
	j.name = name
	if err != nil {
		return err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		f.Close()
		return err
	}
	j.file, j.size = f, fi.Size()
	return nil
}

// settleTail finds the head in the newest file that has one and cuts off what
// is torn in the newest file.
func (j *Journal) settleTail(names []string, now time.Time) error {
	tail, off, mark, err := markedTail(j.file, j.size, j.boot)
	if err != nil {
		return err
	}
	good, head := goodAfter(tail, mark)
	j.head, j.opened, j.mark = head, tail[:good], mark
	// Whoever wrote what follows the last settled record may not have synced it,
	// nor the name of a file that has none.
	first := bytes.IndexByte(j.opened, '\n') + 1
	settled := mark.Event == Settled
	j.unsynced, j.dirty = good > first || !settled && good > 0, off == 0 && good > 0 && !settled
	if end := off + int64(good); end < j.size {
		if err := j.cut(tail[good:], end, now); err != nil {
			return err
		}
	}
	for i := len(names) - 2; i >= 0 && j.head.N == 0; i-- {
		if j.head, err = headOf(j.fsys, names[i]); err != nil {
			return err
		}
	}
	return nil
}

// cut keeps torn beside the journal and truncates the file to end.
func (j *Journal) cut(torn []byte, end int64, now time.Time) error {
	kept, err := setAside(j.fsys, j.name, torn)
	if err != nil {
		return err
	}
	if err := j.file.Truncate(end); err != nil {
		return err
	}
	j.size, j.unsynced = end, true
	j.owing = &Record{At: now, Event: Recovered, Detail: map[string]string{
		"file": j.name, "offset": strconv.FormatInt(end, 10),
		"bytes": strconv.Itoa(len(torn)), "kept": kept,
	}}
	return nil
}

// Append chains the records and writes them with one call per file. N and
// Prev are set here; a zero At is not allowed. A settled record first makes
// all before it durable, and a new date the old file. If a write fails, the
// file is cut back and nothing of that file's records counts as written: the
// journal may be appended to again. After a failed fsync it may not: open it
// anew.
func (j *Journal) Append(rs ...Record) error {
	const op = "append journal"
	if j.broken != nil {
		return failure(op, j.name, mail.KindStore, j.broken, "")
	}
	if j.owing != nil && len(rs) > 0 {
		rs = append([]Record{*j.owing}, rs...)
	}
	j.opened = nil
	for len(rs) > 0 {
		n := j.run(rs)
		if err := j.ready(rs[0]); err != nil {
			return failure(op, j.name, mail.KindStore, err, "")
		}
		if err := j.write(rs[:n]); err != nil {
			return failure(op, j.name, mail.KindStore, err, "free some space and run post route")
		}
		rs, j.owing = rs[n:], nil
	}
	return nil
}

// run returns how many of rs one write takes: those of one file, and a settled
// record only as the first.
func (j *Journal) run(rs []Record) int {
	name := max(j.name, fileOf(rs[0].At))
	for i, r := range rs[1:] {
		if fileOf(r.At) > name || r.Event == Settled {
			return i + 1
		}
	}
	return len(rs)
}

// ready makes durable what must be before r, and opens r's file.
func (j *Journal) ready(r Record) error {
	if r.At.IsZero() || r.Event == "" {
		return errors.New("a record needs a time and an event")
	}
	if j.torn {
		if err := j.file.Truncate(j.size); err != nil {
			return err
		}
		j.torn = false
	}
	fresh := fileOf(r.At) > j.name
	if fresh || r.Event == Settled {
		if err := j.Sync(); err != nil {
			return err
		}
	}
	if !fresh {
		return nil
	}
	old, oldName, oldSize := j.file, j.name, j.size
	if err := j.openFile(fileOf(r.At), os.O_RDWR|os.O_CREATE|os.O_EXCL); err != nil {
		j.file, j.name, j.size = old, oldName, oldSize
		return err
	}
	j.dirty = true
	if old != nil {
		old.Close() // synced above
	}
	return nil
}

func (j *Journal) write(rs []Record) error {
	var lines []byte
	head := j.head
	for _, r := range rs {
		r.At = r.At.UTC().Truncate(time.Millisecond)
		r.N, r.Prev = head.N+1, head.Hash
		var err error
		if lines, head.Hash, err = appendLine(lines, &r); err != nil {
			return err
		}
		head.N = r.N
	}
	j.unsynced = true
	if _, err := j.file.WriteAt(lines, j.size); err != nil {
		terr := j.file.Truncate(j.size)
		j.torn = terr != nil
		return errors.Join(err, terr)
	}
	j.size += int64(len(lines))
	j.head = head
	return nil
}

// Sync makes all that was appended durable.
func (j *Journal) Sync() error {
	err := j.broken
	if err == nil && j.unsynced {
		err = j.file.Sync()
	}
	if err == nil && j.dirty {
		err = j.fsys.SyncDir(Dir)
	}
	if err != nil {
		j.broken = err
		return failure("sync journal", j.name, mail.KindStore, err, "run post doctor")
	}
	j.unsynced, j.dirty = false, false
	return nil
}

// Head returns the number of the last record and its hash; 0 and "" if there
// is none.
func (j *Journal) Head() (n uint64, hash string) { return j.head.N, j.head.Hash }

// Close closes the file. It syncs nothing.
func (j *Journal) Close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}
