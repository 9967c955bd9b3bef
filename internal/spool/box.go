package spool

import (
	"errors"
	"os"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// lockPoll is how long a waiter sleeps between tries for a mailbox lock.
const lockPoll = time.Millisecond

// Lock takes the mailbox lock: what two processes of one agent may not do at
// once (claim the next message, take an id) happens under it. It gives up with
// KindBusy after patience.
func (b Box) Lock(patience time.Duration) (unlock func(), err error) {
	f, err := b.FS.OpenFile(b.Path(lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for tries := 0; ; tries++ {
		ok, err := f.TryLock()
		if ok {
			return func() { f.Close() }, nil
		}
		if err == nil && time.Duration(tries)*lockPoll >= patience {
			err = &mail.Error{Op: "lock mailbox", Kind: mail.KindBusy, Addr: b.FS.Path(b.Dir),
				Err: errors.New("another process of this agent is at work"), Hint: "try again"}
		}
		if err != nil {
			f.Close()
			return nil, err
		}
		time.Sleep(lockPoll)
	}
}

// clockWidth is the fixed width of the clock file, so that a write in place
// never leaves the rest of a longer value behind.
const clockWidth = 64

// Clock is the mailbox's clock, open. Its owner holds the mailbox lock.
type Clock struct {
	mail.Clock
	box  Box
	read mail.ID // what the file had
}

// OpenClock reads the mailbox's clock (design §5). A file that is missing or
// torn starts from nothing: the wall clock then rules, and the outbox refuses a
// second use of an id.
func (b Box) OpenClock() *Clock {
	c := &Clock{box: b}
	data, _, err := ReadFile(b.FS, b.Path(clock), clockWidth)
	if err != nil {
		return c
	}
	if id, err := mail.ParseID(string(trimSpace(data))); err == nil {
		c.Last, c.read = id, id
	}
	return c
}

// Vouched is the greatest id of which the mailbox's own processes say that it
// and all before it are durably in the outbox: the clock is saved only when that
// is so. "" says nothing.
func (b Box) Vouched(now time.Time) mail.ID {
	last := b.OpenClock().Last
	if mail.Drifted(last, now, maxDrift) {
		return ""
	}
	return last
}

// maxDrift is how far in the future a last id counts.
const maxDrift = 24 * time.Hour

// Next gives the next id, see mail.Clock. A last id in the far future is
// dropped: a wall clock that was wrong once, or a hostile owner, left it there,
// and the router refuses every id that follows it (design §4).
func (c *Clock) Next(now time.Time, tag string) mail.ID {
	if mail.Drifted(c.Last, now, maxDrift) {
		c.Last = ""
	}
	return c.Clock.Next(now, tag)
}

// SaveSeen stores a clock that moved though nothing was stored. What a process
// that died has left in the outbox is made durable first, since the clock
// vouches for it.
func (c *Clock) SaveSeen() error {
	ids, _, err := c.box.Pending(nil)
	if err != nil {
		return err
	}
	if n := len(ids); n > 0 && ids[n-1] > FileName(c.read) {
		if err := c.box.FS.SyncDir(c.box.Path(Outbox)); err != nil {
			return err
		}
	}
	return c.Save()
}

// Unvouch stores an empty clock, before an old id is put into the outbox. Save
// puts it right.
func (c *Clock) Unvouch() error {
	last := c.Last
	c.Last = ""
	err := c.Save()
	c.Last = last
	return err
}

// Save stores the clock, when everything that was stored in the outbox is
// durable. It isn't synced itself: after a power cut the wall clock is ahead of
// it anyway, and what is left in the outbox is durable.
func (c *Clock) Save() error {
	f, err := c.box.FS.OpenFile(c.box.Path(clock), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	buf := make([]byte, clockWidth)
	for i := range buf {
		buf[i] = ' '
	}
	copy(buf, c.Last)
	buf[clockWidth-1] = '\n'
	_, err = f.WriteAt(buf, 0)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func trimSpace(b []byte) []byte {
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\n') {
		b = b[:len(b)-1]
	}
	return b
}
