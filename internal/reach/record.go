package reach

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// Files in the office (spool-format.md §10). The dot in their names keeps them
// apart from those of agents, whose ids have none. The lock is flock'd by whoever
// reaches the person, and never removed.
const (
	dir       = "wake"
	stateName = "human.told.json"
	tornName  = "human.torn.json"
	lockName  = dir + "/human.told.lock"
	moreName  = dir + "/human.told.more"

	version  = 1
	maxState = 1 << 20 // bytes; an approval takes about 400
)

// trying is the state of an attempt that is on record and not ended.
const trying notify.State = "trying"

// told is one attempt to tell the person of one approval.
type told struct {
	At       time.Time    `json:"at"`
	State    notify.State `json:"state"`
	Evidence string       `json:"evidence,omitempty"`
}

// entry is what is on record about one open approval.
type entry struct {
	Notice   *told     `json:"notice,omitempty"`
	Reminder *told     `json:"reminder,omitempty"`
	Tries    int       `json:"tries,omitempty"` // of the stage under way, that failed
	NextTry  time.Time `json:"next_try,omitzero"`
}

// book is the file: what is on record about every open approval, and when the
// person was told of anything lately.
type book struct {
	V      int               `json:"v"`
	Asked  map[string]*entry `json:"asked"`
	Lately []time.Time       `json:"lately,omitempty"`
	// Torn says why an earlier record could not be read and was put aside.
	Torn string `json:"torn,omitempty"`
}

func newBook() *book { return &book{V: version, Asked: map[string]*entry{}} }

// load reads the record; a missing one is empty. One that cannot be read is
// KindCorrupt.
func load(fsys vfs.FS) (*book, error) {
	data, _, err := spool.ReadFile(fsys, dir+"/"+stateName, maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return newBook(), nil
	}
	if err != nil {
		return nil, storeError("read", fsys, err)
	}
	b := newBook()
	err = json.Unmarshal(data, b)
	if err == nil && b.V != version {
		err = fmt.Errorf("has version %d", b.V)
	}
	for id, e := range b.Asked {
		if err == nil && (e == nil || !approval.ValidID(id)) {
			err = errors.New("holds impossible values")
		}
	}
	if err != nil {
		return nil, &mail.Error{Op: "read who was told", Kind: mail.KindCorrupt, Addr: fsys.Path(dir + "/" + stateName), Err: err,
			Hint: `run "post doctor"`}
	}
	return b, nil
}

// loadOrPutAside is load for who writes: a record that cannot be read is kept
// under another name, and a new one is begun. Then the person is told once more.
func loadOrPutAside(fsys vfs.FS) (*book, error) {
	b, err := load(fsys)
	if mail.KindOf(err) != mail.KindCorrupt {
		return b, err
	}
	if rerr := fsys.Rename(dir+"/"+stateName, dir+"/"+tornName); rerr != nil {
		return nil, storeError("put aside", fsys, rerr)
	}
	b = newBook()
	b.Torn = mail.Neutralise(err.Error(), false)
	return b, nil
}

// save makes the record durable. The caller holds the lock.
func (b *book) save(fsys vfs.FS) error {
	data, err := json.Marshal(b)
	if err == nil {
		err = spool.Replace(fsys, dir, stateName, append(data, '\n'))
	}
	if err == nil {
		err = fsys.SyncDir(dir)
	}
	if err != nil {
		return storeError("write", fsys, err)
	}
	return nil
}

// lock takes the lock; nil without an error if it is taken.
func lock(fsys vfs.FS) (vfs.File, error) {
	open := func() (vfs.File, error) { return fsys.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600) }
	f, err := open()
	if errors.Is(err, fs.ErrNotExist) {
		if err = fsys.Mkdir(dir, 0o700); err == nil || errors.Is(err, fs.ErrExist) {
			f, err = open()
		}
	}
	if err != nil {
		return nil, storeError("lock", fsys, err)
	}
	ok, err := f.TryLock()
	if !ok || err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// mark asks whoever holds the lock to look again.
func mark(fsys vfs.FS) error {
	f, err := fsys.OpenFile(moreName, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return storeError("mark", fsys, err)
	}
	return f.Close()
}

func unmark(fsys vfs.FS) { _ = fsys.Remove(moreName) }

func marked(fsys vfs.FS) bool {
	_, err := fsys.Lstat(moreName)
	return err == nil
}

func storeError(op string, fsys vfs.FS, err error) error {
	return &mail.Error{Op: op + " who was told", Kind: mail.KindStore, Addr: fsys.Path(dir + "/" + stateName), Err: err,
		Hint: `free some space or mend the permissions; "post doctor" helps`}
}
