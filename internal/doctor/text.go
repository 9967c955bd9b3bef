package doctor

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/registry"
)

func mailboxDir(e registry.Entry) string { return filepath.Dir(e.InboxPath) }

// inside reports whether path lies in dir.
func inside(dir, path string) bool {
	return strings.HasPrefix(path, dir+string(filepath.Separator))
}

// quote writes a path or name so that a shell takes it as one word.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+@:,=", r)
	}
	if s != "" && strings.TrimLeftFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(mail.Neutralise(s, false), "'", `'\''`) + "'"
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// ago shows a time span in its largest unit.
func ago(d time.Duration) string {
	switch d = d.Abs(); {
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + "d"
}

// size shows bytes in a unit that people read.
func size(n int64) string {
	for _, u := range []struct {
		unit string
		size int64
	}{{"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}} {
		if n >= u.size {
			return strconv.FormatFloat(float64(n)/float64(u.size), 'f', 1, 64) + " " + u.unit
		}
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// some joins the first few of many.
func some(list []string) string {
	const few = 3
	if len(list) <= few {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:few], ", ") + " and " + strconv.Itoa(len(list)-few) + " more"
}
