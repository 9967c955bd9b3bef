package link

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

func makeDir(fsys vfs.FS, dir string) error {
	if err := fsys.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	return fsys.SyncDir(".")
}

// replaceDurably writes a file whole and makes its name durable.
func replaceDurably(fsys vfs.FS, dir, name string, data []byte) error {
	if err := spool.Replace(fsys, dir, name, data); err != nil {
		return err
	}
	return fsys.SyncDir(dir)
}

func trim(data []byte) []byte { return bytes.TrimSpace(data) }

func makeDirs(fsys vfs.FS, dirs ...string) error {
	for _, d := range dirs {
		if err := fsys.Mkdir(d, 0o700); err == nil {
			err = fsys.SyncDir(path.Dir(d))
			if err != nil {
				return err
			}
		} else if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// idOf is the message whose file has this name.
func idOf(name string) (mail.ID, bool) {
	stem, ok := strings.CutSuffix(name, ".json")
	id := mail.ID(stem)
	return id, ok && id.Valid()
}
