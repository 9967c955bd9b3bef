package demooffice

import (
	"io/fs"

	"github.com/postroom/postroom/internal/vfs"
)

// Unsynced is a file system that leaves it to the kernel when things become
// durable: for filling offices, never for mail that somebody relies on.
type Unsynced struct{ vfs.FS }

// OpenFile opens a file whose Sync does nothing.
func (u Unsynced) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := u.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return unsyncedFile{f}, nil
}

// SyncDir does nothing.
func (Unsynced) SyncDir(string) error { return nil }

type unsyncedFile struct{ vfs.File }

func (unsyncedFile) Sync() error { return nil }
