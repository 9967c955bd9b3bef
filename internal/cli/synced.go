package cli

import (
	"path/filepath"
	"strings"
)

// warnFilesystem warns of places where locks and links do not hold what the
// disk protocol needs of them.
func (e *Env) warnFilesystem(dir string) {
	if fs := networkFS(dir); fs != "" {
		e.Warn("%s lies on a %s file system, where locks and syncs may not hold; use a local disk", dir, fs)
		return
	}
	if sync := syncedBy(dir); sync != "" {
		e.Warn("%s seems to lie in a folder that %s copies around, which breaks mail; use another directory", dir, sync)
	}
}

// syncedBy guesses from the path which program synchronises dir.
func syncedBy(dir string) string {
	for _, part := range strings.Split(filepath.ToSlash(dir), "/") {
		switch p := strings.ToLower(part); {
		case p == "dropbox", strings.HasPrefix(p, "dropbox ("):
			return "Dropbox"
		case p == "onedrive", strings.HasPrefix(p, "onedrive - "):
			return "OneDrive"
		case p == "google drive", p == "googledrive", strings.HasPrefix(p, "googledrive-"):
			return "Google Drive"
		case p == "mobile documents", p == "icloud drive", p == "com~apple~clouddocs":
			return "iCloud"
		case p == "nextcloud", p == "syncthing":
			return part
		}
	}
	return ""
}
