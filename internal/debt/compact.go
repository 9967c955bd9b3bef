package debt

import (
	"os"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/vfs"
)

const (
	compactSize = 1 << 20
	// keepClosed is how long a closed debt stays in the ledger after its last
	// event: a pass that is repeated after a crash must not open it again.
	keepClosed = 7 * 24 * time.Hour
)

// Compact rewrites the ledger without closed debts of which nothing was heard
// for a week, if it is over 1 MiB and they are more than half of all. It reads
// the whole ledger, so call it where the ledger was read anyway, and with no
// Pending open. What remains, also after an error (KindStore), folds to the
// same open debts.
func Compact(fsys vfs.FS, now time.Time) (done bool, err error) {
	return compact(fsys, now, compactSize)
}

func compact(fsys vfs.FS, now time.Time, limit int64) (done bool, err error) {
	fi, err := fsys.Lstat(Ledger)
	if err != nil || fi.Size() <= limit {
		return false, nil // no ledger, or one that Load will complain about
	}
	if err := settleSwap(fsys); err != nil {
		return false, err
	}
	b, err := readLedger(fsys)
	if err != nil {
		return false, err
	}
	kept, enough := condense(b, now)
	if !enough {
		return false, nil
	}
	if err := swap(fsys, kept); err != nil {
		return false, storeError("compact", fsys, Ledger, err)
	}
	return true, nil
}

// account is one debt in the ledger.
type account struct {
	id     mail.ID
	debtor string
}

// condense returns the lines worth keeping, and whether leaving out the others
// is worth the write. Lines that cannot be read are left out too.
func condense(b []byte, now time.Time) (kept []byte, enough bool) {
	type state struct {
		closed bool
		last   time.Time // of its events
	}
	states := make(map[account]state)
	for _, e := range read(b).Events {
		if e.Op == policy.OpShift {
			continue
		}
		s := states[account{e.ID, e.Debtor}]
		s.closed = s.closed || e.Op == policy.OpSettle || e.Op == policy.OpWaive
		if e.At.After(s.last) {
			s.last = e.At
		}
		states[account{e.ID, e.Debtor}] = s
	}
	old := func(a account) bool { return states[a].closed && now.Sub(states[a].last) > keepClosed }
	drop := 0
	for a := range states {
		if old(a) {
			drop++
		}
	}
	if 2*drop <= len(states) {
		return nil, false
	}
	for l := range lines(b) {
		e, known, ok := parse(l)
		switch {
		case !ok, known && e.Op != policy.OpShift && old(account{e.ID, e.Debtor}):
		case known && e.Op == policy.OpShift && len(kept) == 0 && now.Sub(e.At) > keepClosed:
			// A shift moves the debts above it: with none there it is spent.
		default:
			kept = append(kept, l...)
		}
	}
	return kept, true
}

// swap puts the new ledger in the place of the old one.
func swap(fsys vfs.FS, b []byte) error {
	// Never written through a name of before: that may be the ledger's file.
	_ = fsys.Remove(ledgerTemp)
	f, err := fsys.OpenFile(ledgerTemp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = fsys.Remove(ledgerTemp)
		return err
	}
	if err := fsys.Link(ledgerTemp, swapName); err != nil {
		return err
	}
	if err := fsys.Rename(ledgerTemp, Ledger); err != nil {
		_ = fsys.Remove(ledgerTemp)
		_ = fsys.Remove(swapName)
		return err
	}
	if err := fsys.SyncDir("."); err != nil {
		return err
	}
	return fsys.Remove(swapName)
}
