package mail

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

const deadlineHint = "write a length such as 90m, 2h or 3d, or a time with its zone such as 2026-05-30T18:00:00Z"

// deadlineMax bounds relative deadlines, so that no sum leaves the calendar.
const deadlineMax = 10 * 365 * 24 * time.Hour

// ResolveDeadline turns what an author wrote into a time, in UTC, to the
// millisecond: RFC 3339 with a zone, or a positive length counted from now, of
// Go's duration syntax with days ("d") before it. "" is no deadline, the zero
// time. A time in the past is accepted. The error is KindInvalid.
func ResolveDeadline(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil && isStampTime(t) {
		return t.UTC().Truncate(time.Millisecond), nil
	}
	d, ok := parseLength(s)
	if !ok {
		return time.Time{}, &Error{Op: "parse deadline", Kind: KindInvalid, Addr: quoteShort(s),
			Err: errors.New("is neither a length of time nor a time"), Hint: deadlineHint}
	}
	return now.Add(d).UTC().Truncate(time.Millisecond), nil
}

// parseLength parses "2h", "3d", "1d12h".
func parseLength(s string) (time.Duration, bool) {
	var total time.Duration
	if days, rest, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, false
		}
		total = time.Duration(n) * 24 * time.Hour
		if s = rest; s == "" {
			return total, total > 0 && total <= deadlineMax
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > deadlineMax {
		return 0, false
	}
	total += d
	return total, total > 0 && total <= deadlineMax
}
