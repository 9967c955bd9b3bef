// Command postd holds what post is too small for: the always-on router, the git
// audit, the adapters that need a network (design §2).
package main

import (
	"context"
	"os"
	"runtime"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/postd"
)

func main() {
	runtime.MemProfileRate = 0 // what the hub links turns it on, and nobody reads it
	os.Exit(cli.Main(context.Background(), cli.SystemEnv(version), postd.Commands(), os.Args[1:]))
}

// version is set by the build: -ldflags "-X main.version=1.2.3".
var version = "0.1.0"
