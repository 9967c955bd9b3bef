package main

import "golang.org/x/sys/unix"

// settleDisk has all that was written before on the disk, so that nothing of it
// is written while something is measured.
func settleDisk() error {
	unix.Sync()
	return nil
}

// room is what the file system of dir has left: bytes and files. known is false
// where that cannot be told; files is 0 on file systems that make them as needed.
func room(dir string) (bytes, files uint64, known bool) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0, 0, false
	}
	return s.Bavail * uint64(s.Bsize), s.Ffree, true
}
