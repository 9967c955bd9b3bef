//go:build !linux

package audit

// usedBy cannot tell here.
func usedBy(lock, gitDir, officeDir string) (user string, certain bool) { return "", false }
