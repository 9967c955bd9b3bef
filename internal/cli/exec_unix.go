//go:build unix

package cli

import "syscall"

// Exec replaces this process by another program.
func Exec(path string, argv, env []string) error { return syscall.Exec(path, argv, env) }
