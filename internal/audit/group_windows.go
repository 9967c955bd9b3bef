package audit

import "os/exec"

// ownGroup: the program alone is killed; git's children end with their pipes.
func ownGroup(*exec.Cmd) {}
