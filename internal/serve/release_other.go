//go:build !linux

package serve

// releaseProgram does nothing here.
func releaseProgram() {}
