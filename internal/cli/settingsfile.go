package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// settingsCap is the size above which a file is no settings file.
const settingsCap = 64 << 20

// settingsFile is another program's settings file. A link is followed, as
// managers of dotfiles make them, and the file behind it is what is written.
type settingsFile struct {
	path string // as the program names it
	real string // without links
	data []byte // nil: there is none
	mode fs.FileMode
}

// openSettings reads a file. root, if not "", is the directory that links may
// not lead out of: what lies in a repository is not this user's word.
func openSettings(path, root string) (settingsFile, error) {
	f := settingsFile{path: path, real: path, mode: 0o600}
	fail := func(kind mail.Kind, what, hint string) (settingsFile, error) {
		return f, &mail.Error{Op: "read settings", Kind: kind, Addr: path, Err: errors.New(what), Hint: hint}
	}
	real, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, lerr := os.Lstat(path); lerr == nil {
			return fail(mail.KindInvalid, "is a link that leads nowhere", "make the file that it names, or remove the link")
		}
		return f.unborn(root)
	case err != nil:
		return f, &mail.Error{Op: "read settings", Kind: mail.KindStore, Addr: path, Err: err}
	}
	f.real = real
	if root != "" && !inside(real, realPath(root)) {
		return fail(mail.KindInvalid, "is a link that leads out of the repository, to "+real, "replace it by a file of its own")
	}
	fi, err := os.Stat(real)
	switch {
	case err != nil:
		return f, &mail.Error{Op: "read settings", Kind: mail.KindStore, Addr: path, Err: err}
	case !fi.Mode().IsRegular():
		return fail(mail.KindInvalid, "is no file", "move it away")
	case fi.Size() > settingsCap:
		return fail(mail.KindTooLarge, "is too large for settings", "look what it is")
	}
	f.mode = fi.Mode().Perm()
	if f.data, err = os.ReadFile(real); err != nil {
		return f, &mail.Error{Op: "read settings", Kind: mail.KindStore, Addr: path, Err: err}
	}
	if f.data == nil {
		f.data = []byte{}
	}
	return f, nil
}

// unborn is a file that is to be made: its directory may be a link, too.
func (f settingsFile) unborn(root string) (settingsFile, error) {
	if dir := realPath(filepath.Dir(f.path)); dir != "" {
		f.real = filepath.Join(dir, filepath.Base(f.path))
		if root != "" && !inside(f.real, realPath(root)) {
			return f, &mail.Error{Op: "read settings", Kind: mail.KindInvalid, Addr: f.path,
				Err: errors.New("lies behind a link that leads out of the repository"), Hint: "replace the link by a directory of its own"}
		}
	}
	return f, nil
}

func realPath(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return real
}

// writable says, before anything is written, whether all of it can be.
func (f settingsFile) writable() error {
	fail := func(addr, what, hint string) error {
		return &mail.Error{Op: "write settings", Kind: mail.KindStore, Addr: addr, Err: errors.New(what), Hint: hint}
	}
	if f.data != nil && f.mode&0o200 == 0 {
		return fail(f.path, "is read-only, so somebody wants it to stay as it is", "if that may change, run: chmod u+w "+quote(f.real))
	}
	dir := filepath.Dir(f.real)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil // it is made
	}
	tmp, err := os.CreateTemp(dir, ".postroom-*")
	if err != nil {
		return &mail.Error{Op: "write settings", Kind: mail.KindStore, Addr: f.path, Err: err,
			Hint: "the directory " + dir + " cannot be written; if another program manages it, add the settings there (--dry-run shows them)"}
	}
	tmp.Close()
	return os.Remove(tmp.Name())
}

// backup keeps what is there beside it, under a name that says when.
func (f settingsFile) backup(now time.Time) (string, error) {
	stamp := f.path + ".postroom-backup-" + now.UTC().Format("20060102-150405")
	for n := ""; ; n += "x" { // two changes in one second
		file, err := os.OpenFile(stamp+n, os.O_CREATE|os.O_EXCL|os.O_WRONLY, f.mode)
		if errors.Is(err, fs.ErrExist) && len(n) < 9 {
			continue
		}
		if err == nil {
			_, err = file.Write(f.data)
			err = errors.Join(err, file.Sync(), file.Close())
		}
		if err != nil {
			return "", &mail.Error{Op: "back up settings", Kind: mail.KindStore, Addr: stamp + n, Err: err, Hint: "nothing was changed"}
		}
		return stamp + n, nil
	}
}

// write replaces the file as a whole: whoever reads it sees the old or the new
// one. It refuses if somebody else changed it since it was read. madeDir is the
// directory that had to be made, "" for none.
func (f settingsFile) write(data []byte) (madeDir string, err error) {
	now, err := os.ReadFile(f.real)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || string(now) != string(f.data) || (err == nil) != (f.data != nil) {
		return "", &mail.Error{Op: "write settings", Kind: mail.KindBusy, Addr: f.path,
			Err: errors.New("somebody else changed it just now"), Hint: "run the command again"}
	}
	dir := filepath.Dir(f.real)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", &mail.Error{Op: "write settings", Kind: mail.KindStore, Addr: dir, Err: err}
		}
		madeDir = dir
	}
	tmp, err := os.CreateTemp(dir, ".postroom-*")
	if err == nil {
		defer os.Remove(tmp.Name())
		_, err = tmp.Write(data)
		err = errors.Join(err, tmp.Chmod(f.mode), tmp.Sync(), tmp.Close())
	}
	if err == nil {
		err = os.Rename(tmp.Name(), f.real)
	}
	if err != nil {
		return madeDir, &mail.Error{Op: "write settings", Kind: mail.KindStore, Addr: f.path, Err: err}
	}
	return madeDir, nil
}

// lockTries and lockPause bound how long a runtime may hold its settings; a
// lock that is older than lockStale was left behind by one that died.
const (
	lockTries = 40
	lockPause = 50 * time.Millisecond
	lockStale = 10 * time.Second
)

// lockSettings takes the lock that the runtime takes for writing: a directory.
func (e *Env) lockSettings(dir string) (release func(), err error) {
	if dir == "" {
		return func() {}, nil
	}
	for i := 0; ; i++ {
		err := os.Mkdir(dir, 0o700)
		if err == nil {
			return func() { os.Remove(dir) }, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return func() {}, nil // the directory itself is missing: nobody else is writing there
		}
		if fi, serr := os.Stat(dir); serr == nil && e.Now().Sub(fi.ModTime()) > lockStale {
			os.Remove(dir)
			continue
		}
		if i == lockTries {
			return nil, &mail.Error{Op: "write settings", Kind: mail.KindBusy, Addr: dir, Err: errors.New("the program whose settings these are is writing them"), Hint: "run the command again"}
		}
		time.Sleep(lockPause)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
