package doctor

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/debt"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

const (
	stuckAfter = time.Minute // in an outbox
	strayAfter = time.Hour   // a temporary file
)

// author is one outbox with its owner's name.
type author struct {
	name string
	spool.Box
}

func (x *exam) authors() []author {
	out := []author{{office.Human, x.o.SystemBox(office.Human)}, {office.Postroom, x.o.SystemBox(office.Postroom)}}
	for _, b := range x.boxes {
		if b.ok {
			out = append(out, author{b.entry.Name, b.Box})
		}
	}
	return out
}

// checkOutboxes looks for what is never sent and for what is stuck.
func (x *exam) checkOutboxes() {
	parked := router.Parked(x.o)
	for _, a := range x.authors() {
		var never []string
		for _, n := range x.names(a.FS, a.Path(spool.Outbox)) {
			if slices.Contains(boxDirs(), spool.Outbox+"/"+n) || strings.HasPrefix(n, ".tmp-") {
				continue
			}
			if spool.Hidden(n) || !strings.HasSuffix(n, ".json") {
				never = append(never, n)
			} else if !parked[mail.ID(strings.TrimSuffix(n, ".json"))] {
				x.stuck(a, n)
			}
		}
		if len(never) > 0 {
			slices.Sort(never)
			file := a.FS.Path(a.Path(spool.Outbox, never[0]))
			x.add(Finding{Check: "outbox", Severity: Warning, Where: file, What: count(len(never), "file", "files") + " in the outbox of " + a.name + " will never be sent: " + some(never),
				Why: "only names that end in .json, do not begin with a dot and hold no .tmp- are sent; perhaps it was meant as mail",
				Fix: "mv " + quote(file) + " " + quote(a.FS.Path(a.Path(spool.Outbox, mailName(never[0]))))})
		}
	}
}

// mailName turns a name that is never sent into one that is.
func mailName(n string) string {
	n = strings.TrimLeft(strings.ReplaceAll(n, ".tmp-", "-"), ".")
	return strings.TrimSuffix(n, ".json") + ".json"
}

