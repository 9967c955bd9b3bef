package main

import (
	"time"

	"github.com/postroom/postroom/e2e/demooffice"
	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/vfs"
)

// fillSystem is the world of an office that is filled: it leaves it to the
// kernel when things become durable. Never for measuring.
func fillSystem(now func() time.Time) office.System {
	sys := cli.SystemEnv("bench").System
	open := sys.OpenFS
	sys.Now, sys.Parallel = now, 1
	sys.OpenFS = func(dir string) (vfs.FS, error) {
		real, err := open(dir)
		return demooffice.Unsynced{FS: real}, err
	}
	return sys
}
