package audit

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Lock is a lock of git's that was left in the repository, or is in use.
type Lock struct {
	Name    string    `json:"name"` // within audit.git
	At      time.Time `json:"at"`
	AgeS    int64     `json:"age_s"`
	Stale   bool      `json:"stale"` // nobody can be using it any more
	Removed bool      `json:"removed,omitempty"`
	Why     string    `json:"why"`
}

func (a *Audit) staleAfter() time.Duration {
	if a.StaleAfter > 0 {
		return a.StaleAfter
	}
	return 10 * time.Minute
}

// findLocks lists git's locks and judges each.
func (a *Audit) findLocks() []Lock {
	var list []Lock
	add := func(path string) {
		fi, err := os.Lstat(path)
		if err != nil || !fi.Mode().IsRegular() {
			return
		}
		name, _ := filepath.Rel(a.gitDir(), path)
		l := Lock{Name: filepath.ToSlash(name), At: fi.ModTime().UTC()}
		age := time.Since(fi.ModTime())
		l.AgeS = int64(age.Seconds())
		l.Stale, l.Why = a.judge(path, age)
		list = append(list, l)
	}
	tops, _ := filepath.Glob(a.inGit("*.lock"))
	for _, path := range tops {
		add(path)
	}
	filepath.WalkDir(a.inGit("refs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".lock") {
			add(path)
		}
		return nil
	})
	return list
}

// judge decides whether a lock is stale for certain: older than this boot, or
// old and without any git that could own it. Everything else is only reported.
func (a *Audit) judge(path string, age time.Duration) (stale bool, why string) {
	if a.Boot != nil {
		if _, up, ok := a.Boot(); ok && age > up+time.Minute {
			return true, "it is older than the machine's start"
		}
	}
	if age < a.staleAfter() {
		return false, "it is young; a git may be at work"
	}
	switch user, certain := usedBy(path, a.gitDir(), a.Dir); {
	case user != "":
		return false, "in use by " + user
	case !certain:
		return false, "whether a git still uses it cannot be known here; remove it if none does"
	}
	return true, "no git is running that could own it"
}

// clearLocks takes away the locks of which it is certain that they are stale.
// The caller holds the committer's lock, so none of ours is at work.
func (a *Audit) clearLocks() []Lock {
	list := a.findLocks()
	for i, l := range list {
		if l.Stale {
			list[i].Removed = os.Remove(a.inGit(filepath.FromSlash(l.Name))) == nil
		}
	}
	return list
}
