package doctor

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// checkTools looks for other copies of this tool in use.
func (x *exam) checkTools() {
	if x.Host.Tools != nil {
		tools := x.Host.Tools()
		seen := map[string]bool{}
		var list []string
		for _, t := range tools {
			if !seen[t.Digest] {
				seen[t.Digest] = true
				list = append(list, t.Path+" ("+t.Version+")")
			}
		}
		if len(list) > 1 {
			x.add(Finding{Check: "stale copy", Severity: Warning, Where: tools[0].Path, What: count(len(list), "post", "different copies of post") + " are on PATH: " + strings.Join(list, ", "),
				Why: "which one an agent runs depends on its PATH; an old one may not know this office's rules", Fix: "remove all but one: rm " + quote(tools[len(tools)-1].Path)})
		}
	}
	stamps := x.recentTools()
	for _, tool := range slices.Sorted(maps.Keys(stamps)) {
		x.add(Finding{Check: "stale copy", Severity: Warning, ID: stamps[tool], What: "recent mail was sent with " + mail.Neutralise(tool, false) + ", and this is " + x.Sys.Version,
			Why: "several versions are in use", Fix: "post trace " + string(stamps[tool]) + " shows whose; install one version everywhere"})
	}
}

// auditFile is where the git audit keeps what it did last.
const auditFile = "audit.json"

// auditLate is how far the audit may lie behind.
const auditLate = time.Hour

// auditState is what is read of auditFile; whatever another version has there
// besides, or otherwise, is no trouble.
type auditState struct {
	Last struct {
		At time.Time `json:"at"`
	} `json:"last"`
	Since    time.Time       `json:"since"` // the last good comparison
	Failures int             `json:"failures"`
	Error    json.RawMessage `json:"error"` // {"text":…}
	Locks    []struct {
		Name    string `json:"name"`
		Stale   bool   `json:"stale"`
		Removed bool   `json:"removed"`
		Why     string `json:"why"`
	} `json:"locks"`
	Growth struct {
		Error string `json:"error"`
	} `json:"growth"`
}

// checkAudit looks at the state of the git audit.
func (x *exam) checkAudit() {
	if x.o.Config.Policy.Audit != "git" {
		return
	}
	if what := x.auditFault(); what != "" {
		x.add(Finding{Check: "audit", Severity: Warning, Where: x.o.FS.Path(auditFile), What: what,
			Why: "the history in git is not kept up; mail is not affected", Fix: "post audit now"})
	}
}

func (x *exam) auditFault() string {
	data, _, err := spool.ReadFile(x.o.FS, auditFile, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return "audit is set to git, and nothing was ever committed"
	}
	var s auditState
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return "the state of the audit cannot be read: " + err.Error()
	}
	for _, l := range s.Locks {
		if l.Stale && !l.Removed {
			return "a stale lock stops the audit: " + mail.Neutralise(l.Name+" ("+l.Why+")", false)
		}
	}
	if text := troubleText(s.Error); text != "" {
		return "the audit fails, " + count(max(s.Failures, 1), "time", "times") + " in a row: " + mail.Neutralise(text, false)
	}
	if s.Growth.Error != "" {
		return "the audit's repository cannot be packed: " + mail.Neutralise(s.Growth.Error, false)
	}
	last := s.Since
	if s.Last.At.After(last) {
		last = s.Last.At
	}
	if pass, routed := x.lastPass(); !last.IsZero() && routed && pass.Sub(last) > auditLate {
		return "the audit is " + ago(pass.Sub(last)) + " behind"
	}
	return ""
}

