// Package journal is the append-only, hash-chained record of every event in
// the life of every message: journal/<UTC date>.jsonl (design §3, §8, §14;
// spool-format.md §8).
//
// Invariants. Each record holds the SHA-256 of the line before it, across
// files, and numbers have no gaps. Records only ever go to the end of the
// newest file, whatever the clock says; a new date begins a new file after the
// old one is durable. All before a settled record is durable before it is
// written, so only what follows the last one can be torn. A torn end is kept
// beside the journal, never thrown away, and its place is recorded. A line
// that was changed is reported, not mended. A parked record says that all before
// it was written, by passes of one boot of the machine: as long as that lasts,
// nothing of it is missing.
//
// The chain proves nothing against somebody who rewrites all of it: keep a
// Head elsewhere and give it to Verify.
//
// A Journal belongs to the holder of the router's lease and to one goroutine.
// Each, EachMatching and Verify read, at any time, by anyone.
package journal

import (
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// Dir is the journal's directory in the office.
const Dir = "journal"

const (
	ext        = ".jsonl"
	tornPrefix = ".torn-"
)

// Head names one record and proves, with the chain, all before it.
type Head struct {
	N    uint64 `json:"n"`
	Hash string `json:"hash"` // SHA-256 of the record's line
}

// fileOf returns the name of the file for records of the time at.
func fileOf(at time.Time) string { return at.UTC().Format(time.DateOnly) + ext }

func path(file string) string { return Dir + "/" + file }

// files lists the journal's files, oldest first.
func files(fsys vfs.FS) ([]string, error) {
	names, err := fsys.ReadNames(Dir)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(n string) bool {
		date, ok := strings.CutSuffix(n, ext)
		_, err := time.Parse(time.DateOnly, date)
		return !ok || err != nil
	})
	slices.Sort(names)
	return names, nil
}

func failure(op, file string, kind mail.Kind, err error, hint string) error {
	return &mail.Error{Op: op, Kind: kind, Addr: file, Err: err, Hint: hint}
}
