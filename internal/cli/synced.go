package cli

import "github.com/postroom/postroom/internal/doctor"

// warnFilesystem warns of places where locks and links do not hold what the
// disk protocol needs of them.
func (e *Env) warnFilesystem(dir string) {
	if fs := networkFS(dir); fs != "" {
		e.Warn("%s lies on a %s file system, where locks and syncs may not hold; use a local disk", dir, fs)
		return
	}
	if sync := doctor.SyncedBy(dir); sync != "" {
		e.Warn("%s seems to lie in a folder that %s copies around, which breaks mail; use another directory", dir, sync)
	}
}
