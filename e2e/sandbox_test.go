//go:build e2e && linux

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// sandboxed runs post where nothing below the desk may be written but the
// mailbox: read-only binds in a mount namespace of its own.
func (d *desk) sandboxed(writable string, args ...string) ran {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	const script = `mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && mount --bind "$2" "$2" && mount -o remount,bind,rw "$2" && shift 2 && exec "$@"`
	argv := append([]string{"-c", script, "sh", d.root, writable, filepath.Join(programs, "post")}, d.args(args)...)
	cmd := exec.CommandContext(ctx, "sh", argv...)
	cmd.Dir, cmd.Env = "/", append(d.env, "POSTROOM_SESSION=sandbox")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: unix.CLONE_NEWNS}
	return d.wait(cmd, args)
}

// An agent that may write nothing but its own mailbox takes part: what it sends
// is stored, and whoever else is about moves it (design §3).
func TestSandboxedSender(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "bob")
	d.join("inner") // a mailbox in the office
	outside := filepath.Join(d.root, "work", "outer", ".mail")
	d.join("outer", "--mailbox", outside)
	for _, c := range []struct{ who, box string }{{"inner", d.box("inner")}, {"outer", outside}} {
		args := []string{"send", "bob", "--as", c.who, "--act", "request", "-s", "s", "-m", "from within, " + c.who}
		r := d.sandboxed(c.box, args...)
		r.want(4, "stored, not yet delivered: .*sandbox.* Do not resend.")
		if d.look().has("bob", r.id()) {
			t.Fatal("the sandbox leaks")
		}
		d.sandboxed(c.box, args...).want(4, "already sent: .* state stored|stored, not yet delivered")
		d.sandboxed(c.box, "inbox", "--as", c.who).want(0, "")
		// bob waits, and by that moves the mail.
		d.ok("wait", "--as", "bob", "--from", c.who, "--timeout", "30s")
		if id := d.once("from within, "+c.who, "bob"); id != r.id() {
			t.Fatalf("%s became %s", r.id(), id)
		}
		d.ok("reply", r.id(), "--as", "bob", "--act", "done", "-m", "it is done")
		d.sandboxed(c.box, "wait", "--as", c.who, "--reply-to", r.id(), "--timeout", "30s").want(0, "done from bob")
		if out := d.sandboxed(c.box, "read", "next", "--as", c.who); !strings.Contains(out.out, "it is done") || out.exit != 0 {
			t.Fatalf("%v", out)
		}
	}
	d.ok("route")
	d.whole()
}

// A workspace's mailbox that git clean emptied loses nothing in silence.
func TestCleanedWorkspace(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann")
	ws := filepath.Join(d.root, "work", "bob")
	box := filepath.Join(ws, ".mail")
	d.join("bob", "--mailbox", box)
	git := func(args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = ws, append(d.env, "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q")
	before := d.send("ann", "bob", "before the cleaning")
	if out := git("status", "--porcelain"); out != "" {
		t.Fatalf("git sees the mailbox: %s", out)
	}
	git("clean", "-fdxq")
	if _, err := os.Stat(box); err == nil {
		t.Fatal("git left the mailbox")
	}
	r := d.post("inbox", "--as", "bob")
	if r.exit == 0 {
		t.Fatalf("a mailbox that is gone looks empty: %v", r)
	}
	r = d.post("send", "bob", "--as", "ann", "-s", "s", "-m", "after the cleaning")
	r.want(4, "stored, not yet delivered: .* Do not resend.")
	if doc := d.post("doctor"); doc.exit != 1 || !strings.Contains(doc.out, "bob") {
		t.Fatalf("%v", doc)
	}
	d.post("doctor", "--fix")
	d.ok("route")
	s := d.look()
	if !s.has("bob", before) || !s.has("bob", r.id()) {
		t.Fatalf("not delivered again: %v", keys(s.boxes["bob"].inbox))
	}
	d.post("doctor").want(0, "")
}
