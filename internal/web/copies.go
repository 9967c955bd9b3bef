package web

import (
	"errors"
	"io/fs"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// copyRow is one copy of a message's file, and whether it is what was delivered.
type copyRow struct {
	Whose string
	Path  string // within the office or the mailbox
	Says  string
	Tone  string
	data  []byte
}

// copiesMax is how many recipients' copies are compared.
const copiesMax = 20

// copiesOf reads the copies of a message and compares their digests with the
// journal's.
func copiesOf(d *cli.Desk, life *mailbox.Life) (out []copyRow) {
	id := life.Message.ID
	if row, ok := copyAt(d.Office.FS, office.MessagePath(id), life.Digest); ok {
		row.Whose = "the office"
		out = append(out, row)
	} else if len(life.Where.Reached) > 0 && life.Digest != "" {
		out = append(out, copyRow{Whose: "the office", Path: office.MessagePath(id), Says: "is not there: post verify", Tone: "bad"})
	}
	if box, ok := boxOf(d, life.Message.From); ok {
		for _, dir := range []string{spool.Outbox, spool.Sent, spool.Failed} {
			if row, ok := copyAt(box.FS, box.Path(dir, spool.FileName(id)), life.Digest); ok {
				row.Whose, row.Path = life.Message.From, dir+"/"+spool.FileName(id)
				out = append(out, row)
			}
		}
	}
	for i, a := range life.Where.Reached {
		if i == copiesMax {
			return append(out, copyRow{Whose: plural(len(life.Where.Reached)-i, "", "more recipients"), Says: "not compared here: post verify"})
		}
		box, ok := boxOf(d, a.Name)
		if !ok {
			continue
		}
		for _, dir := range []string{spool.Inbox, spool.Done} {
			if row, ok := copyAt(box.FS, box.Path(dir, spool.FileName(id)), life.Digest); ok {
				row.Whose, row.Path = a.Name, dir+"/"+spool.FileName(id)
				out = append(out, row)
			}
		}
	}
	return out
}

func boxOf(d *cli.Desk, name string) (spool.Box, bool) {
	if name == mail.NameHuman || name == mail.NamePostroom {
		return d.Office.SystemBox(name), true
	}
	e, ok := d.Registry.Entry(name)
	if !ok {
		return spool.Box{}, false
	}
	box, err := d.Office.Box(e)
	return box, err == nil
}

// copyAt reads one copy; ok is false if there is none.
func copyAt(fsys vfs.FS, path string, want mail.Digest) (row copyRow, ok bool) {
	data, _, err := spool.ReadMail(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return row, false
	}
	row.Path, row.data = path, data
	switch {
	case err != nil:
		row.Says, row.Tone = "cannot be read: "+err.Error(), "bad"
	case want == "":
		row.Says = "the journal has nothing to compare it with"
	case mail.DigestOf(data) == want:
		row.Says, row.Tone = "is what was delivered", "good"
	default:
		row.Says, row.Tone = "is NOT what was delivered: post verify", "bad"
	}
	return row, true
}
