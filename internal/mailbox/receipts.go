package mailbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/spool"
)

// tailChunk is how much of the receipts is read at a time, from the end.
const tailChunk = 256 << 10

// receiptSlack is how much older than a message's id its receipts may be dated,
// because two machines' clocks differ.
const receiptSlack = 48 * time.Hour

// staleMost is how many receipts that are too old to matter are passed over: a
// far station dates its own by its own clock.
const staleMost = 64

// known is what an owner's receipts say of one message.
type known struct {
	surfaced, read, done bool
	crossing             Crossing // of a far agent's mail
}

// The reach of receiptsOf, in bytes: one's own are read as far as they tell
// anything; somebody else's may be as long as its owner likes.
const (
	ownReceipts    = 1 << 40
	othersReceipts = 4 << 20
)

// receiptsOf reads what the receipts say of the wanted messages, from the end
// back to before the oldest of them, or by reach. A missing file says nothing.
func receiptsOf(b spool.Box, want map[mail.ID]bool, reach int64, now time.Time) (map[mail.ID]known, error) {
	out := make(map[mail.ID]known, len(want))
	if len(want) == 0 {
		return out, nil
	}
	oldest := oldestOf(want, now)
	f, err := b.FS.OpenFile(b.Path(spool.Receipts), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var rest []byte
	stale := 0
	for pos := fi.Size(); pos > max(0, fi.Size()-reach); {
		n := min(int64(tailChunk), pos)
		pos -= n
		buf := make([]byte, n, int(n)+len(rest))
		if _, err := io.ReadFull(io.NewSectionReader(f, pos, n), buf); err != nil {
			return nil, err
		}
		buf = append(buf, rest...)
		first := len(buf)
		for at, line := range mail.LinesBackward(buf, pos == 0) {
			first = at
			r, err := mail.ParseReceipt(line)
			if err != nil {
				continue
			}
			if r.At.Before(oldest) {
				if stale++; stale > staleMost {
					return out, nil
				}
			}
			if want[r.ID] {
				note(out, r)
			}
		}
		rest = append([]byte(nil), buf[:first]...)
		if len(rest) > tailChunk {
			rest = nil // no receipt is as long as that
		}
	}
	return out, nil
}

func note(out map[mail.ID]known, r mail.Receipt) {
	k := out[r.ID]
	switch r.Event {
	case mail.EventSurfaced:
		k.surfaced = true
	case mail.EventRead:
		k.read = k.read || r.Part == r.Parts
	case mail.EventDone:
		k.read, k.done = true, true
	default:
		k.crossing.note(r)
	}
	out[r.ID] = k
}

// oldestOf is before every receipt of the ids. One of a far author, whose clock
// may be years ahead, says nothing of when that was: the zero time.
func oldestOf(ids map[mail.ID]bool, now time.Time) time.Time {
	var oldest time.Time
	for id := range ids {
		t := id.Time()
		if t.Sub(now) > receiptSlack {
			return time.Time{}
		}
		if oldest.IsZero() || t.Before(oldest) {
			oldest = t
		}
	}
	return oldest.Add(-receiptSlack)
}

// Receipt records what the owner saw, read or did. Call it after the bytes are
// out. A read receipt is durable when it returns, so that a power cut makes
// nobody act twice.
func (m *Mailbox) Receipt(rs ...mail.Receipt) error {
	unlock, err := m.lock()
	if err != nil {
		return err
	}
	defer unlock()
	return m.receipt(rs...)
}

// receipt is Receipt under the mailbox lock.
func (m *Mailbox) receipt(rs ...mail.Receipt) error {
	if len(rs) == 0 || m.Author.AID == "" {
		return nil
	}
	b := m.Author.Box
	err := func() error {
		f, err := b.FS.OpenFile(b.Path(spool.Receipts), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		fi, err := f.Stat()
		if err != nil {
			return err
		}
		buf, err := separator(f, fi.Size())
		if err != nil {
			return err
		}
		durable := false
		for _, r := range rs {
			if r.At.IsZero() {
				r.At = m.now()
			}
			buf = r.AppendLine(buf)
			durable = durable || r.Event != mail.EventSurfaced
		}
		if _, err := f.WriteAt(buf, fi.Size()); err != nil {
			f.Truncate(fi.Size())
			return err
		}
		if !durable {
			return nil
		}
		return f.Sync()
	}()
	if err != nil {
		return &mail.Error{Op: "record receipt", Kind: mail.KindStore, Addr: m.Author.Name, Err: err,
			Hint: "the message stays unread; free some space and read it again"}
	}
	return nil
}

// separator is a line feed if the file's last line is torn, so that what was
// torn can't swallow what follows.
func separator(f io.ReaderAt, size int64) ([]byte, error) {
	if size == 0 {
		return nil, nil
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], size-1); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if last[0] == '\n' {
		return nil, nil
	}
	return []byte{'\n'}, nil
}
