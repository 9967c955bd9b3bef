package audit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// git is the user's git, run in a world of its own.
type git struct {
	a    *Audit
	path string // absolute
}

// git finds git on a.Path; what stands in the working directory is not taken.
func (a *Audit) git() (*git, error) {
	for _, dir := range filepath.SplitList(a.Path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, "git")); err == nil {
			return &git{a, path}, nil
		}
	}
	return nil, &mail.Error{Op: "audit", Kind: mail.KindNotFound, Addr: "git", Err: errors.New("is not on PATH"),
		Hint: `install git, or set audit = "none" in postroom.toml; mail is not affected`}
}

// env is all that git gets to see of the environment. HOME is the repository:
// an old git that does not know GIT_CONFIG_GLOBAL finds no configuration there.
func (g *git) env() []string {
	dir := g.a.gitDir()
	env := []string{
		"PATH=" + g.a.Path, "LC_ALL=C", "HOME=" + dir, "XDG_CONFIG_HOME=" + dir,
		"GIT_DIR=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=true", "SSH_ASKPASS=true", "GIT_NO_REPLACE_OBJECTS=1",
	}
	for _, name := range []string{"TMPDIR", "SYSTEMROOT", "TEMP", "TMP"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// settings go with every command, whatever the repository's config says.
func settings() []string {
	var args []string
	for _, s := range []string{
		"core.hooksPath=" + os.DevNull, "commit.gpgSign=false", "tag.gpgSign=false",
		"gc.auto=0", "maintenance.auto=false", "core.fsmonitor=false",
		"core.fsync=committed", "fastimport.unpackLimit=100",
		"pack.threads=1", "pack.windowMemory=128m", "pack.deltaCacheSize=16m",
	} {
		args = append(args, "-c", s)
	}
	return args
}

// command makes a run of git that dies, with all its children, when ctx ends.
func (g *git) command(ctx context.Context, args ...string) (*exec.Cmd, *report) {
	cmd := exec.CommandContext(ctx, g.path, append(settings(), args...)...)
	cmd.Env, cmd.Dir = g.env(), g.a.gitDir()
	cmd.WaitDelay = time.Second
	ownGroup(cmd)
	said := &report{}
	cmd.Stderr = said
	return cmd, said
}

// run runs git to its end and returns what it printed, at most 1 MiB.
func (g *git) run(ctx context.Context, limit time.Duration, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errStalled)
	defer cancel()
	cmd, said := g.command(ctx, args...)
	var out bytes.Buffer
	cmd.Stdout = &capped{&out, 1 << 20}
	if err := cmd.Run(); err != nil {
		return "", g.failure(ctx, args[0], err, said)
	}
	return out.String(), nil
}

var errStalled = errors.New("it made no progress and was killed")

// failure says what git said.
func (g *git) failure(ctx context.Context, verb string, err error, said *report) error {
	e := &mail.Error{Op: "audit", Kind: mail.KindStore, Addr: "git " + verb, Err: err, Hint: `see "post audit status"; mail is not affected`}
	switch text := said.String(); {
	case errors.Is(context.Cause(ctx), errStalled):
		e.Kind, e.Err = mail.KindTimeout, errStalled
	case ctx.Err() != nil:
		e.Err = ctx.Err()
	case text != "":
		e.Err = errors.New(err.Error() + ": " + text)
	}
	return e
}

// prepare makes the repository if there is none. A half-made one is made whole.
func (g *git) prepare(ctx context.Context) error {
	dir := g.a.gitDir()
	fi, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.Mkdir(dir, 0o700); err != nil {
			return storeError(dir, err)
		}
	case err != nil:
		return storeError(dir, err)
	case !fi.IsDir():
		return storeError(dir, errors.New("is no directory"))
	}
	if _, err := os.Lstat(filepath.Join(dir, "postroom")); err == nil {
		return nil
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "--template=", "--shared=0600"},
		{"symbolic-ref", "HEAD", ref},
	} {
		if _, err := g.run(ctx, g.a.stall(), args...); err != nil {
			return err
		}
	}
	note := "The audit of a Postroom office. Only \"post audit\" writes here; see docs/audit.md.\n"
	if err := os.WriteFile(filepath.Join(dir, "postroom"), []byte(note), 0o600); err != nil {
		return storeError(dir, err)
	}
	return nil
}

// tip is the newest commit, "" if there is none yet.
func (g *git) tip(ctx context.Context) (string, error) {
	out, err := g.run(ctx, g.a.stall(), "for-each-ref", "--format=%(objectname)", ref)
	return strings.TrimSpace(out), err
}

// report keeps the beginning of what a program said, on one line: git says
// what is wrong first, and advice after it.
type report struct{ buf []byte }

const reportMax = 300

func (r *report) Write(p []byte) (int, error) {
	r.buf = append(r.buf, p[:min(len(p), reportMax-len(r.buf))]...)
	return len(p), nil
}

func (r *report) String() string {
	return mail.Neutralise(strings.Join(strings.Fields(strings.ToValidUTF8(string(r.buf), "")), " "), false)
}

// capped drops what is over the limit.
type capped struct {
	w    io.Writer
	left int
}

func (c *capped) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	_, err := c.w.Write(p[:n])
	return len(p), err
}
