package web

import (
	"io/fs"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/vfs"
)

// fileStamp tells whether a file is still the one that was read.
type fileStamp struct{ is fs.FileInfo }

func stampOf(fsys vfs.FS) fileStamp {
	fi, err := fsys.Lstat(config.OfficeFile)
	if err != nil {
		return fileStamp{}
	}
	return fileStamp{fi}
}

func (a fileStamp) same(b fileStamp) bool {
	if a.is == nil || b.is == nil {
		return a.is == b.is
	}
	return vfs.SameFile(a.is, b.is) && a.is.Size() == b.is.Size() && a.is.ModTime().Equal(b.is.ModTime())
}
