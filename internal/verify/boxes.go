package verify

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

func sameFile(a, b fs.FileInfo) bool { return vfs.SameFile(a, b) && a.Size() == b.Size() }

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

func (b *box) indexPath() string {
	if b.err != nil {
		return b.path
	}
	return b.Box.FS.Path(b.Box.Path(spool.Index))
}

// finished reports whether the owner's receipts say that a message is done.
func (b *box) finished(k key) bool {
	if b.done == nil {
		b.done = map[key]bool{}
		if b.err == nil {
			eachLine(b.Box.FS, b.Box.Path(spool.Receipts), func(line []byte, _ int, _ bool) error {
				r, err := mail.ParseReceipt(line)
				over := r.Event == mail.EventDone || b.Far() && (r.Event == mail.EventArrived || r.Event == mail.EventRefused)
				if err == nil && over {
					if k, ok := keyOf(r.ID); ok {
						b.done[k] = true
					}
				}
				return nil
			})
		}
	}
	return b.done[k]
}

// indexes compares each index with the deliveries.
func (v *run) indexes() error {
	for _, b := range v.boxes {
		if b.err != nil {
			continue
		}
		prev, lines := uint64(0), 0
		err := eachLine(b.Box.FS, b.Box.Path(spool.Index), func(line []byte, n int, whole bool) error {
			lines++
			l, err := mail.ParseIndexLine(line)
			switch {
			case !whole:
				v.rep.InFlight++ // torn: the next pass cuts it
				return nil
			case err != nil:
				v.found(Finding{Check: Index, Where: b.indexPath(), Line: n, Agent: b.Name, Text: "the line is no index line"})
				return nil
			}
			v.indexLine(b, l, n, prev)
			prev = l.Seq
			return v.step("indexes", n)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		b.lost = lines == 0
	}
	return nil
}

func (v *run) indexLine(b *box, l mail.IndexLine, n int, prev uint64) {
	f := Finding{Check: Index, Where: b.indexPath(), Line: n, ID: l.ID, Agent: b.Name}
	if l.Seq <= prev {
		f.Text = "sequence number " + strconv.FormatUint(l.Seq, 10) + " stands behind " + strconv.FormatUint(prev, 10)
		v.found(f)
		f.Text = ""
	}
	m := v.book.find(l.ID)
	d := v.book.delivery(m, b.AID)
	switch {
	case d == nil:
		f.Text = "the journal knows no delivery of " + string(l.ID) + " to " + b.Name
		v.suspect(f)
		return
	case d.indexed:
		f.Text = string(l.ID) + " has a line already"
	case l.Digest != digestText(m.digest):
		f.Text = "the line of " + string(l.ID) + " has another digest than the journal"
	case l.Seq != d.seq:
		f.Text = string(l.ID) + " has number " + strconv.FormatUint(l.Seq, 10) + ", and in the journal " + strconv.FormatUint(d.seq, 10)
	}
	d.indexed = true
	if f.Text != "" {
		f.Record = uint64(d.n)
		v.found(f)
	}
}

// mailboxes looks for files in the inboxes that nobody delivered.
func (v *run) mailboxes() error {
	for _, b := range v.boxes {
		for _, dir := range []string{spool.Inbox, spool.Done} {
			if b.err != nil {
				continue
			}
			err := eachName(b.Box.FS, b.Box.Path(dir), func(name string) error {
				id, ok := fileID(name)
				if ok && v.book.delivery(v.book.find(id), b.AID) == nil {
					v.suspect(Finding{Check: Mailbox, Where: b.Box.FS.Path(b.Box.Path(dir, name)), ID: id, Agent: b.Name,
						Text: string(id) + " is in the mailbox of " + b.Name + " and the journal knows no such delivery"})
				}
				return v.step("mailboxes", 0)
			})
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// copies looks for office copies that the journal does not know.
func (v *run) copies() error {
	months, err := v.o.FS.ReadNames(office.MessagesDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, month := range months {
		if spool.Hidden(month) {
			continue
		}
		err := eachName(v.o.FS, office.MessagesDir+"/"+month, func(name string) error {
			id, ok := fileID(name)
			if spool.Hidden(name) {
				return nil
			}
			f := Finding{Check: Copy, Where: office.MessagesDir + "/" + month + "/" + name, ID: id}
			switch m := v.book.find(id); {
			case !ok || id.Month() != month:
				f.Text = "the file is no message of that month"
				v.found(f)
			case m == nil || !m.known:
				f.Text = "the journal does not know " + string(id)
				v.suspect(f)
			}
			return v.step("copies", 0)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// authors are all who have an outbox.
func (v *run) authors() []office.Author {
	out := []office.Author{v.o.SystemAuthor(office.Human), v.o.SystemAuthor(office.Postroom)}
	for _, b := range v.boxes {
		if b.err == nil {
			out = append(out, b.Author)
		}
	}
	return out
}

// sent compares the senders' archives with what was delivered.
func (v *run) sent() error {
	for _, a := range v.authors() {
		err := eachName(a.Box.FS, a.Box.Path(spool.Sent), func(name string) error {
			id, ok := fileID(name)
			if !ok {
				return nil
			}
			v.sentFile(a, id, name)
			return v.step("archives", 0)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (v *run) sentFile(a office.Author, id mail.ID, name string) {
	path := a.Box.Path(spool.Sent, name)
	f := Finding{Check: Sent, Where: a.Box.FS.Path(path), ID: id, Agent: a.Name}
	m := v.book.find(id)
	if m == nil || !m.known {
		f.Text = "the journal does not know " + string(id)
		v.suspect(f)
		return
	}
	if copied, err := v.o.FS.Lstat(office.MessagePath(id)); err == nil {
		if info, err := a.Box.FS.Lstat(path); err == nil && sameFile(info, copied) {
			return // what is wrong with it was said of the copy
		}
	}
	data, _, err := spool.ReadMail(a.Box.FS, path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && mail.DigestOf(data) == digestText(m.digest) {
		return
	}
	f.Record, f.Text = uint64(m.n), string(id)+" in the archive of "+a.Name+" is not what was delivered"
	v.found(f)
}

// fileID returns the id that a mail file's name gives.
func fileID(name string) (mail.ID, bool) {
	stem, ok := strings.CutSuffix(name, ".json")
	id := mail.ID(stem)
	return id, ok && id.Valid()
}

// eachLine calls fn with the lines of a file, without their ends. A line that
// is longer than any that is written is cut in pieces, none of which parses.
func eachLine(fsys vfs.FS, name string, fn func(line []byte, n int, whole bool) error) error {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	var long []byte
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(long) < maxLine {
				long = append(long, line...)
			}
			line, err = in.ReadSlice('\n')
		}
		if len(long) > 0 {
			line = append(long, line...)
			long = line[:0]
		}
		if err != nil && err != io.EOF {
			return err
		}
		if len(line) > 0 {
			whole := err == nil
			if whole {
				line = line[:len(line)-1]
			}
			if err := fn(line, n, whole); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// maxLine bounds what is kept of one line.
const maxLine = 4 << 20

// lister is a directory that gives its names in pieces.
type lister interface {
	Readdirnames(n int) ([]string, error)
}

// eachName calls fn with every name in a directory, without holding all of
// them where the system lets us.
func eachName(fsys vfs.FS, dir string, fn func(name string) error) error {
	f, err := fsys.OpenFile(dir, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	l, ok := f.(lister)
	if !ok {
		names, err := fsys.ReadNames(dir)
		return errors.Join(err, eachOf(names, fn))
	}
	for {
		names, err := l.Readdirnames(4096)
		if err := eachOf(names, fn); err != nil {
			return err
		}
		if err == io.EOF || err == nil && len(names) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func eachOf(names []string, fn func(string) error) error {
	for _, n := range names {
		if err := fn(n); err != nil {
			return err
		}
	}
	return nil
}
