package link

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/station"
	"github.com/postroom/postroom/internal/vfs"
)

// ledgerMax bounds what is read of one ledger, in bytes.
const ledgerMax = 1 << 30

// entry is one line of a ledger: an epoch begins, a message has its number, or
// (of what was sent) the far station said up to where it has all.
type entry struct {
	Epoch  string      `json:"epoch,omitempty"`
	Seq    uint64      `json:"seq,omitempty"`
	ID     mail.ID     `json:"id,omitempty"`
	Digest mail.Digest `json:"digest,omitempty"`
	Have   uint64      `json:"have,omitempty"`
	HaveAt int64       `json:"have_at,omitempty"`
	Sent   uint64      `json:"sent,omitempty"` // out: the hub had this number; may be missing
	Skip   uint64      `json:"skip,omitempty"` // in: what is missing up to here is not waited for
}

// ledger is an append-only file of entries.
type ledger struct {
	fsys vfs.FS
	dir  string // link/out or link/in
	name string
}

func newLedger(fsys vfs.FS, dir, name string) ledger {
	return ledger{fsys, station.Dir + "/" + dir, name + ".jsonl"}
}

// each reads the ledger. Lines that do not parse are passed over: the next one
// who needs what stood there sends it again.
func (l ledger) each(fn func(entry)) error {
	data, _, err := spool.ReadFile(l.fsys, l.dir+"/"+l.name, ledgerMax)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for len(data) > 0 {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte("\n"))
		var e entry
		if json.Unmarshal(line, &e) == nil {
			fn(e)
		}
	}
	return err
}

// append adds entries, durably.
func (l ledger) append(entries ...entry) error {
	if len(entries) == 0 {
		return nil
	}
	exists, err := spool.Exists(l.fsys, l.dir+"/"+l.name)
	if err != nil {
		return err
	}
	if err := makeDirs(l.fsys, station.Dir, l.dir); err != nil {
		return err
	}
	f, err := l.fsys.OpenFile(l.dir+"/"+l.name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := appendLines(f, entries); err != nil {
		return err
	}
	if !exists {
		return l.fsys.SyncDir(l.dir)
	}
	return nil
}

func appendLines(f vfs.File, entries []entry) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	size := fi.Size()
	buf := []byte{}
	if size > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			buf = append(buf, '\n') // a torn line swallows nothing
		}
	}
	for _, e := range entries {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		buf = append(append(buf, line...), '\n')
	}
	if _, err := f.WriteAt(buf, size); err != nil {
		f.Truncate(size)
		return err
	}
	return f.Sync()
}

// newEpoch names a new sequence so that it sorts after the one before, whatever
// the clock says.
func newEpoch(now time.Time, before string) string {
	at := now.UnixMilli()
	if parts := strings.Split(before, "-"); len(parts) == 3 {
		if old, err := strconv.ParseInt(parts[1], 16, 64); err == nil {
			at = max(at, old+1)
		}
	}
	b := make([]byte, 4)
	rand.Read(b)
	return fmt.Sprintf("e-%012x-%x", min(at, 1<<48-1), b)
}

// validEpoch reports whether newEpoch may have made it.
func validEpoch(s string) bool {
	if len(s) != len("e-")+12+len("-")+8 || s[:2] != "e-" || s[14] != '-' {
		return false
	}
	return strings.Trim(s[2:14]+s[15:], "0123456789abcdef") == ""
}
