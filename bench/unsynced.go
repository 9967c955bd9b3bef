package main

import (
	"io/fs"
	"time"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/vfs"
)

// unsynced is a file system that leaves it to the kernel when things become
// durable: for filling offices, never for measuring.
type unsynced struct{ vfs.FS }

func (u unsynced) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := u.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return unsyncedFile{f}, nil
}

func (unsynced) SyncDir(string) error { return nil }

type unsyncedFile struct{ vfs.File }

func (unsyncedFile) Sync() error { return nil }

// fillSystem is the world of an office that is filled.
func fillSystem(now func() time.Time) office.System {
	sys := cli.SystemEnv("bench").System
	open := sys.OpenFS
	sys.Now, sys.Parallel = now, 1
	sys.OpenFS = func(dir string) (vfs.FS, error) {
		real, err := open(dir)
		return unsynced{real}, err
	}
	return sys
}