// troubleText reads the failure that lasts: a text, or an object that has one.
func troubleText(raw json.RawMessage) string {
	var object struct {
		Text string `json:"text"`
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	if json.Unmarshal(raw, &object) == nil {
		return object.Text
	}
	return ""
}

// serveLock is the file whose lock says that post serve runs in this office.
const serveLock = "serve.lock"

// served reports whether post serve runs here, and what it says of itself.
func (x *exam) served() (h spool.Holder, runs bool) {
	f, err := x.o.FS.OpenFile(serveLock, os.O_RDWR, 0)
	if err != nil {
		return h, false
	}
	defer f.Close()
	if free, err := f.TryLock(); free || err != nil {
		return h, false
	}
	data, _, err := spool.ReadFile(x.o.FS, serveLock, 4096)
	if err == nil {
		err = json.Unmarshal(data, &h)
	}
	if err != nil {
		h = spool.Holder{} // it says nothing of itself
	}
	return h, true
}

// checkServe tells of a serve of another version: it was not started again
// after an update.
func (x *exam) checkServe() {
	h, runs := x.served()
	version := func(s string) string { return s[strings.LastIndexByte(s, ' ')+1:] }
	if runs && h.Version != "" && version(h.Version) != version(x.Sys.Version) {
		x.add(Finding{Check: "stale copy", Severity: Warning, Where: x.o.FS.Path(serveLock), What: "post serve runs as process " + strconv.Itoa(h.PID) + " with " + mail.Neutralise(h.Version, false) + ", and this is " + x.Sys.Version,
			Why: "it was not started again after an update", Fix: "kill " + strconv.Itoa(h.PID) + ", then post serve"})
	}
}

const (
	hugeDir   = 1 << 20   // bytes of a directory itself: once some 20,000 names
	lowSpace  = 500 << 20 // bytes free
	noSpace   = 50 << 20
	walkLimit = 100_000 // names that are counted
)

// checkDisk tells how much room there is and what the office takes.
func (x *exam) checkDisk() {
	if x.Host.Space != nil {
		if free, ok := x.Host.Space(x.Dir); ok && free < lowSpace {
			f := Finding{Check: "disk", Severity: Warning, Where: x.Dir, What: "only " + size(int64(free)) + " are free", Why: "with a full disk nothing can be sent or delivered",
				Fix: "free some space: df -h " + quote(x.Dir)}
			if free < noSpace {
				f.Severity = Error
			}
			x.add(f)
		}
	}
	var parts []string
	left := walkLimit
	var total int64
	for _, d := range []string{office.MessagesDir, office.JournalDir, office.TranscriptsDir, office.AgentsDir, office.ApprovalsDir} {
		n := x.sizeOf(x.o.FS, d, &left, map[uint64]bool{})
		parts = append(parts, d+" "+size(n))
		total += n
	}
	more := ""
	if left <= 0 {
		more = "more than "
	}
	x.add(Finding{Check: "disk", Severity: Note, Where: x.Dir, What: "the office takes " + more + size(total) + " (" + strings.Join(parts, ", ") + "; linked files count in each)"})
	for _, b := range x.boxes {
		if !b.ok {
			continue
		}
		if fi, err := b.FS.Lstat(b.Path(spool.Inbox)); err == nil && fi.Size() >= hugeDir {
			x.add(Finding{Check: "disk", Severity: Note, Where: b.FS.Path(b.Path(spool.Inbox)), What: "the inbox directory of " + b.entry.Name + " has grown to " + size(fi.Size()),
				Why: "it once held very many files and never shrinks on some file systems: a look that finds something new costs a little more"})
		}
	}
}

// sizeOf adds up the files below a directory, each once.
func (x *exam) sizeOf(fsys vfs.FS, dir string, left *int, seen map[uint64]bool) (total int64) {
	for _, n := range x.names(fsys, dir) {
		if *left--; *left <= 0 || x.ctx.Err() != nil {
			return total
		}
		fi, err := fsys.Lstat(path.Join(dir, n))
		if err != nil {
			continue
		}
		if fi.IsDir() {
			total += x.sizeOf(fsys, path.Join(dir, n), left, seen)
			continue
		}
		if _, ino, ok := vfs.Inode(fi); ok {
			if seen[ino] {
				continue
			}
			seen[ino] = true
		}
		total += fi.Size()
	}
	return total
}

// SyncedBy guesses which program synchronises dir: from the names on the way,
// and from what such programs leave in a folder. "" is none.
func SyncedBy(dir string) string {
	for d := dir; ; d = filepath.Dir(d) {
		switch p := strings.ToLower(filepath.Base(d)); {
		case p == "dropbox", strings.HasPrefix(p, "dropbox ("):
			return "Dropbox"
		case p == "onedrive", strings.HasPrefix(p, "onedrive - "):
			return "OneDrive"
		case p == "google drive", p == "googledrive", strings.HasPrefix(p, "googledrive-"):
			return "Google Drive"
		case p == "mobile documents", p == "icloud drive", p == "com~apple~clouddocs":
			return "iCloud"
		case p == "nextcloud", p == "syncthing":
			return filepath.Base(d)
		}
		if by := marked(d); by != "" {
			return by
		}
		if d == filepath.Dir(d) {
			return ""
		}
	}
}
