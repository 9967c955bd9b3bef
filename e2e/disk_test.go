//go:build e2e && linux

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// mount mounts until the scenario ends.
func mount(t *testing.T, source, target, kind string, flags uintptr, data string) {
	t.Helper()
	if err := unix.Mount(source, target, kind, flags, data); err != nil {
		t.Fatalf("mount %s: %v", target, err)
	}
	t.Cleanup(func() { unix.Unmount(target, unix.MNT_DETACH) })
}

// readOnly makes a file or directory read-only even for root.
func readOnly(t *testing.T, path string) {
	t.Helper()
	mount(t, path, path, "", unix.MS_BIND, "")
	must(t, unix.Mount("", path, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
}

// onSmallDisk is a desk whose office stands on a disk of 4 MiB.
func onSmallDisk(t *testing.T, agents ...string) (d *desk, disk string) {
	t.Helper()
	d = bareDesk(t)
	disk = filepath.Join(d.root, "disk")
	must(t, os.Mkdir(disk, 0o755))
	mount(t, "none", disk, "tmpfs", 0, "size=4m")
	d.office = filepath.Join(disk, "office")
	d.ok("init", d.office, "--person-check", "env")
	for _, a := range agents {
		d.join(a)
	}
	return d, disk
}

// fill leaves so many pages of 4 KiB free on a disk. It returns how to undo it.
func fill(t *testing.T, disk string, pages int) (free func()) {
	t.Helper()
	path := filepath.Join(disk, "ballast")
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	page := bytes.Repeat([]byte("x"), 4096)
	size := int64(0)
	for {
		if _, err := f.Write(page); err != nil {
			break
		}
		size += 4096
	}
	must(t, f.Truncate(max(0, size-int64(pages)*4096)))
	return func() { os.Remove(path) }
}

// Whatever a full disk stops, what was said is true, and nothing is lost or
// there twice once there is room.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	d, disk := onSmallDisk(t, "ann", "bob")
	seen := map[int]int{}
	for pages := range 40 {
		body := "page " + itoa(pages) + strings.Repeat(" and more", 700)
		args := []string{"send", "bob", "--as", "ann", "-s", "s", "-m", body, "--wait", "1s"}
		free := fill(t, disk, pages)
		r := d.post(args...)
		seen[r.exit]++
		s := d.look()
		switch r.exit {
		case 0:
			r.want(0, "delivered")
			if !s.has("bob", r.id()) {
				t.Fatalf("%v", r)
			}
		case 1:
			r.want(1, `FAILED\(store\): .*no space left on device`)
			if n := len(s.boxes["ann"].outbox); n != 0 {
				t.Fatalf("%d in the outbox after\n%v", n, r)
			}
		case 4:
			r.want(4, "stored, not yet delivered: .* Do not resend.")
			if _, waits := s.boxes["ann"].outbox[r.id()]; !waits {
				t.Fatalf("not in the outbox after\n%v", r)
			}
		default:
			t.Fatalf("%v", r)
		}
		free()
		d.ok("route")
		d.ok("route")
		d.whole()
		d.post(args...).want(0, "delivered|already sent")
		d.once(body, "bob")
		d.ok("done", d.once(body), "--as", "bob")
		if pages%8 == 7 { // room for the next ones
			d, disk = onSmallDisk(t, "ann", "bob")
		}
	}
	t.Logf("exit codes: %v", seen)
	if seen[0] == 0 || seen[1] == 0 {
		t.Fatalf("the disk was never full, or always: %v", seen)
	}
}

// In a read-only office nothing is stored, and it says so; reading works, and
// what could not be recorded as read stays unread.
func TestReadOnlyOffice(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	id := d.send("ann", "bob", "before")
	readOnly(t, d.office)
	d.post("send", "bob", "--as", "ann", "-m", "during").want(1, `FAILED\(store\): .*read-only file system`)
	d.post("join", "carl").want(4, "post: join: .*may not write the office")
	d.post("inbox", "--as", "bob").want(0, "ID ")
	r := d.post("read", id, "--as", "bob")
	if r.exit == 0 || !strings.Contains(r.out, "before") || !strings.Contains(r.err, "read-only file system") {
		t.Fatalf("%v", r)
	}
	if out := d.ok("inbox", "--as", "bob").out; !strings.Contains(out, id[len(id)-8:]) {
		t.Fatalf("no longer unread:\n%s", out)
	}
	if got := d.look().holding("during"); got != nil {
		t.Fatalf("stored: %v", got)
	}
}

// The lease cannot be opened for writing: not half a router.
func TestReadOnlyLease(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	lease := filepath.Join(d.office, "lease")
	t.Run("while it lasts", func(t *testing.T) {
		readOnly(t, lease)
		r := d.post("send", "bob", "--as", "ann", "-m", "hello")
		r.want(4, "stored, not yet delivered: .*may not write.* Do not resend.")
		if d.look().has("bob", r.id()) {
			t.Fatal("delivered without the lease")
		}
	})
	d.post("send", "bob", "--as", "ann", "-m", "hello").want(0, "already sent: .* state delivered")
	d.whole()
}
