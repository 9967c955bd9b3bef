package link

import (
	"bytes"
	"errors"
	"io/fs"

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
