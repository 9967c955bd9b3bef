package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// Outcome is what Recover found and did.
type Outcome string

// The outcomes.
const (
	Complete  Outcome = "complete"  // the section was there
	Completed Outcome = "completed" // its start was; the rest was written
	Cut       Outcome = "cut"       // none of it is there now; prepare it anew
	Short     Outcome = "short"     // the file ends before its offset: an earlier section was cut; prepare it anew
)

// Recover settles an intent after a crash, in the order of the journal. It
// completes a section whose start is there (or nothing of it) from what section
// returns, and cuts the file back to the offset if other bytes stand there or
// the section cannot be had. What follows the section's place is kept beside
// the file before a cut takes it along. Bytes before the offset never change.
// Sync makes the result durable.
func Recover(fsys vfs.FS, in Intent, section func() ([]byte, error)) (Outcome, error) {
	const op = "recover transcript"
	f, size, err := open(fsys, in.File, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		if in.Offset > 0 {
			return Short, nil
		}
		f, size, err = open(fsys, in.File, os.O_RDWR|os.O_CREATE)
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	if size < in.Offset {
		return Short, nil
	}
	have, err := readRange(f, in.Offset, min(size-in.Offset, in.Length))
	if err != nil {
		return "", failure(op, in.File, mail.KindStore, err, "")
	}
	if int64(len(have)) == in.Length && mail.DigestOf(have) == in.Digest {
		return Complete, nil
	}
	want, serr := section()
	if serr == nil && mail.DigestOf(want) == in.Digest && size <= in.End() && bytes.HasPrefix(want, have) {
		return Completed, write(f, in, want[len(have):], size, op)
	}
	if size > in.End() {
		if err := setAside(fsys, f, in, size); err != nil {
			return "", failure(op, in.File, mail.KindStore, err, "")
		}
	}
	if err := f.Truncate(in.Offset); err != nil {
		return "", failure(op, in.File, mail.KindStore, err, "")
	}
	return Cut, nil
}

// Trim cuts off what stands behind in, the last section of its file that the
// journal knows of, and keeps it beside the file: the crash that took its record
// left its message in an outbox, which is going to have it written anew.
func Trim(fsys vfs.FS, in Intent) error {
	f, size, err := open(fsys, in.File, os.O_RDWR)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	defer f.Close()
	if size <= in.End() {
		return nil
	}
	behind := Intent{File: in.File, Offset: in.End()}
	if err = setAside(fsys, f, behind, size); err == nil {
		err = f.Truncate(behind.Offset)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return failure("recover transcript", in.File, mail.KindStore, err, "")
	}
	return nil
}

// setAside keeps what a cut takes along, in transcripts/.cut-<file>-<n>.
func setAside(fsys vfs.FS, f vfs.File, in Intent, size int64) error {
	tail, err := readRange(f, in.Offset, size-in.Offset)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s/.cut-%d-%d-%.200s", Dir, in.Offset, n, in.File)
		kept, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		_, err = kept.Write(tail)
		return errors.Join(err, kept.Sync(), kept.Close(), fsys.SyncDir(Dir))
	}
}
