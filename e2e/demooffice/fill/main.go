// Command fill makes the office of package demooffice: fill [flags] DIR.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/postroom/postroom/e2e/demooffice"
)

func main() {
	var opt demooffice.Options
	flag.IntVar(&opt.Messages, "messages", demooffice.Messages, "about how many messages")
	flag.Uint64Var(&opt.Seed, "seed", 1, "the same seed tells the same stories")
	flag.StringVar(&opt.Version, "version", "dev", "of the programs that will use it")
	flag.BoolVar(&opt.Empty, "empty", false, "agents and channels only")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: fill [flags] DIR")
		os.Exit(2)
	}
	begin := time.Now()
	opt.Now = begin
	var err error
	if opt.Dir, err = filepath.Abs(flag.Arg(0)); err == nil {
		var made demooffice.Made
		if made, err = demooffice.Fill(opt); err == nil {
			fmt.Printf("%d agents, %d messages in %.1f s\n", made.Agents, made.Sent, time.Since(begin).Seconds())
			return
		}
	}
	fmt.Fprintln(os.Stderr, "fill:", err)
	os.Exit(1)
}
