package notify

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/postroom/postroom/internal/presence"
)

// What Claude Code writes about its running sessions: sessions/<pid>.json in
// its directory. It is no public contract, so everything is checked.

const (
	// claudeSocketSince is the first version whose inbox socket takes our frame.
	claudeSocketSince = "2.1.224"
	// claudeProtocol is the frame's version that was measured.
	claudeProtocol = 1
	claudeBusy     = "busy"
	maxClaudeFile  = 64 << 10 // bytes
	maxClaudeFiles = 500
)

// claudeSession is as much of a state file as is needed.
type claudeSession struct {
	PID        int    `json:"pid"`
	ID         string `json:"sessionId"`
	Version    string `json:"version"`
	Protocol   *int   `json:"peerProtocol"`
	Kind       string `json:"kind"`
	Socket     string `json:"messagingSocketPath"`
	Status     string `json:"status"`
	WaitingFor string `json:"waitingFor"`
	StatusAt   int64  `json:"statusUpdatedAt"` // ms since 1970

	file string
}

// claudeDirs lists where sessions' state files may be.
func claudeDirs(getenv func(string) string) []string {
	var dirs []string
	getenv = lookup(getenv)
	if dir := getenv("CLAUDE_CONFIG_DIR"); filepath.IsAbs(dir) {
		dirs = append(dirs, filepath.Join(dir, "sessions"))
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		dirs = append(dirs, filepath.Join(home, ".claude", "sessions"))
	}
	return dirs
}

// findClaude finds the state file of the bound session, and of no other: by
// its process, else by its id (a resumed session has another process).
func findClaude(dirs []string, s *presence.Session) (claudeSession, bool) {
	for _, dir := range dirs {
		if live, ok := readClaude(filepath.Join(dir, strconv.Itoa(s.PID)+".json")); ok && live.ID == s.ID {
			return live, true
		}
	}
	for _, dir := range dirs {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries[:min(len(entries), maxClaudeFiles)] {
			pid, isJSON := strings.CutSuffix(e.Name(), ".json")
			if _, err := strconv.Atoi(pid); err != nil || !isJSON {
				continue
			}
			if live, ok := readClaude(filepath.Join(dir, e.Name())); ok && live.ID == s.ID {
				return live, true
			}
		}
	}
	return claudeSession{}, false
}

func readClaude(file string) (claudeSession, bool) {
	if fi, err := os.Lstat(file); err != nil || !fi.Mode().IsRegular() {
		return claudeSession{}, false
	}
	f, err := os.Open(file)
	if err != nil {
		return claudeSession{}, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxClaudeFile))
	s := claudeSession{file: file}
	if err != nil || json.Unmarshal(data, &s) != nil || s.ID == "" || s.PID <= 0 {
		return claudeSession{}, false
	}
	return s, true
}

// occupied says why the session is left alone now, "" if it is idle.
func (s claudeSession) occupied() string {
	switch s.Status {
	case "idle":
		return ""
	case "waiting":
		why := "a dialog is open"
		if s.WaitingFor != "" {
			why += " (" + s.WaitingFor + ")"
		}
		return why
	case claudeBusy, "shell":
		return "a turn runs (" + s.Status + "); its hooks show the mail before it ends"
	}
	return "its state is unknown: " + line(s.Status, 40)
}

// noSocket says why the inbox socket is not used, "" if it is.
func (s claudeSession) noSocket(p *presence.Session) string {
	switch {
	case p.Mode == "bypassPermissions":
		return "it bypasses permissions and would hold words of others behind a dialog"
	case s.Socket == "":
		return "it has no inbox socket"
	case !atLeast(s.Version, claudeSocketSince):
		return "version " + line(s.Version, 20) + " is not known to have an inbox socket"
	case s.Protocol != nil && *s.Protocol != claudeProtocol:
		return "its inbox speaks protocol " + strconv.Itoa(*s.Protocol)
	case s.Kind != "" && s.Kind != "interactive":
		return "it is not interactive"
	case !filepath.IsAbs(s.Socket):
		return "its inbox socket has no absolute path"
	}
	fi, err := os.Lstat(s.Socket)
	if err != nil || fi.Mode().Type() != fs.ModeSocket {
		return "its inbox socket is gone"
	}
	return ""
}

// atLeast compares dotted versions; what is no version is too old.
func atLeast(version, want string) bool {
	v, w := strings.Split(version, "."), strings.Split(want, ".")
	for i, part := range w {
		if i >= len(v) {
			return false
		}
		have, err1 := strconv.Atoi(v[i])
		need, err2 := strconv.Atoi(part)
		if err1 != nil || err2 != nil || have < need {
			return false
		}
		if have > need {
			return true
		}
	}
	return true
}
