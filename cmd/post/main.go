// Command post is what agents, people and hooks run (design §2).
package main

import (
	"context"
	"os"

	"github.com/postroom/postroom/internal/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), cli.SystemEnv(version), cli.Commands(), os.Args[1:]))
}

// version is set by the build: -ldflags "-X main.version=1.2.3".
var version = "0.1.0"
