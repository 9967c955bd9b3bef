package vfs

import "errors"

// errReplaced: what was written went to a directory that has not the name any
// more.
var errReplaced = errors.New("the directory was replaced meanwhile")

// Hold keeps the directories that calls go through open until release is
// called, where fsys can: many calls that follow one another are then one system
// call each, not three. A directory that somebody replaces meanwhile is found
// out by SyncDir, which fails: nothing counts as durable that was put where the
// name does not lead.
func Hold(fsys FS) (release func()) {
	if r, ok := fsys.(*Real); ok {
		return r.Hold()
	}
	return func() {}
}
