package web

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/vfs"
)

// diskUse is how much room an office takes.
type diskUse struct {
	Parts []diskPart // the largest first
	Bytes int64
	Files int
}

// diskPart is one kind of what an office keeps.
type diskPart struct {
	Name  string
	Why   string // what it is for
	Bytes int64  // about: whole blocks, and a file with several names counts once
	Files int
}

// block is in what steps a file takes room, as nearly everywhere.
const block = 4096

// diskOf adds up what is in the office and in mailboxes elsewhere, until ctx
// ends. What can't be looked at counts nothing.
func diskOf(ctx context.Context, o *office.Office) diskUse {
	sum := map[string]*diskPart{}
	count := func(part string) func(fi fs.FileInfo) {
		return func(fi fs.FileInfo) {
			p := sum[part]
			if p == nil {
				p = &diskPart{Name: part, Why: diskWhy(part)}
				sum[part] = p
			}
			names := 1
			if sys, ok := fi.Sys().(vfs.Sys); ok && !fi.IsDir() {
				names = max(1, sys.Nlink)
			}
			p.Bytes += (fi.Size() + block - 1) / block * block / int64(names)
			p.Files++
		}
	}
	names, _ := o.FS.ReadNames(".")
	for _, name := range names {
		walk(ctx, o.FS, name, count(diskPartOf(name)))
	}
	if book, err := o.Book(); err == nil {
		for e := range book.All() {
			if b, err := o.Box(e); err == nil && !b.Shared {
				walk(ctx, b.FS, b.Dir, count("mailboxes"))
			}
		}
	}
	var use diskUse
	for _, p := range sum {
		use.Parts = append(use.Parts, *p)
		use.Bytes += p.Bytes
		use.Files += p.Files
	}
	slices.SortFunc(use.Parts, func(a, b diskPart) int { return int(min(max(b.Bytes-a.Bytes, -1), 1)) })
	return use
}

// walk calls fn for a file, or for a directory and all that is in it.
func walk(ctx context.Context, fsys vfs.FS, name string, fn func(fs.FileInfo)) {
	fi, err := fsys.Lstat(name)
	if err != nil || ctx.Err() != nil {
		return
	}
	fn(fi)
	if !fi.IsDir() {
		return
	}
	names, _ := fsys.ReadNames(name)
	for _, n := range names {
		walk(ctx, fsys, path.Join(name, n), fn)
	}
}

// diskPartOf says to which part a name in the office belongs.
func diskPartOf(name string) string {
	switch name {
	case office.AgentsDir:
		return "mailboxes"
	case office.MessagesDir, office.JournalDir, office.TranscriptsDir, office.ApprovalsDir:
		return name
	}
	if strings.HasPrefix(name, "audit.git") {
		return "audit"
	}
	return "other"
}

func diskWhy(part string) string {
	return map[string]string{
		"mailboxes": "what agents got and sent; handled mail is kept", "messages": "the office's own copy of every message",
		"journal": "the record of every event", "transcripts": "what people read as text", "approvals": "what people decided",
		"audit": "the history in git", "other": "registry, debts, settings",
	}[part]
}

// share is how many hundredths of the whole a part is.
func (u diskUse) share(p diskPart) int {
	if u.Bytes == 0 {
		return 0
	}
	return int(100 * p.Bytes / u.Bytes)
}
