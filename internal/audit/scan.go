package audit

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/transcript"
	"github.com/postroom/postroom/internal/vfs"
)

// roots are what is audited, besides messages, in the order in which it is
// committed: the journal first, so that even the first of several commits holds
// the head that it names.
func roots() []string {
	return []string{journal.Dir, registry.File, config.OfficeFile, approvals, transcript.Dir}
}

const approvals = office.ApprovalsDir

// slop allows for the coarse clock of file systems.
const slop = 2 * time.Second

// scan compares the office with the last commit.
type scan struct {
	a     *Audit
	g     *git
	tip   string    // "": nothing is committed yet
	since time.Time // files and directories older than that, with the same size, did not change
	full  bool

	put     func(path string, f vfs.File, size int64) error
	drop    func(path string) error
	skipped int
}

// known is a file in the last commit.
type known struct {
	oid  string
	size int64
}

func (s *scan) all(ctx context.Context) error {
	for _, root := range roots() {
		if err := s.root(ctx, root); err != nil {
			return err
		}
	}
	return s.messages(ctx)
}

// root compares one file or directory, which holds few enough files to keep
// their names in memory.
func (s *scan) root(ctx context.Context, root string) error {
	before := map[string]known{}
	err := s.tree(ctx, func(path string, k known) error {
		before[path] = k
		return nil
	}, "-r", "-l", root)
	if err != nil {
		return err
	}
	now, err := s.files(root)
	if err != nil {
		return err
	}
	for _, path := range now {
		k, was := before[path]
		delete(before, path)
		if err := s.file(path, k, was); err != nil {
			return err
		}
	}
	for _, path := range sortedKeys(before) {
		if err := s.drop(path); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func sortedKeys(m map[string]known) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// files lists the regular files at or below a path, sorted.
func (s *scan) files(path string) ([]string, error) {
	fi, err := s.a.FS.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, storeError(path, err)
	case fi.Mode().IsRegular():
		return []string{path}, nil
	case !fi.IsDir():
		s.skipped++ // a symlink or a device is nothing of ours
		return nil, nil
	}
	names, err := s.a.FS.ReadNames(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, storeError(path, err)
	}
	slices.Sort(names)
	var list []string
	for _, name := range names {
		if !s.ours(path, name) {
			continue
		}
		below, err := s.files(path + "/" + name)
		if err != nil {
			return nil, err
		}
		list = append(list, below...)
	}
	return list, nil
}

// ours reports whether an office gives such a name. Temporary files come and
// go; anything else is counted.
func (s *scan) ours(dir, name string) bool {
	if strings.Contains(name, ".tmp-") {
		return false
	}
	if dir == approvals && (name == ".done" || name == ".rejected") {
		return true
	}
	if dir == journal.Dir && !strings.HasSuffix(name, ".jsonl") {
		return false // what was torn off; the journal says so
	}
	ok := name != "" && name[0] != '.'
	for _, c := range name {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-+@~", c))
	}
	if !ok {
		s.skipped++
	}
	return ok
}

// file commits one file if it is new or changed.
func (s *scan) file(path string, k known, was bool) error {
	f, err := s.a.FS.OpenFile(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, vfs.ErrNotRegular) {
		if was {
			return s.drop(path)
		}
		return nil
	}
	if err != nil {
		return storeError(path, err)
	}
	defer f.Close()
	fi, err := f.Stat()
	switch {
	case err != nil:
		return storeError(path, err)
	case !fi.Mode().IsRegular():
		return nil
	}
	if was {
		same := !s.full && fi.Size() == k.size && fi.ModTime().Before(s.since.Add(-slop))
		if !same {
			oid, err := blobID(f, fi.Size())
			if err != nil {
				return storeError(path, err)
			}
			same = oid == k.oid
		}
		if same {
			return nil
		}
	}
	return s.put(path, f, fi.Size())
}

// blobID is what git calls a file of this content.
func blobID(f io.ReaderAt, size int64) (string, error) {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", size)
	if _, err := io.CopyN(h, io.NewSectionReader(f, 0, size), size); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// messages compares the office's copies, month by month. They never change, so
// a month whose directory did not change is as it was.
func (s *scan) messages(ctx context.Context) error {
	before := map[string]bool{}
	err := s.tree(ctx, func(path string, _ known) error {
		before[path] = true
		return nil
	}, office.MessagesDir+"/")
	if err != nil {
		return err
	}
	months, err := s.a.FS.ReadNames(office.MessagesDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return storeError(office.MessagesDir, err)
	}
	slices.Sort(months)
	for _, m := range months {
		dir := office.MessagesDir + "/" + m
		fi, err := s.a.FS.Lstat(dir)
		if err != nil || !fi.IsDir() || !s.ours(office.MessagesDir, m) {
			continue
		}
		was := before[dir]
		delete(before, dir)
		if was && !s.full && fi.ModTime().Before(s.since.Add(-slop)) {
			continue
		}
		if err := s.month(ctx, dir, was); err != nil {
			return err
		}
	}
	for dir := range before {
		if err := s.drop(dir); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// month merges a directory's names with those in the last commit, which git
// lists in the same order.
func (s *scan) month(ctx context.Context, dir string, was bool) error {
	names, err := s.a.FS.ReadNames(dir)
	if err != nil {
		return storeError(dir, err)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !s.ours(dir, n) })
	slices.Sort(names)
	next := 0
	upTo := func(name string) error { // names before it are new
		for ; next < len(names) && (name == "" || names[next] < name); next++ {
			if err := s.file(dir+"/"+names[next], known{}, false); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	if was {
		err = s.tree(ctx, func(path string, k known) error {
			name := path[len(dir)+1:]
			if err := upTo(name); err != nil {
				return err
			}
			if next == len(names) || names[next] != name {
				return s.drop(path)
			}
			next++
			if !s.full {
				return nil
			}
			return s.file(path, k, true)
		}, dir+"/")
		if err != nil {
			return err
		}
	}
	return upTo("")
}

// tree calls fn with the files of the last commit, in git's order.
func (s *scan) tree(ctx context.Context, fn func(path string, k known) error, args ...string) error {
	if s.tip == "" {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	dog := watchdog(s.g.a.stall(), cancel)
	defer dog.Stop()
	paths, flags := args[len(args)-1:], args[:len(args)-1]
	cmd, said := s.g.command(ctx, slices.Concat([]string{"ls-tree", "-z"}, flags, []string{s.tip, "--"}, paths)...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return s.g.failure(ctx, "ls-tree", err, said)
	}
	lines := bufio.NewReaderSize(out, 64<<10)
	var failed error
	for failed == nil {
		line, err := lines.ReadBytes(0)
		if err != nil {
			break
		}
		dog.Reset(s.g.a.stall())
		path, k, ok := parseTree(bytes.TrimSuffix(line, []byte{0}))
		if ok {
			failed = fn(path, k)
		}
	}
	if failed != nil {
		cancel(failed)
		cmd.Wait()
		return failed
	}
	if err := cmd.Wait(); err != nil {
		return s.g.failure(ctx, "ls-tree", err, said)
	}
	return nil
}

// parseTree takes a line of ls-tree, with or without a size.
func parseTree(line []byte) (path string, k known, ok bool) {
	meta, name, ok := strings.Cut(string(line), "\t")
	f := strings.Fields(meta)
	if !ok || len(f) < 3 {
		return "", known{}, false
	}
	k.oid, k.size = f[2], -1
	if len(f) > 3 {
		if n, err := strconv.ParseInt(f[3], 10, 64); err == nil {
			k.size = n
		}
	}
	return name, k, true
}

// watchdog ends a context when nobody resets it.
func watchdog(limit time.Duration, cancel context.CancelCauseFunc) *time.Timer {
	return time.AfterFunc(limit, func() { cancel(errStalled) })
}
