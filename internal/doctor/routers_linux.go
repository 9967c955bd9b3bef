package doctor

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// routers looks in /proc for post route --watch. A post serve is known by its
// lock.
func routers() (list []string, ok bool) {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil, false
	}
	for _, n := range names {
		pid, err := strconv.Atoi(n.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", n.Name(), "cmdline"))
		if err != nil {
			continue
		}
		if routes(bytes.Split(bytes.TrimSuffix(line, []byte{0}), []byte{0})) {
			list = append(list, strconv.Itoa(pid))
		}
	}
	return list, true
}

// routes reports whether a command line is one of post route --watch.
func routes(argv [][]byte) bool {
	has := func(arg string) bool {
		return slices.ContainsFunc(argv[1:], func(a []byte) bool { return string(a) == arg })
	}
	return filepath.Base(string(argv[0])) == "post" && has("route") && has("--watch")
}
