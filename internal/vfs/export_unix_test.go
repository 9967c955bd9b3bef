//go:build unix

package vfs

// Walk makes r open every component by itself, as where openat2 is missing.
func Walk(r *Real) { r.walk.Store(true) }
