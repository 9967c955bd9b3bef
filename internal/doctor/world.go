package doctor

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
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

// checkAudit looks at the state of the git audit. It goes by what the file's
// fields are called and takes nothing for granted, so that another version's
// file is no trouble.
func (x *exam) checkAudit() {
	if x.o.Config.Policy.Audit != "git" {
		return
	}
	where := x.o.FS.Path(auditFile)
	f := Finding{Check: "audit", Severity: Warning, Where: where, Why: "the history in git is not kept up; mail is not affected", Fix: "post audit now"}
	data, _, err := spool.ReadFile(x.o.FS, auditFile, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		f.What = "audit is set to git, and nothing was ever committed"
		x.add(f)
		return
	}
	var state map[string]any
	if err == nil {
		err = json.Unmarshal(data, &state)
	}
	if err != nil {
		f.What = "the state of the audit cannot be read: " + err.Error()
		x.add(f)
		return
	}
	var last time.Time
	for _, k := range slices.Sorted(maps.Keys(state)) {
		text, ok := state[k].(string)
		if !ok || text == "" {
			continue
		}
		if strings.Contains(k, "error") || strings.Contains(k, "problem") {
			f.What = "the audit fails: " + mail.Neutralise(text, false)
			x.add(f)
			return
		}
		if t, err := time.Parse(time.RFC3339, text); err == nil && t.After(last) {
			last = t
		}
	}
	pass, routed := x.lastPass()
	if !last.IsZero() && routed && pass.Sub(last) > auditLate {
		f.What = "the audit is " + ago(pass.Sub(last)) + " behind"
		x.add(f)
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
				Why: "it once held very many files and never shrinks on some file systems: each look at it costs a little more"})
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
