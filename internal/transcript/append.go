package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// Intent says where a section is going to stand. It is journalled before the
// section is written (design §3, torn tails).
type Intent struct {
	File   string // name in transcripts/
	Offset int64  // bytes before it
	Length int64
	Digest mail.Digest // of the section
}

// End is the offset behind the section.
func (in Intent) End() int64 { return in.Offset + in.Length }

// Prepare returns the intent to append section to file, which need not exist.
// It writes nothing.
func Prepare(fsys vfs.FS, file string, section []byte) (Intent, error) {
	p, err := path(file)
	if err != nil {
		return Intent{}, err
	}
	fi, err := fsys.Lstat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return intent(file, 0, section), nil
	case err != nil:
		return Intent{}, failure("open transcript", file, mail.KindStore, err, "")
	case !fi.Mode().IsRegular():
		return Intent{}, failure("open transcript", file, mail.KindCorrupt, errors.New("not a regular file"), "move it away")
	}
	return intent(file, fi.Size(), section), nil
}

// Next returns the intent to append section right behind in, for several
// sections of one file in one batch.
func (in Intent) Next(section []byte) Intent { return intent(in.File, in.End(), section) }

func intent(file string, offset int64, section []byte) Intent {
	return Intent{File: file, Offset: offset, Length: int64(len(section)), Digest: mail.DigestOf(section)}
}

// Append writes the section where in says. What already stands there must be
// the start of the section, and is completed; anything else is KindCorrupt and
// changes nothing. If the write fails, the file is cut back to what it had.
// Nothing is durable before Sync.
func Append(fsys vfs.FS, in Intent, section []byte) error {
	const op = "append transcript"
	if int64(len(section)) != in.Length || mail.DigestOf(section) != in.Digest {
		return failure(op, in.File, mail.KindInvalid, errors.New("the section is not the one announced"), "")
	}
	f, size, err := open(fsys, in.File, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	defer f.Close()
	if size < in.Offset || size > in.End() {
		return failure(op, in.File, mail.KindCorrupt,
			fmt.Errorf("has %d bytes where %d were expected", size, in.Offset), "somebody else wrote to it; run post doctor")
	}
	have, err := readRange(f, in.Offset, size-in.Offset)
	if err != nil {
		return failure(op, in.File, mail.KindStore, err, "")
	}
	if !bytes.HasPrefix(section, have) {
		return failure(op, in.File, mail.KindCorrupt, errors.New("other text stands where the section belongs"), "run post doctor")
	}
	return write(f, in, section[len(have):], size, op)
}

// AppendRun is Append for sections of one file of which each begins where the
// one before it ends, with one write: all of them, or none.
func AppendRun(fsys vfs.FS, ins []Intent, sections [][]byte) error {
	if len(ins) == 1 {
		return Append(fsys, ins[0], sections[0])
	}
	for i, in := range ins {
		if int64(len(sections[i])) != in.Length || mail.DigestOf(sections[i]) != in.Digest || i > 0 && (in.File != ins[0].File || in.Offset != ins[i-1].End()) {
			return failure("append transcript", in.File, mail.KindInvalid, errors.New("the sections are not those announced"), "")
		}
	}
	all := bytes.Join(sections, nil)
	return Append(fsys, intent(ins[0].File, ins[0].Offset, all), all)
}

// write writes the rest of a section at the end of f, or nothing.
func write(f vfs.File, in Intent, rest []byte, size int64, op string) error {
	if len(rest) == 0 {
		return nil
	}
	if _, err := f.WriteAt(rest, size); err != nil {
		err = errors.Join(err, f.Truncate(size))
		return failure(op, in.File, mail.KindStore, err, "free some space and run post route")
	}
	return nil
}

// Sync makes the appended sections durable: each file once, at the same time,
// and the directory if one of the files may be new.
func Sync(fsys vfs.FS, ins ...Intent) error {
	files, fresh := map[string]bool{}, false
	for _, in := range ins {
		files[in.File] = true
		fresh = fresh || in.Offset == 0
	}
	var wg sync.WaitGroup
	errs := make(chan error, len(files)+1)
	slots := make(chan struct{}, 8)
	for file := range files {
		wg.Go(func() {
			slots <- struct{}{}
			errs <- syncFile(fsys, file)
			<-slots
		})
	}
	wg.Wait()
	if fresh {
		errs <- fsys.SyncDir(Dir)
	}
	close(errs)
	for err := range errs {
		if err != nil {
			return failure("sync transcript", Dir, mail.KindStore, err, "")
		}
	}
	return nil
}

func syncFile(fsys vfs.FS, file string) error {
	f, _, err := open(fsys, file, os.O_RDWR)
	if err != nil {
		return err
	}
	err = f.Sync()
	return errors.Join(err, f.Close())
}

// open opens a transcript and returns its size.
func open(fsys vfs.FS, file string, flag int) (vfs.File, int64, error) {
	p, err := path(file)
	if err != nil {
		return nil, 0, err
	}
	f, err := fsys.OpenFile(p, flag, 0o600)
	if err != nil {
		return nil, 0, failure("open transcript", file, mail.KindStore, err, "")
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		f.Close()
		return nil, 0, failure("open transcript", file, mail.KindStore, err, "")
	}
	return f, fi.Size(), nil
}

func readRange(f vfs.File, off, n int64) ([]byte, error) {
	if n <= 0 {
		return nil, nil
	}
	b := make([]byte, n)
	got, err := f.ReadAt(b, off)
	if err == io.EOF && int64(got) == n {
		err = nil
	}
	return b[:got], err
}

func failure(op, file string, kind mail.Kind, err error, hint string) error {
	return &mail.Error{Op: op, Kind: kind, Addr: file, Err: err, Hint: hint}
}
