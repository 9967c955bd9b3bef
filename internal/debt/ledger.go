package debt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/vfs"
)

// Ledger is the ledger's name in the office (docs/spool-format.md §1).
const Ledger = "debts.jsonl"

const (
	ledgerTemp = ".tmp-debts.jsonl" // the lease holder is its only writer

	// swapName is there while a compacted ledger's name may not be durable.
	// Whoever finds it syncs the directory before writing on: a crash must not
	// bring the old file back without what was appended to the new one.
	swapName = ".debts-swap"

	tailChunk = 64 << 10
)

// Pending is what Append wrote, not durable before Sync. The zero Pending has
// nothing to sync.
type Pending struct {
	// Cut is how many bytes of an incomplete last line were taken off first.
	Cut int64

	fsys vfs.FS
	file vfs.File
}

// Sync makes the events durable and closes the file.
func (p *Pending) Sync() error {
	if p.file == nil {
		return nil
	}
	err := p.file.Sync()
	if cerr := p.file.Close(); err == nil {
		err = cerr
	}
	p.file = nil
	if err != nil {
		return storeError("sync", p.fsys, Ledger, err)
	}
	return nil
}

// Close gives up without syncing. Safe after Sync.
func (p *Pending) Close() error {
	if p.file == nil {
		return nil
	}
	err := p.file.Close()
	p.file = nil
	return err
}

// Append adds events to the ledger in their order; the caller syncs what it
// returns. An incomplete last line is cut off first. Events may be repeated:
// the fold is the same.
//
// Errors: KindInvalid (nothing is written), KindStore.
func Append(fsys vfs.FS, events ...policy.DebtEvent) (*Pending, error) {
	if len(events) == 0 {
		return &Pending{}, nil
	}
	var lines []byte
	for _, e := range events {
		l, err := render(e)
		if err != nil {
			return nil, err
		}
		lines = append(lines, l...)
	}
	if err := settleSwap(fsys); err != nil {
		return nil, err
	}
	f, err := fsys.OpenFile(Ledger, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, storeError("open", fsys, Ledger, err)
	}
	p := &Pending{fsys: fsys, file: f}
	if err := p.write(lines); err != nil {
		_ = p.Close()
		return nil, storeError("append to", fsys, Ledger, err)
	}
	return p, nil
}

func (p *Pending) write(lines []byte) error {
	fi, err := p.file.Stat()
	if err != nil {
		return err
	}
	size := fi.Size()
	if size == 0 {
		// Its name first: a file that holds anything has a durable name.
		if err := p.fsys.SyncDir("."); err != nil {
			return err
		}
	}
	end, err := lastLineEnd(p.file, size)
	if err != nil {
		return err
	}
	if end < size {
		p.Cut = size - end
		if err := p.file.Truncate(end); err != nil {
			return err
		}
	}
	if _, err := p.file.WriteAt(lines, end); err != nil {
		_ = p.file.Truncate(end) // else the next Append cuts what is incomplete
		return err
	}
	return nil
}

// lastLineEnd returns the offset after the last newline before size.
func lastLineEnd(r io.ReaderAt, size int64) (int64, error) {
	chunk := int64(1) // nearly always the last byte is the newline
	for end := size; end > 0; chunk = tailChunk {
		start := max(0, end-chunk)
		b := make([]byte, end-start)
		if n, err := r.ReadAt(b, start); n < len(b) {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
			return start + int64(i) + 1, nil
		}
		end = start
	}
	return 0, nil
}

// Load reads the ledger; without one the book is empty. Needs no lease: a line
// that is still being written is left out. Errors: KindStore.
func Load(fsys vfs.FS) (Book, error) {
	b, err := readLedger(fsys)
	if err != nil {
		return Book{}, err
	}
	return read(b), nil
}

func readLedger(fsys vfs.FS) ([]byte, error) {
	f, err := fsys.OpenFile(Ledger, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, storeError("read", fsys, Ledger, err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, storeError("read", fsys, Ledger, err)
	}
	return b, nil
}

// settleSwap ends a compaction that was cut short.
func settleSwap(fsys vfs.FS) error {
	_, err := fsys.Lstat(swapName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = fsys.SyncDir(".")
	}
	if err == nil {
		err = fsys.Remove(swapName)
	}
	if err != nil {
		return storeError("sync", fsys, Ledger, fmt.Errorf("after a compaction: %w", err))
	}
	return nil
}

func storeError(op string, fsys vfs.FS, name string, err error) error {
	return &mail.Error{Op: op, Kind: mail.KindStore, Addr: fsys.Path(name), Err: err}
}
