package spool

import (
	"bytes"
	"os"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// MendIndex looks, after a crash, through the lines from sequence number from
// on, which nobody had synced, and cuts the index at the first that was not
// written whole: what stood behind it is written again, from the journal and the
// outboxes. Lines before are never touched, whatever their owner wrote there. It
// returns the file for the caller to sync; nil if there is none.
func (b Box) MendIndex(from uint64) (vfs.File, error) {
	f, err := b.FS.OpenFile(b.Path(Index), os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil // missing or no file: who appends makes it anew
	}
	fi, err := f.Stat()
	cut := int64(-1)
	if err == nil {
		err = backwards(f, fi.Size(), tailReach, func(line []byte, start, _ int64, whole bool) bool {
			l, perr := mail.IndexLine{}, errGarbage
			if whole && bytes.HasPrefix(line, indexHead) {
				l, perr = mail.ParseIndexLine(line)
			}
			if perr != nil {
				cut = start
			}
			return perr != nil || l.Seq >= from
		})
	}
	if err == nil && cut >= 0 {
		err = f.Truncate(cut)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// OpenIndex opens the index to have it synced, with all that was appended.
func (b Box) OpenIndex() (vfs.File, error) {
	return b.FS.OpenFile(b.Path(Index), os.O_RDWR, 0o600)
}
