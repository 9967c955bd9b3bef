package reach

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// Quiet is the part of each day in which a person is told nothing.
type Quiet struct {
	from, to int // minutes of the day by the clock on the wall there
	zone     *time.Location
}

// ParseQuiet reads "22:00-07:00 Europe/Berlin": from and to by the wall clock of
// an IANA time zone, perhaps over midnight. "" is nil, which is never quiet. The
// error is KindInvalid, also where this machine does not know the zone.
func ParseQuiet(text string) (*Quiet, error) {
	bad := func(what string) (*Quiet, error) {
		return nil, &mail.Error{Op: "read quiet hours", Kind: mail.KindInvalid, Addr: mail.Neutralise(text, false), Err: errors.New(what),
			Hint: `write them as "22:00-07:00 Europe/Berlin"`}
	}
	if text = strings.TrimSpace(text); text == "" {
		return nil, nil
	}
	hours, zone, ok := strings.Cut(text, " ")
	if zone = strings.TrimSpace(zone); !ok || zone == "" {
		return bad("name no time zone")
	}
	a, b, ok := strings.Cut(hours, "-")
	from, okFrom := minutes(a)
	to, okTo := minutes(b)
	switch {
	case !ok || !okFrom || !okTo:
		return bad("are not HH:MM-HH:MM")
	case from == to:
		return bad("begin when they end")
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return bad("name a time zone that this machine does not know")
	}
	return &Quiet{from, to, loc}, nil
}

func minutes(s string) (int, bool) {
	t, err := time.Parse("15:04", s)
	if s == "24:00" {
		return 24 * 60, true
	}
	return t.Hour()*60 + t.Minute(), err == nil
}

// Until reports whether it is quiet at now, and until when.
func (q *Quiet) Until(now time.Time) (end time.Time, quiet bool) {
	if q == nil {
		return time.Time{}, false
	}
	y, m, d := now.In(q.zone).Date()
	for back := range 2 { // one that began today, or yesterday
		from := q.instant(y, m, d-back, q.from, false)
		over := 0
		if q.to < q.from {
			over = 1
		}
		to := q.instant(y, m, d-back+over, q.to, true)
		if !now.Before(from) && now.Before(to) {
			return to, true
		}
	}
	return time.Time{}, false
}

// instant is when the wall clock shows a minute of a day. Where it shows it twice
// the night is the longer one: it begins at the first and ends at the second.
// Where it never does, because the clock is put forward over it, it is when that
// happens.
func (q *Quiet) instant(y int, m time.Month, d, minute int, last bool) time.Time {
	naive := time.Date(y, m, d, 0, minute, 0, 0, time.UTC)
	var found []time.Time
	for _, near := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		_, offset := naive.Add(near).In(q.zone).Zone()
		at := naive.Add(-time.Duration(offset) * time.Second)
		_, real := at.In(q.zone).Zone()
		if real == offset {
			found = append(found, at)
		}
	}
	if len(found) == 0 {
		_, before := naive.Add(-24 * time.Hour).In(q.zone).Zone()
		start, _ := naive.Add(-time.Duration(before) * time.Second).In(q.zone).ZoneBounds()
		return start
	}
	first, second := found[0], found[len(found)-1]
	if second.Before(first) {
		first, second = second, first
	}
	if last {
		return second
	}
	return first
}

func (q *Quiet) String() string {
	if q == nil {
		return ""
	}
	return fmt.Sprintf("%02d:%02d-%02d:%02d %s", q.from/60, q.from%60, q.to/60, q.to%60, q.zone)
}
