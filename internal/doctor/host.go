package doctor

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
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
	// HookFaults lists what went wrong in hooks since a time, oldest first, and
	// names the file that has it.
	HookFaults func(since time.Time) (where string, lines []string)
	// Installed looks whether a runtime calls post, for agents that work in a
	// directory: whether it is set up to at all, and what is wrong with that.
	Installed func(runtime, workspace string) (is bool, wrong []Fault)
	// Started says when the process of a pid started, as presence has it.
	Started func(pid int) (start string, ok bool)
	// Launches says why a program cannot be started from a workspace.
	Launches func(program, workspace string) error
	// Worker says how the worker of an agent fares, by the agent's id.
	Worker func(aid string) WorkerFacts
	// Tools lists every post on PATH, in the order of PATH.
	Tools func() []Tool
}

// WorkerFacts is what is known of a headless worker.
type WorkerFacts struct {
	Kept    bool   // a postd serve of this user keeps the workers of the office
	Stopped bool   // by a person
	Crashes int    // in a row
	Why     string // of the last one
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
		if t, ok := readTool(real); ok {
			out = append(out, t)
		}
	}
	return out
}

// toolLimit is more than any of our programs is long, in bytes.
const toolLimit = 256 << 20

// readTool reads which version a program is from what the Go linker wrote into
// it; ok is false for another program of the name. (debug/buildinfo would bring
// four object file formats into a program that has to start fast.)
func readTool(file string) (t Tool, ok bool) {
	f, err := os.Open(file)
	if err != nil {
		return t, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, toolLimit))
	if err != nil {
		return t, false
	}
	// Put together here, so that it does not stand in this program as a whole.
	at := bytes.Index(data, []byte(strings.Join([]string{"path", modulePath + "\nmod"}, "\t")))
	if at < 0 {
		return t, false
	}
	sum := sha256.Sum256(data)
	return Tool{Path: file, Version: builtVersion(string(data[at:min(at+16<<10, len(data))])), Digest: hex.EncodeToString(sum[:])}, true
}

// builtVersion is the module's version, or the commit it was built from.
func builtVersion(info string) string {
	version := ""
	for line := range strings.Lines(info) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case f[0] == "mod" && len(f) > 2:
			version = f[2]
		case f[0] == "build" && len(f) > 1 && version == "(devel)":
			if revision, ok := strings.CutPrefix(f[1], "vcs.revision="); ok {
				return revision[:min(len(revision), 12)]
			}
		case f[0] != "path" && f[0] != "dep" && f[0] != "=>" && f[0] != "build":
			return version
		}
	}
	return version
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
