package serve

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// releaseProgram gives back the pages of the program itself that only its start
// or a burst of work needed: half of an idle router. They are clean copies of
// the file; those that are needed again come back by themselves. A mapping of
// which anything was changed is left alone.
func releaseProgram() {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer f.Close()
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	var start, end uintptr
	for lines := bufio.NewScanner(f); lines.Scan(); {
		field := strings.Fields(lines.Text())
		switch {
		case len(field) >= 6 && strings.Contains(field[0], "-"): // 00400000-007b9000 r-xp 00000000 fd:00 5456010 /usr/bin/postd
			start, end = 0, 0
			if path := strings.Join(field[5:], " "); path == exe && (field[1] == "r-xp" || field[1] == "r--p") {
				start, end = span(field[0])
			}
		case len(field) == 3 && field[0] == "Anonymous:" && field[1] == "0" && start < end:
			unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(nil), start)), end-start), unix.MADV_DONTNEED)
		}
	}
}

func span(text string) (start, end uintptr) {
	a, b, _ := strings.Cut(text, "-")
	x, xerr := strconv.ParseUint(a, 16, 64)
	y, yerr := strconv.ParseUint(b, 16, 64)
	if xerr != nil || yerr != nil {
		return 0, 0
	}
	return uintptr(x), uintptr(y)
}
