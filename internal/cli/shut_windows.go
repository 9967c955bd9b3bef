package cli

import "os"

// shut: a missing handle fails when it is written to.
func shut(*os.File) bool { return false }
