package office

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// CreateOptions are what a person chooses for a new office.
type CreateOptions struct {
	Name        string // for people; may be empty
	PersonCheck string // config.PersonCheck…; "" is the strictest
}

// Dirs lists the directories of an office, parents first, without the
// mailboxes (docs/spool-format.md §1).
func Dirs() []string {
	return []string{AgentsDir, MessagesDir, ApprovalsDir, ApprovalsDir + "/.done", ApprovalsDir + "/.rejected",
		TranscriptsDir, JournalDir, "fuses", "wake"}
}

// Create makes an office in dir, which is absolute and is made if it does not
// exist. An office that is there already is opened and left as it is: made is
// false. postroom.toml comes last, so a half-made office is none, and the next
// Create finishes it. Errors: KindConflict (something else is in dir),
// KindForeign (the office has moved away), KindBusy, KindStore.
func Create(dir string, sys System, opt CreateOptions) (o *Office, made bool, err error) {
	if err := makeDir(dir); err != nil {
		return nil, false, createError(dir, err)
	}
	fsys, err := sys.OpenFS(dir)
	if err != nil {
		return nil, false, createError(dir, err)
	}
	if made, err = Furnish(fsys, dir, sys, opt); err != nil {
		return nil, false, err
	}
	o, err = Open(dir, sys)
	return o, made, err
}

// Furnish makes an office of the existing directory that fsys is; see Create.
func Furnish(fsys vfs.FS, dir string, sys System, opt CreateOptions) (made bool, err error) {
	if is, err := isOffice(fsys); is || err != nil {
		return false, err
	}
	if err := unrelated(fsys, dir); err != nil {
		return false, err
	}
	lease, err := spool.AcquireLease(fsys, spool.Holder{PID: sys.PID, Host: sys.Host, Since: sys.Now().UTC(), Version: sys.Version})
	if err != nil {
		return false, err
	}
	defer lease.Release()
	if is, err := isOffice(fsys); is || err != nil { // somebody was faster
		return false, err
	}
	if err := furniture(fsys); err != nil {
		return false, createError(dir, err)
	}
	if err := emptyRegistry(fsys, dir); err != nil {
		return false, err
	}
	check := opt.PersonCheck
	if check == "" {
		check = config.PersonCheckFull
	}
	cfg := config.New(sys.Version, check, sys.Now())
	cfg.Name = opt.Name
	if err := identify(fsys, sys, &cfg); err != nil {
		return false, createError(dir, err)
	}
	data, err := cfg.Encode()
	if err == nil {
		err = spool.PutNew(fsys, ".", config.OfficeFile, data)
	}
	if err == nil {
		err = fsys.SyncDir(".")
	}
	if err != nil {
		return false, createError(dir, err)
	}
	return true, nil
}

// private keeps everybody else out of a directory that was there before us
// (design §3).
func private(fsys vfs.FS) error {
	if c, ok := fsys.(interface {
		Chmod(name string, perm fs.FileMode) error
	}); ok {
		return c.Chmod(".", 0o700)
	}
	return nil
}

// furniture makes the directories and the mailboxes that every office has.
func furniture(fsys vfs.FS) error {
	if err := private(fsys); err != nil {
		return err
	}
	for _, d := range Dirs() {
		if err := fsys.Mkdir(d, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	for _, name := range []string{mail.NameHuman, mail.NamePostroom} {
		box := spool.Box{FS: fsys, Dir: AgentsDir + "/" + name, Shared: true}
		if err := box.Make(); err != nil {
			return err
		}
	}
	for _, d := range []string{ApprovalsDir, "."} {
		if err := fsys.SyncDir(d); err != nil {
			return err
		}
	}
	return nil
}

// emptyRegistry makes the registry, or accepts the empty one that an earlier
// try left. One with agents means that only postroom.toml is lost.
func emptyRegistry(fsys vfs.FS, dir string) error {
	reg, err := registry.Load(fsys)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = registry.Create(fsys)
		return err
	}
	if err != nil {
		return err
	}
	if len(reg.Entries()) > 0 {
		return &mail.Error{Op: "make office", Kind: mail.KindCorrupt, Addr: dir,
			Err:  errors.New("agents are registered here, but " + config.OfficeFile + " is lost"),
			Hint: "restore that file from a backup, or make the office elsewhere"}
	}
	return nil
}

// identify records which machine and directory the office stands in.
func identify(fsys vfs.FS, sys System, cfg *config.Office) error {
	fi, err := fsys.Lstat(".")
	if err != nil {
		return err
	}
	_, cfg.Inode, _ = vfs.Inode(fi)
	cfg.Machine = sys.Machine()
	return nil
}

func isOffice(fsys vfs.FS) (bool, error) {
	_, err := fsys.Lstat(config.OfficeFile)
	switch {
	case err == nil:
		return true, nil
	case !errors.Is(err, fs.ErrNotExist):
		return false, createError(fsys.Path("."), err)
	}
	if to, moved := readMoved(fsys); moved {
		return false, movedError(fsys.Path("."), to)
	}
	return false, nil
}

// unrelated refuses a directory that holds what no half-made office has.
func unrelated(fsys vfs.FS, dir string) error {
	names, err := fsys.ReadNames(".")
	if err != nil {
		return createError(dir, err)
	}
	var strange []string
	for _, n := range names {
		if n != registry.File && n != spool.LeaseFile && !slices.Contains(Dirs(), n) && !strings.Contains(n, ".tmp-") {
			strange = append(strange, n)
		}
	}
	if len(strange) == 0 {
		return nil
	}
	slices.Sort(strange)
	shown := strings.Join(strange[:min(len(strange), 3)], ", ")
	return &mail.Error{Op: "make office", Kind: mail.KindConflict, Addr: dir,
		Err:  errors.New("there are other files here (" + shown + ")"),
		Hint: "name a directory that is new or empty, such as " + filepath.Join(dir, ".postroom")}
}

// makeDir makes dir and what is missing above it, durably; 0700.
func makeDir(dir string) error {
	fi, err := os.Stat(dir)
	if err == nil && !fi.IsDir() {
		return errors.New("is not a directory")
	}
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := makeDir(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncPath(parent)
}

// syncPath makes a directory's entries durable where the system lets us.
func syncPath(dir string) error {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil // a parent that may be passed but not read
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

func createError(dir string, err error) error {
	var known *mail.Error
	if errors.As(err, &known) {
		return err
	}
	return &mail.Error{Op: "make office", Kind: mail.KindStore, Addr: dir, Err: err,
		Hint: "choose a directory on a local disk that you can write"}
}
