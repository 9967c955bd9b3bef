package approval

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// Decided lists what was decided last, newest first, at most limit. It goes by
// the times of the files, which were written when it was decided, and reads no
// more of them than it returns. One that cannot be read is left out.
func Decided(fsys vfs.FS, limit int) ([]Closed, error) {
	ids, err := list(fsys, doneDir)
	if err != nil {
		return nil, err
	}
	type dated struct {
		id string
		at time.Time
	}
	all := make([]dated, 0, len(ids))
	for _, id := range ids {
		fi, err := fsys.Lstat(donePath(id))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, storeError("read", fsys.Path(donePath(id)), err)
		}
		all = append(all, dated{id, fi.ModTime()})
	}
	slices.SortFunc(all, func(a, b dated) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.id, b.id)) })
	var out []Closed
	for _, d := range all {
		if len(out) == limit {
			break
		}
		c, err := loadDone(fsys, d.id)
		if kind := mail.KindOf(err); kind == mail.KindStore {
			return nil, err
		}
		if err == nil {
			out = append(out, *c)
		}
	}
	return out, nil
}
