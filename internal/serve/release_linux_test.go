package serve

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// fileKB is how much of what this process has in memory is a file's, in KB.
func fileKB(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	sum := 0
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && (f[0] == "RssFile:" || f[0] == "RssShmem:") { // the latter on tmpfs
			n, _ := strconv.Atoi(f[1])
			sum += n
		}
	}
	if sum > 0 {
		return sum
	}
	t.Skip("the kernel does not say")
	return 0
}

// Not parallel: what others run comes back at once.
func TestReleaseProgram(t *testing.T) {
	before := fileKB(t)
	releaseProgram()
	if after := fileKB(t); after >= before {
		t.Errorf("%d KB of files before, %d KB after", before, after)
	}
	runtime.GC() // everything is there when it is needed
	if got := bytes.ToUpper([]byte("still here")); string(got) != "STILL HERE" {
		t.Error(string(got))
	}
}
