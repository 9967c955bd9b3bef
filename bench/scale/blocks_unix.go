//go:build !windows

package main

import (
	"io/fs"
	"syscall"
)

// blocks is what a file takes of the disk, in bytes.
func blocks(fi fs.FileInfo) int64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return fi.Size()
}
