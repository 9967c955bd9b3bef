package debt

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/postroom/postroom/internal/plain"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/vfs"
)

const (
	hintName = "due.json"
	hintTemp = ".tmp-due.json" // the lease holder is its only writer
	maxHint  = 4096

	// JumpLimit is how far the wall clock may stray from the boot clock
	// between two passes before that counts as a jump.
	JumpLimit = 5 * time.Minute
)

// Hint says, without reading the ledger, when the next debt is due, and what
// the clocks showed when that was last known. It is only ever a hint: not
// synced, and worth nothing after a reboot.
type Hint struct {
	Next   time.Time     `json:"next,omitzero"` // zero: nothing is due
	Wall   time.Time     `json:"wall"`
	BootID string        `json:"boot_id"`
	Mono   time.Duration `json:"mono"` // nanoseconds since that boot, sleep included
}

// Lower returns the hint with Next no later than t. A hint that is too early
// costs one needless look at the ledger; one that is too late delays a
// reminder. So lower and save it before the debt is appended.
func (h Hint) Lower(t time.Time) Hint {
	if h.Next.IsZero() || t.Before(h.Next) {
		h.Next = t
	}
	return h
}

// Due reports whether the ledger has to be looked at now.
func (h Hint) Due(now time.Time) bool { return !h.Next.IsZero() && !now.Before(h.Next) }

// LoadHint returns the hint; ok is false, and the ledger has to be read, if it
// is missing, garbled or of another boot, or if bootID is "" because the
// system has no boot clock.
func LoadHint(fsys vfs.FS, bootID string) (h Hint, ok bool) {
	if bootID == "" {
		return Hint{}, false
	}
	f, err := fsys.OpenFile(hintName, os.O_RDONLY, 0)
	if err != nil {
		return Hint{}, false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxHint))
	if err != nil {
		return Hint{}, false
	}
	h, ok = parseHint(b)
	if !ok && json.Unmarshal(b, &h) != nil || h.Wall.IsZero() || h.BootID != bootID {
		return Hint{}, false
	}
	return h, true
}

// parseHint reads what SaveHint wrote.
func parseHint(b []byte) (h Hint, ok bool) {
	c := plain.Cutter{Rest: string(b)}
	c.Must("{")
	at := func(key string, to *time.Time) {
		if c.After(key) {
			c.Bad = to.UnmarshalText([]byte(c.Text())) != nil || c.Bad
			c.After(",")
		}
	}
	at(`"next":"`, &h.Next)
	at(`"wall":"`, &h.Wall)
	c.Must(`"boot_id":"`)
	h.BootID = c.Text()
	c.Must(`,"mono":`)
	h.Mono = time.Duration(c.Number())
	c.Must("}\n")
	if c.Bad || c.Rest != "" {
		return Hint{}, false
	}
	return h, true
}

// line is what SaveHint writes.
func (h Hint) line() ([]byte, error) {
	var w plain.Writer
	w.Raw("{")
	if !h.Next.IsZero() {
		w.Text(`"next":`, h.Next.Format(time.RFC3339Nano))
		w.Raw(",")
	}
	w.Text(`"wall":`, h.Wall.Format(time.RFC3339Nano))
	w.Text(`,"boot_id":`, h.BootID)
	w.Number(`,"mono":`, int64(h.Mono))
	w.Raw("}\n")
	if !w.Bad {
		return w.Bytes, nil
	}
	b, err := json.Marshal(h)
	return append(b, '\n'), err
}

// SaveHint replaces the hint, without a sync. After an error the old hint may
// be too late: call DropHint, so that the next pass reads the ledger.
func SaveHint(fsys vfs.FS, h Hint) error {
	h.Next, h.Wall = h.Next.UTC(), h.Wall.UTC()
	b, err := h.line()
	if err != nil {
		return storeError("save", fsys, hintName, err)
	}
	_ = fsys.Remove(hintTemp)
	f, err := fsys.OpenFile(hintTemp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return storeError("save", fsys, hintName, err)
	}
	_, err = f.Write(b)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = fsys.Rename(hintTemp, hintName)
	}
	if err != nil {
		_ = fsys.Remove(hintTemp)
		return storeError("save", fsys, hintName, err)
	}
	return nil
}

// DropHint removes the hint.
func DropHint(fsys vfs.FS) error {
	if err := fsys.Remove(hintName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return storeError("remove", fsys, hintName, err)
	}
	return nil
}

// Jump returns how far the wall clock was set, forward if positive, since the
// hint was saved: what it gained on the boot clock, which sleeps count in and
// nobody sets. Zero up to JumpLimit, and where the clocks cannot be compared.
func Jump(h Hint, now time.Time, bootID string, mono time.Duration) time.Duration {
	if bootID == "" || h.BootID != bootID || h.Wall.IsZero() || mono < h.Mono {
		return 0
	}
	// Round(0) drops the process's own monotonic reading: the wall counts.
	jump := now.Round(0).Sub(h.Wall.Round(0)) - (mono - h.Mono)
	if jump.Abs() <= JumpLimit {
		return 0
	}
	return jump
}

// ShiftEvent is the event for that jump. Its time is that of the hint the jump
// was measured against: repeated before the next hint was saved, it is known as
// the same jump and shifts nothing twice.
func ShiftEvent(h Hint, jump time.Duration) policy.DebtEvent {
	return policy.DebtEvent{Op: policy.OpShift, At: h.Wall, By: jump}
}
