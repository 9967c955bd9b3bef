package doctor

import (
	"errors"
	"io/fs"
	"path"
	"strconv"

	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/station"
	"github.com/postroom/postroom/internal/vfs"
)

const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// chmodder is what a file system needs so that its permissions can be mended.
type chmodder interface {
	Chmod(name string, perm fs.FileMode) error
}

// wrong is one name with permissions that are not what they should be.
type wrong struct {
	name string
	perm fs.FileMode // as it should be
	shut bool        // not even the owner can use it
}

// checkPermissions looks at the directories and at the files that are not
// shut away in one of them (design §3: 0700 and 0600).
func (x *exam) checkPermissions() {
	if x.Host.NoModes {
		return
	}
	dirs := append([]string{"."}, office.Dirs()...)
	for _, name := range x.names(x.o.FS, office.MessagesDir) {
		dirs = append(dirs, office.MessagesDir+"/"+name)
	}
	files := []string{".", office.JournalDir, office.TranscriptsDir}
	if link := x.linkDirs(); len(link) > 0 { // what is in it is secret
		dirs, files = append(dirs, link...), append(files, link...)
	}
	x.checkModes("the office", x.o.FS, dirs, files...)
	for _, e := range x.reg.Entries() {
		b, err := x.o.Box(e)
		if err != nil {
			continue // told by checkBoxes
		}
		dirs := []string{b.Path("")}
		for _, d := range boxDirs() {
			dirs = append(dirs, b.Path(d))
		}
		x.checkModes("the mailbox of "+e.Name, b.FS, dirs, b.Path(""), b.Path(spool.Inbox), b.Path(spool.Outbox))
	}
}

// linkDirs lists the directories that the link keeps in the office, if any.
func (x *exam) linkDirs() []string {
	if fi, err := x.o.FS.Lstat(station.Dir); err != nil || !fi.IsDir() {
		return nil
	}
	dirs := []string{station.Dir}
	for _, n := range x.names(x.o.FS, station.Dir) {
		if fi, err := x.o.FS.Lstat(station.Dir + "/" + n); err == nil && fi.IsDir() {
			dirs = append(dirs, station.Dir+"/"+n)
		}
	}
	return dirs
}

// checkModes looks at dirs, and at the files that stand in each of filesIn.
func (x *exam) checkModes(what string, fsys vfs.FS, dirs []string, filesIn ...string) {
	var bad []wrong
	look := func(name string) {
		fi, err := fsys.Lstat(name)
		if err != nil {
			return // what is missing is told elsewhere
		}
		want := fileMode
		if fi.IsDir() {
			want = dirMode
		} else if !fi.Mode().IsRegular() {
			return
		}
		if have := fi.Mode().Perm(); have != want {
			bad = append(bad, wrong{name, want, have&want != want})
		}
	}
	for _, d := range dirs {
		look(d)
	}
	for _, d := range filesIn {
		for _, n := range x.names(fsys, d) {
			if fi, err := fsys.Lstat(path.Join(d, n)); err == nil && fi.Mode().IsRegular() {
				look(path.Join(d, n))
			}
		}
	}
	x.foreignOwner(what, fsys, dirs[0])
	if len(bad) == 0 {
		return
	}
	f := Finding{Check: "permissions", Severity: Warning, Where: fsys.Path(bad[0].name),
		What:  what + " has " + count(len(bad), "name", "names") + " with permissions other than 0700 and 0600",
		Why:   "other users of this machine may read or change mail",
		stage: access, mend: func() ([]string, error) { return chmodAll(fsys, bad) }}
	for _, b := range bad {
		if b.shut {
			f.Severity, f.Why, f.Where = Error, "its owner cannot use it: mail gets stuck", fsys.Path(b.name)
			break
		}
	}
	x.add(f)
}

func chmodAll(fsys vfs.FS, bad []wrong) (done []string, err error) {
	c, ok := fsys.(chmodder)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	for _, b := range bad { // parents first, so that what lies below can be reached
		if err := c.Chmod(b.name, b.perm); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return done, err
		}
		done = append(done, "set the permissions of "+fsys.Path(b.name)+" to "+strconv.FormatUint(uint64(b.perm), 8))
	}
	return done, nil
}

func (x *exam) foreignOwner(what string, fsys vfs.FS, name string) {
	if x.Host.Owner == nil {
		return
	}
	where := fsys.Path(name)
	if uid, ok := x.Host.Owner(where); ok && uid != x.Host.UID {
		x.add(Finding{Check: "owner", Severity: Error, Where: where, What: what + " belongs to user " + strconv.Itoa(uid) + ", and this is user " + strconv.Itoa(x.Host.UID),
			Why: "mail that one of them writes cannot be moved by the other", Fix: "sudo chown -R " + strconv.Itoa(x.Host.UID) + " " + quote(where)})
	}
}

// names lists a directory; what cannot be listed has no names here and is told
// by whoever needs it.
func (x *exam) names(fsys vfs.FS, dir string) []string {
	names, err := fsys.ReadNames(dir)
	if err != nil {
		return nil
	}
	return names
}

// boxDirs are the directories of a mailbox, below its own.
func boxDirs() []string {
	return []string{spool.Inbox, spool.Done, spool.Outbox, spool.Sent, spool.Failed, spool.Keys}
}
