package reach

import (
	"testing"
	"time"
)

func TestQuiet(t *testing.T) {
	t.Parallel()
	const night = "22:00-07:00 Europe/Berlin"
	for _, c := range []struct {
		name, hours, at string // at and until in UTC
		until           string // "" is not quiet
	}{
		{"evening", night, "2026-01-10T20:59:59Z", ""},
		{"begins", night, "2026-01-10T21:00:00Z", "2026-01-11T06:00:00Z"},
		{"over midnight", night, "2026-01-10T23:30:00Z", "2026-01-11T06:00:00Z"},
		{"morning", night, "2026-01-11T05:59:59Z", "2026-01-11T06:00:00Z"},
		{"ends", night, "2026-01-11T06:00:00Z", ""},
		{"summer time", night, "2026-07-10T20:00:00Z", "2026-07-11T05:00:00Z"},
		{"within a day", "12:00-13:30 UTC", "2026-07-10T13:29:00Z", "2026-07-10T13:30:00Z"},
		{"not within that day", "12:00-13:30 UTC", "2026-07-10T11:59:00Z", ""},
		{"to midnight", "22:00-24:00 UTC", "2026-07-10T23:59:59Z", "2026-07-11T00:00:00Z"},
		{"far from UTC", "22:00-07:00 Pacific/Auckland", "2026-01-10T10:00:00Z", "2026-01-10T18:00:00Z"},
		// 29 March 2026: 02:00 becomes 03:00 there, at 01:00 UTC.
		{"the short night", night, "2026-03-28T21:00:00Z", "2026-03-29T05:00:00Z"},
		{"an end that the clock leaves out", "22:00-02:30 Europe/Berlin", "2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z"},
		{"is when it is put forward", "22:00-02:30 Europe/Berlin", "2026-03-29T01:00:00Z", ""},
		{"a beginning that the clock leaves out", "02:30-05:00 Europe/Berlin", "2026-03-29T00:59:59Z", ""},
		{"is when it is put forward, too", "02:30-05:00 Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29T03:00:00Z"},
		// 25 October 2026: 03:00 becomes 02:00 there, at 01:00 UTC.
		{"the long night", night, "2026-10-24T20:00:00Z", "2026-10-25T06:00:00Z"},
		{"an end that comes twice is the second", "22:00-02:30 Europe/Berlin", "2026-10-25T00:45:00Z", "2026-10-25T01:30:00Z"},
		{"and no gap between", "22:00-02:30 Europe/Berlin", "2026-10-25T01:29:59Z", "2026-10-25T01:30:00Z"},
		{"a beginning that comes twice is the first", "02:30-05:00 Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T04:00:00Z"},
		{"half an hour of summer time", "22:00-02:15 Australia/Lord_Howe", "2026-10-03T15:29:00Z", "2026-10-03T15:30:00Z"}, // 02:00 becomes 02:30 there
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			q, err := ParseQuiet(c.hours)
			if err != nil {
				t.Fatal(err)
			}
			at, err := time.Parse(time.RFC3339, c.at)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if end, is := q.Until(at); is {
				got = end.UTC().Format(time.RFC3339)
			}
			if got != c.until {
				t.Errorf("until %q, want %q", got, c.until)
			}
		})
	}
}

// However the clocks are put, a night is one stretch: it ends when it says, and is
// not quiet again at once.
func TestQuietIsOneStretch(t *testing.T) {
	t.Parallel()
	for _, hours := range []string{"22:00-07:00 Europe/Berlin", "02:30-03:30 America/New_York", "23:00-02:30 Europe/Berlin", "00:00-06:00 America/Sao_Paulo"} {
		q, err := ParseQuiet(hours)
		if err != nil {
			t.Fatal(err)
		}
		stretches := 0
		was := false
		for at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC); at.Year() == 2026; at = at.Add(15 * time.Minute) {
			end, is := q.Until(at)
			if is && !end.After(at) {
				t.Fatalf("%s at %v ends at %v", hours, at, end)
			}
			if is && !was {
				stretches++
			}
			was = is
		}
		if stretches < 364 || stretches > 366 {
			t.Errorf("%s: %d nights a year", hours, stretches)
		}
	}
}

func TestParseQuiet(t *testing.T) {
	t.Parallel()
	if q, err := ParseQuiet(" "); q != nil || err != nil {
		t.Errorf("%v, %v", q, err)
	}
	if _, is := (*Quiet)(nil).Until(time.Now()); is {
		t.Error("no quiet hours are quiet")
	}
	for _, bad := range []string{"22:00-07:00", "22-7 UTC", "22:00 UTC", "25:00-07:00 UTC", "07:00-07:00 UTC", "22:00-07:00 Europe/Atlantis", "22:00-07:00 ../../etc/passwd", "a-b c"} {
		if _, err := ParseQuiet(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if q, err := ParseQuiet("9:05-17:00 UTC"); err != nil || q.String() != "09:05-17:00 UTC" {
		t.Errorf("%v, %v", q, err)
	}
}
