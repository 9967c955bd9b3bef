package hook

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/mail"
)

// LogFile is where hooks write what went wrong, in the user's state directory.
// Hooks have nobody to tell: post doctor shows it.
const LogFile = "hooks.log"

const (
	logMax  = 64 << 10 // bytes; then it begins anew, and the one before is kept
	lineMax = 600
)

// Note adds a line to the log. It never fails: it is what failures are told to.
func Note(user config.User, now time.Time, what string) {
	path := filepath.Join(user.Dir, LogFile)
	if fi, err := os.Lstat(path); err == nil && fi.Size() > logMax {
		_ = os.Rename(path, path+".old")
	}
	line := mail.Neutralise(now.UTC().Format(time.RFC3339)+" "+what, false)
	if len(line) > lineMax {
		line = strings.ToValidUTF8(line[:lineMax], "") + "…"
	}
	if os.MkdirAll(user.Dir, 0o700) != nil {
		return
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = io.WriteString(f, line+"\n")
}

// Faults returns the log's path and its lines since a time, oldest first.
func Faults(user config.User, since time.Time) (path string, lines []string) {
	for _, name := range []string{LogFile + ".old", LogFile} {
		f, err := os.Open(filepath.Join(user.Dir, name))
		if err != nil {
			continue
		}
		data, _ := io.ReadAll(io.LimitReader(f, 2*logMax))
		f.Close()
		for line := range strings.Lines(string(data)) {
			at, _, _ := strings.Cut(line, " ")
			if t, err := time.Parse(time.RFC3339, at); err == nil && !t.Before(since) {
				lines = append(lines, mail.Neutralise(strings.TrimSuffix(line, "\n"), false))
			}
		}
	}
	return filepath.Join(user.Dir, LogFile), lines
}