// stuck tells of an outbox entry that should have gone long ago, and why it has
// not, as far as that can be seen.
func (x *exam) stuck(a author, name string) {
	d, err := a.Draft(name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	file := a.FS.Path(a.Path(spool.Outbox, name))
	f := Finding{Check: "outbox", Severity: Error, Where: file, Why: "who wrote it believes that it is on its way", Fix: "post route"}
	if err != nil {
		f.What, f.Fix = "mail of "+a.name+" cannot be read: "+err.Error(), "chmod 600 "+quote(file)
		x.add(f)
		return
	}
	since := d.Info.ModTime()
	m, perr := mail.Parse(d.Data)
	stamped := d.Err == nil && perr == nil && m.Envelope != nil
	if stamped {
		since, f.ID = m.ID.Time(), m.ID
		x.otherOffice(file, a, m)
	}
	waited := x.Sys.Now().Sub(since)
	if waited < stuckAfter && waited > -stuckAfter {
		return
	}
	why := "nobody routes"
	switch broken := x.brokenRecipients(m, stamped); {
	case d.Err != nil:
		why, f.Fix = "it is no mail file ("+d.Err.Error()+")", "remove it: rm -r "+quote(file)
	case len(broken) > 0:
		why, f.Fix = "the mailbox of "+some(broken)+" cannot be written", FixCommand+", then post route"
	case x.o.CheckWritable() != nil:
		why, f.Fix = "the office may not be written (see above)", ""
	}
	f.What = "mail of " + a.name + " has been in the outbox for " + ago(waited) + ": " + why
	x.add(f)
}

func (x *exam) brokenRecipients(m *mail.Message, stamped bool) (out []string) {
	if !stamped {
		return nil
	}
	for _, b := range x.boxes {
		if !b.ok && (slices.Contains(m.Envelope.Recipients, b.entry.AID) || slices.Contains(m.Envelope.CC, b.entry.AID)) {
			out = append(out, b.entry.Name)
		}
	}
	return out
}

// otherOffice tells of mail that a tool stamped for another office.
func (x *exam) otherOffice(file string, a author, m *mail.Message) {
	if m.Office == x.o.Config.ID {
		return
	}
	x.add(Finding{Check: "stale copy", Severity: Warning, Where: file, ID: m.ID, What: "mail of " + a.name + " was stamped for the office " + mail.Neutralise(m.Office, false) + ", and this is " + x.o.Config.ID,
		Why: "a tool or session of " + a.name + " takes another directory for its office", Fix: "post where, in the session of " + a.name})
}

// checkFailed tells of files that could not be sent.
func (x *exam) checkFailed() {
	for _, a := range x.authors() {
		var failed []string
		for _, n := range x.names(a.FS, a.Path(spool.Failed)) {
			if !spool.Hidden(n) && !strings.HasSuffix(n, ".why.json") {
				failed = append(failed, n)
			}
		}
		if len(failed) == 0 {
			continue
		}
		slices.Sort(failed)
		last := failed[len(failed)-1]
		reason := "without a reason beside it"
		if why, err := a.ReadWhy(last); err == nil {
			reason = mail.Neutralise(why.Reason, false)
		}
		file := a.FS.Path(a.Path(spool.Failed, last))
		x.add(Finding{Check: "failed mail", Severity: Warning, Where: file, What: count(len(failed), "file", "files") + " of " + a.name + " could not be sent; " + last + ": " + reason,
			Why: "nobody received it; its author was told once",
			Fix: "mend the file where it lies and run post route, or if it is not wanted: rm " + quote(file) + " " + quote(file+".why.json")})
	}
}

// checkStrays looks for temporary files that a crash left.
func (x *exam) checkStrays() {
	sweep := func(what string, fsys vfs.FS, dirs ...string) {
		var stray []string
		for _, d := range dirs {
			for _, n := range x.names(fsys, d) {
				fi, err := fsys.Lstat(path.Join(d, n))
				if strings.HasPrefix(n, ".tmp-") && err == nil && fi.Mode().IsRegular() && x.Sys.Now().Sub(fi.ModTime()).Abs() > strayAfter {
					stray = append(stray, path.Join(d, n))
				}
			}
		}
		if len(stray) > 0 {
			slices.Sort(stray)
			x.add(Finding{Check: "temporary files", Severity: Warning, Where: fsys.Path(stray[0]), What: count(len(stray), "temporary file is", "temporary files are") + " left in " + what,
				Why: "a process died while it wrote; nothing refers to them, and they take room", stage: mails,
				mend: func() ([]string, error) { return removeAll(fsys, stray) }})
		}
	}
	dirs := append([]string{".", "folded"}, office.Dirs()...)
	for _, m := range x.names(x.o.FS, office.MessagesDir) {
		dirs = append(dirs, office.MessagesDir+"/"+m)
	}
	sweep("the office", x.o.FS, dirs...)
	for _, a := range x.authors() {
		var dirs []string
		for _, d := range append([]string{""}, boxDirs()...) {
			dirs = append(dirs, a.Path(d))
		}
		sweep("the mailbox of "+a.name, a.FS, dirs...)
	}
}

func removeAll(fsys vfs.FS, names []string) (done []string, err error) {
	for _, n := range names {
		if err := fsys.Remove(n); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return done, err
		}
		done = append(done, "removed "+fsys.Path(n))
	}
	return done, nil
}

// lastPass is when a routing pass ended last, as far as this boot knows.
func (x *exam) lastPass() (at time.Time, known bool) {
	boot, _, ok := x.Sys.Boot()
	if !ok {
		return at, false
	}
	h, ok := debt.LoadHint(x.o.FS, boot)
	return h.Wall, ok
}
