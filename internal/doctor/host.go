package doctor

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// Host is what the doctor asks the machine. A nil function is a question that
// cannot be answered there.
type Host struct {
	// NoModes: the system has no permission bits.
	NoModes bool
	UID     int
	Owner   func(path string) (uid int, ok bool)
	// Filesystem names the kind of a network file system; "" if it is local.
	Filesystem func(dir string) string
	Space      func(dir string) (free uint64, ok bool) // bytes
	Alive      func(pid int) (alive, ok bool)
	// Routers lists the processes that seem to route always.
	Routers func() (list []string, ok bool)
	// Tools lists every post on PATH, in the order of PATH.
	Tools func() []Tool
}

// Tool is one copy of post.
type Tool struct {
	Path    string // without symlinks
	Version string
	Digest  string // two copies with the same are the same
}

// System asks the real machine. path is $PATH.
func System(path string, filesystem func(string) string) Host {
	h := Host{NoModes: runtime.GOOS == "windows", UID: os.Getuid(), Filesystem: filesystem, Tools: func() []Tool { return toolsOn(path) }}
	h.system()
	return h
}

// modulePath is what this tool is built from.
const modulePath = "github.com/postroom/postroom/cmd/post"

// toolsOn finds the copies of this tool. None is run: what is called post may
// be anything.
func toolsOn(path string) (out []Tool) {
	name := "post"
	if runtime.GOOS == "windows" {
		name = "post.exe"
	}
	seen := map[string]bool{}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		real, err := filepath.EvalSymlinks(filepath.Join(dir, name))
		if err != nil || seen[real] {
			continue
		}
		seen[real] = true
		info, err := buildinfo.ReadFile(real)
		if err != nil || info.Path != modulePath {
			continue // another program of that name
		}
		digest, err := digestOf(real)
		if err == nil {
			out = append(out, Tool{Path: real, Version: versionOf(info), Digest: digest})
		}
	}
	return out
}

func versionOf(info *buildinfo.BuildInfo) string {
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && v == "(devel)" {
			v = s.Value[:min(len(s.Value), 12)]
		}
	}
	return v
}

func digestOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// marked looks for the marks that synchronising programs leave in a folder.
func marked(dir string) string {
	for _, m := range [][2]string{{".stfolder", "Syncthing"}, {".dropbox", "Dropbox"}, {".dropbox.cache", "Dropbox"},
		{".sync_journal.db", "Nextcloud"}, {".owncloudsync.log", "ownCloud"}, {".849C9593-D756-4E56-8D6E-42412F2A707B", "OneDrive"}} {
		if _, err := os.Lstat(filepath.Join(dir, m[0])); err == nil {
			return m[1]
		}
	}
	return ""
}
