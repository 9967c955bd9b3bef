package mail

import (
	"errors"
	"strings"
	"time"
)

// Clock is the hybrid logical clock of one mailbox (design §5). It is a value
// that its owner stores; it reads no clock of its own. The zero Clock has seen
// nothing.
//
// Each id it gives is greater than every id it gave or merged before, whatever
// the wall clock does.
type Clock struct{ Last ID }

// Next returns the next id for the agent aid and remembers it. It is greater
// than Last, and its millisecond is not before now's. When the counter of a
// millisecond is used up, the next millisecond begins.
//
// Times outside 1970–9999 count as the nearest one inside. A Last that is no
// id counts as none. Next returns "" if not a single id is left.
func (c *Clock) Next(now time.Time, aid string) ID {
	ms := min(max(now.UnixMilli(), idEpoch), idEnd)
	counter := 0
	if last, n, ok := c.Last.split(); ok && last >= ms {
		ms, counter = last, n+1
		if counter > maxCounter {
			ms, counter = ms+1, 0
		}
	}
	if ms > idEnd {
		return ""
	}
	c.Last = newID(ms, counter, aid)
	return c.Last
}

// Observe merges an id that the mailbox has seen, so that whatever is written
// next sorts after it. An id further in the future than drift is never merged
// (one bad clock must not drag every other along); Observe then returns false,
// as it does for what is no id.
func (c *Clock) Observe(id ID, now time.Time, drift time.Duration) bool {
	if !id.Valid() || Drifted(id, now, drift) {
		return false
	}
	if id > c.Last {
		c.Last = id
	}
	return true
}

// Drifted reports whether id lies further in the future of now than drift.
func Drifted(id ID, now time.Time, drift time.Duration) bool {
	return id.Time().Sub(now) > drift
}

// noID stands in a clock file for a clock that has seen nothing, so that a
// torn, empty file is not taken for one.
const noID = "none"

// Text returns the form in which a clock is stored: one line.
func (c Clock) Text() string {
	if c.Last == "" {
		return noID + "\n"
	}
	return string(c.Last) + "\n"
}

// ParseClock reads what Text wrote. Anything else, an empty text too, is
// KindCorrupt: whoever stores the clock then finds the greatest id in the
// mailbox instead.
func ParseClock(s string) (Clock, error) {
	line, ok := strings.CutSuffix(s, "\n")
	switch {
	case ok && line == noID:
		return Clock{}, nil
	case ok && ID(line).Valid():
		return Clock{Last: ID(line)}, nil
	}
	return Clock{}, &Error{
		Op: "read clock", Kind: KindCorrupt, Addr: quoteShort(s),
		Err: errors.New("is not one id on one line"),
	}
}
