package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
)

// build compiles the programs that are measured, as they are released.
func (b *bench) build() error {
	bin := filepath.Join(b.dir, "bin")
	for _, p := range []struct {
		to   *string
		name string
		pkg  string
	}{{&b.post, "post", "./cmd/post"}, {&b.postd, "postd", "./cmd/postd"}, {&b.hello, "hello", "./bench/ref/hello"}, {&b.sender, "sender", "./bench/ref/sender"}} {
		*p.to = filepath.Join(bin, p.name)
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", *p.to, p.pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // else the loader of shared libraries is measured
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w: %s", p.pkg, err, out)
		}
	}
	return nil
}

// env is the scrubbed environment of the programs.
func (b *bench) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.dir, "XDG_STATE_HOME=" + filepath.Join(b.dir, "state")}
}

// command runs one of the programs and fails on a non-zero exit.
func (b *bench) command(program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir = b.env(), b.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// makeOffice makes an office with n agents a0, a1, … whose mailboxes are in it.
func (b *bench) makeOffice(name string, n int) (dir string, names []string, err error) {
	dir = filepath.Join(b.dir, name)
	if _, err := b.command(b.post, "init", dir, "--person-check", "off"); err != nil {
		return "", nil, err
	}
	o, err := office.Open(dir, fillSystem(time.Now))
	if err != nil {
		return "", nil, err
	}
	reg, err := o.Registry()
	if err != nil {
		return "", nil, err
	}
	for i := range n {
		agent := fmt.Sprintf("a%d", i)
		names = append(names, agent)
		box := spool.Box{FS: o.FS, Dir: office.AgentsDir + "/" + agent, Shared: true}
		if err := box.Make(); err != nil {
			return "", nil, err
		}
		if err := reg.Add(registry.Entry{Name: agent, AID: aid(i), InboxPath: filepath.Join(dir, "agents", agent, "inbox"),
			Transcript: "_inbox_" + agent + ".md", Notify: []string{"none"}, Joined: o.Sys.Now()}); err != nil {
			return "", nil, err
		}
	}
	if err := reg.Save(o.FS); err != nil {
		return "", nil, err
	}
	return dir, names, settleDisk()
}

// aid is the stable id of agent i.
func aid(i int) string { return fmt.Sprintf("a-%012x", i) }
