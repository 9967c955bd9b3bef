package vfs

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"path"
)

// PutHint replaces a file as a whole, without a sync: for what is worth nothing
// after a crash. Writers side by side do not disturb each other; the last wins.
func PutHint(fsys FS, dir, name string, data []byte) error {
	var b [6]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	tmp := path.Join(dir, ".tmp-"+hex.EncodeToString(b[:])+"-"+name)
	f, err := fsys.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = fsys.Rename(tmp, path.Join(dir, name))
	}
	if err != nil {
		_ = fsys.Remove(tmp)
	}
	return err
}
