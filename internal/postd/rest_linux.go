package postd

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// giveBack lets the system take the pages of the program's own file that only
// the start needed: postd links much that a resting router never runs. What is
// needed again is mapped again from the file. It changes no data: only mappings
// that cannot be written are named.
func giveBack() {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for line := range bytes.Lines(maps) {
		if from, to, ok := readOnly(line, self); ok {
			unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED) // refused: they stay
		}
	}
}

// readOnly takes a line of /proc/PID/maps apart, if it is a mapping of the file
// that cannot be written (proc_pid_maps(5)).
func readOnly(line []byte, file string) (from, to uintptr, ok bool) {
	f := bytes.Fields(line)
	if len(f) != 6 || string(f[5]) != file || len(f[1]) != 4 || f[1][1] != '-' {
		return 0, 0, false
	}
	low, high, _ := bytes.Cut(f[0], []byte{'-'})
	a, err1 := strconv.ParseUint(string(low), 16, strconv.IntSize)
	b, err2 := strconv.ParseUint(string(high), 16, strconv.IntSize)
	return uintptr(a), uintptr(b), err1 == nil && err2 == nil && a < b
}
