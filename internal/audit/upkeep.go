package audit

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// Growth is how much the repository holds.
type Growth struct {
	Loose   int64  `json:"loose"`    // objects in files of their own
	LooseKB int64  `json:"loose_kb"` //
	Packs   int64  `json:"packs"`
	PackKB  int64  `json:"pack_kb"`
	Error   string `json:"error,omitempty"` // why packing failed
}

// The bounds above which objects are packed together. Every commit holds the
// day's journal anew; packed, only what was added to it counts.
const (
	looseMax   = 2000
	looseKBMax = 64 << 10
	packsMax   = 20
	packLimit  = 30 * time.Minute
)

// upkeep measures the repository and packs it when it has grown.
func (a *Audit) upkeep(ctx context.Context, s *State) {
	g, err := a.git()
	if err != nil {
		return
	}
	grown, err := g.count(ctx)
	if err == nil && (grown.Loose > looseMax || grown.LooseKB > looseKBMax || grown.Packs > packsMax) {
		a.sweep()
		if err = g.pack(ctx); err == nil {
			grown, err = g.count(ctx)
		}
	}
	if err != nil {
		grown.Error = mail.Neutralise(err.Error(), false)
	}
	s.Growth = &grown
}

// pack merges small packs and loose objects, never what is large already; an
// old git packs the loose objects, and everything now and then.
func (g *git) pack(ctx context.Context) error {
	_, err := g.run(ctx, packLimit, "repack", "-d", "-q", "--geometric=2")
	if err == nil || ctx.Err() != nil {
		return err
	}
	_, err = g.run(ctx, packLimit, "repack", "-a", "-d", "-q")
	return err
}

func (g *git) count(ctx context.Context) (Growth, error) {
	out, err := g.run(ctx, g.a.stall(), "count-objects", "-v")
	var grown Growth
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch key {
		case "count":
			grown.Loose = n
		case "size":
			grown.LooseKB = n
		case "packs":
			grown.Packs = n
		case "size-pack":
			grown.PackKB = n
		}
	}
	return grown, err
}

// sweep takes away what killed gits left behind: temporary packs and reports.
func (a *Audit) sweep() {
	for _, pattern := range []string{"objects/pack/tmp_*", "objects/tmp_*", "objects/??/tmp_obj_*", "fast_import_crash_*"} {
		paths, _ := filepath.Glob(a.inGit(filepath.FromSlash(pattern)))
		for _, path := range paths {
			if fi, err := os.Lstat(path); err == nil && time.Since(fi.ModTime()) > time.Hour {
				os.RemoveAll(path)
			}
		}
	}
}
