package doctor

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/verify"
)

// box is one agent's mailbox.
type box struct {
	spool.Box
	entry    registry.Entry
	dir      string // absolute
	ok       bool   // its inbox can be listed
	done     map[mail.ID]bool
	receipts int // lines that are receipts
	bad      []mail.BadLine
}

// openBoxes opens what can be opened and makes a finding of the rest.
func (x *exam) openBoxes() {
	for _, e := range x.reg.Entries() {
		b := &box{entry: e, dir: mailboxDir(e)}
		var err error
		if b.Box, err = x.o.Box(e); err == nil || errors.Is(err, office.ErrWhose) {
			_, err = b.FS.ReadNames(b.Path(spool.Inbox))
		}
		b.ok = err == nil
		x.boxes = append(x.boxes, b)
		switch {
		case err == nil:
		case errors.Is(err, fs.ErrNotExist):
			x.add(Finding{Check: "mailbox", Severity: Error, Where: b.dir, What: "the mailbox of " + e.Name + " is gone",
				Why:   e.Name + " gets no mail, and what it wrote and nobody had routed is lost; git clean -fdx removes mailboxes in a workspace",
				stage: places, mend: func() ([]string, error) { return x.remake(b) }})
		default:
			x.trouble("mailbox", b.dir, err)
		}
	}
}

// checkBoxes looks for parts that are missing and for pointers that lead
// elsewhere.
func (x *exam) checkBoxes() {
	for _, b := range x.boxes {
		if !b.ok {
			continue
		}
		var missing []string
		for _, n := range append(boxDirs(), spool.Index, spool.Receipts) {
			if _, err := b.FS.Lstat(b.Path(n)); errors.Is(err, fs.ErrNotExist) {
				missing = append(missing, n)
			}
		}
		if len(missing) > 0 {
			x.add(Finding{Check: "mailbox", Severity: Error, Where: b.dir, What: "the mailbox of " + b.entry.Name + " lacks " + some(missing),
				Why: "mail to or from " + b.entry.Name + " gets stuck or is shown as new again", stage: places, mend: func() ([]string, error) { return x.remake(b) }})
		}
		if !b.Shared {
			x.checkPointer(b)
		}
	}
}

// checkPointer looks at the file in a mailbox outside that says whose it is.
func (x *exam) checkPointer(b *box) {
	data, _, err := spool.ReadFile(b.FS, office.PointerFile, 64<<10)
	var p office.Pointer
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err == nil && p.OfficeID == x.o.Config.ID && p.AID == b.entry.AID && p.Office == x.Dir {
		return
	}
	if real, rerr := filepath.EvalSymlinks(b.dir); rerr == nil && real != b.dir {
		// Its owner may have put a link there, to somebody else's mailbox.
		x.add(Finding{Check: "mailbox", Severity: Error, Where: b.dir, What: "the mailbox of " + b.entry.Name + " is not its own: its path leads to " + mail.Neutralise(real, false),
			Why: b.entry.Name + " neither gets nor sends mail", Fix: "post join " + b.entry.Name + " --mailbox NEWDIR"})
		return
	}
	what := "the mailbox of " + b.entry.Name + " does not say whose it is"
	if err == nil {
		what = "the mailbox of " + b.entry.Name + " says that it belongs to " + mail.Neutralise(p.Agent, false) + " in " + mail.Neutralise(p.Office, false)
		if p.OfficeID != x.o.Config.ID {
			x.add(Finding{Check: "mailbox", Severity: Error, Where: b.dir, What: what, Why: "two offices deliver into one mailbox",
				Fix: "post join " + b.entry.Name + " --mailbox NEWDIR"})
			return
		}
	}
	x.add(Finding{Check: "mailbox", Severity: Warning, Where: filepath.Join(b.dir, office.PointerFile), What: what,
		Why: "commands in that workspace may not find this office", stage: places, mend: func() ([]string, error) { return x.repoint(b) }})
}

func (x *exam) repoint(b *box) ([]string, error) {
	data, err := json.Marshal(office.Pointer{V: 1, Office: x.Dir, OfficeID: x.o.Config.ID, Agent: b.entry.Name, AID: b.entry.AID})
	if err == nil {
		err = spool.Replace(b.FS, ".", office.PointerFile, append(data, '\n'))
	}
	if err != nil {
		return nil, err
	}
	return []string{"wrote " + filepath.Join(b.dir, office.PointerFile)}, b.FS.SyncDir(".")
}

// remake makes what a mailbox lacks.
func (x *exam) remake(b *box) ([]string, error) {
	var err error
	if rel, in := strings.CutPrefix(b.dir, x.Dir+string(filepath.Separator)); in {
		err = (spool.Box{FS: x.o.FS, Dir: filepath.ToSlash(rel), Shared: true}).Make()
	} else {
		err = x.o.MakeOutside(b.dir, b.entry.Name, b.entry.AID)
	}
	if err != nil {
		return nil, err
	}
	return []string{"made the mailbox of " + b.entry.Name + " in " + b.dir + " anew"}, nil
}

// maxReceipts bounds what is read of a mailbox's receipts, in bytes.
const maxReceipts = 256 << 20

// readReceipts reads what the owner says it has handled.
func (b *box) readReceipts() {
	if b.done != nil {
		return
	}
	b.done = map[mail.ID]bool{}
	if !b.ok {
		return
	}
	data, _, err := spool.ReadFile(b.FS, b.Path(spool.Receipts), maxReceipts)
	if err != nil {
		return
	}
	list, bad, _ := mail.ParseReceipts(data)
	b.bad, b.receipts = bad, len(list)
	for _, r := range list {
		if r.Event == mail.EventDone || b.entry.Station != "" && (r.Event == mail.EventArrived || r.Event == mail.EventRefused) {
			b.done[r.ID] = true
		}
	}
}

func (x *exam) checkReceipts() {
	for _, b := range x.boxes {
		b.readReceipts()
		if len(b.bad) > 0 {
			x.add(Finding{Check: "receipts", Severity: Note, Where: b.dir + "/" + spool.Receipts, What: count(len(b.bad), "line is no receipt", "lines are no receipts") +
				", the first is line " + strconv.Itoa(b.bad[0].Line), Why: "torn by a crash, or written by something else; such lines are passed over"})
		}
	}
}

// delivered is one journalled delivery that is not where it should be.
type delivered struct {
	verify.Delivery
	file string // the changed file, within the box
}

// checkDeliveries compares what waits in the mailboxes, or should, with the
// journal. What was handled is not looked at.
func (x *exam) checkDeliveries() {
	book, err := verify.Load(x.o.FS)
	if err != nil {
		x.damaged(err)
	}
	if err != nil && mail.KindOf(err) != mail.KindCorrupt {
		return
	}
	x.book = book
	byAID := map[string]*box{}
	for _, b := range x.boxes {
		byAID[b.entry.AID] = b
	}
	gone, changed := map[*box][]delivered{}, map[*box][]delivered{}
	var copies []delivered
	for d := range x.book.Deliveries() {
		b := byAID[d.AID]
		if b == nil || d.Done {
			continue
		}
		if b.readReceipts(); b.done[d.ID] {
			continue
		}
		item := delivered{Delivery: d}
		switch state, file := x.compare(b, d); state {
		case spool.Absent:
			gone[b] = append(gone[b], item)
		case spool.Waiting:
			item.file = file
			changed[b] = append(changed[b], item)
		default:
			if !x.copySound(d) {
				copies = append(copies, item)
			}
		}
	}
	for _, b := range x.boxes {
		x.goneFinding(b, gone[b])
		x.changedFinding(b, changed[b])
	}
	x.copiesFinding(copies)
}

// compare says Absent for a delivery that is nowhere, Waiting with its path for
// one that was changed, Handled for one that is as it should be.
func (x *exam) compare(b *box, d verify.Delivery) (spool.State, string) {
	if !b.ok {
		return spool.Absent, ""
	}
	for _, dir := range []string{spool.Inbox, spool.Done, spool.Inbox} {
		path := b.Path(dir, spool.FileName(d.ID))
		data, _, err := spool.ReadMail(b.FS, path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil && !errors.Is(err, spool.ErrNotMail) && !errors.Is(err, spool.ErrTooLarge):
			return spool.Handled, "" // cannot be read: told by permissions
		case err == nil && mail.DigestOf(data) == d.Digest:
			return spool.Handled, ""
		}
		return spool.Waiting, path
	}
	return spool.Absent, ""
}

func (x *exam) copySound(d verify.Delivery) bool {
	data, _, err := spool.ReadMail(x.o.FS, office.MessagePath(d.ID))
	return err == nil && mail.DigestOf(data) == d.Digest
}

func (x *exam) goneFinding(b *box, list []delivered) {
	if len(list) == 0 {
		return
	}
	sound := x.mendable(list)
	f := Finding{Check: "delivered mail", Severity: Error, Where: b.dir, ID: list[0].ID,
		What: count(len(list), "delivered message has", "delivered messages have") + " vanished from the mailbox of " + b.entry.Name + ": " + some(ids(list)),
		Why:  "nobody said that it was handled, so " + b.entry.Name + " may never have seen it",
		Fix:  "ask the sender to send it again: no copy that the journal vouches for is left"}
	if len(sound) > 0 {
		f.Fix, f.stage = "", mails
		f.mend = func() ([]string, error) { return x.redeliver(b, sound) }
	}
	x.add(f)
}

func (x *exam) changedFinding(b *box, list []delivered) {
	if len(list) == 0 {
		return
	}
	sound := x.mendable(list)
	f := Finding{Check: "delivered mail", Severity: Error, Where: b.FS.Path(list[0].file), ID: list[0].ID,
		What: count(len(list), "delivered message was", "delivered messages were") + " changed in the mailbox of " + b.entry.Name + ": " + some(ids(list)),
		Why:  b.entry.Name + " would act on what nobody sent",
		Fix:  "ask the sender to send it again: no copy that the journal vouches for is left"}
	if len(sound) > 0 {
		f.Fix, f.stage = "", mails
		f.mend = func() ([]string, error) { return x.redeliver(b, sound) }
	}
	x.add(f)
}

func (x *exam) copiesFinding(list []delivered) {
	if len(list) == 0 {
		return
	}
	x.add(Finding{Check: "office copy", Severity: Error, Where: x.o.FS.Path(office.MessagePath(list[0].ID)), ID: list[0].ID,
		What: "the office's own copy of " + count(len(list), "waiting message", "waiting messages") + " is gone or was changed: " + some(ids(list)),
		Why:  "replies to it are refused, and it cannot be delivered again", stage: mails,
		mend: func() ([]string, error) { return x.restoreCopies(list) }})
}

func ids(list []delivered) []string {
	out := make([]string, len(list))
	for i, d := range list {
		out[i] = string(d.ID)
	}
	return out
}

// checkIndexes compares each index with what the journal says it holds.
func (x *exam) checkIndexes() {
	if x.book == nil {
		return
	}
	want := map[string]int{}
	for d := range x.book.Deliveries() {
		want[d.AID]++
	}
	for _, b := range x.boxes {
		if !b.ok {
			continue
		}
		what := x.indexFault(b, want[b.entry.AID])
		if what == "" {
			continue
		}
		x.add(Finding{Check: "index", Severity: Error, Where: b.FS.Path(b.Path(spool.Index)), What: "the index of " + b.entry.Name + " " + what,
			Why:   "the order of the inbox and the check that mail is unchanged rest on it",
			stage: mails, mend: func() ([]string, error) { return x.rebuildIndex(b) }})
	}
}

// indexFault says in a few words what is wrong with an index that should have
// so many lines, "" if nothing is. Lines that the journal does not know yet are
// those of a pass under way.
func (x *exam) indexFault(b *box, want int) string {
	bad, have := 0, 0
	next := ^uint64(0)
	err := b.ScanIndex(func(l mail.IndexLine) bool {
		d, known, again := x.book.Take(l.ID, b.entry.AID)
		if known && !again {
			have++
		}
		if again || l.Seq >= next || known && (l.Seq != d.Seq || l.Digest != d.Digest) {
			bad++
		}
		next = l.Seq
		return true
	})
	switch {
	case err != nil:
		return "cannot be read: " + err.Error()
	case have == 0 && want > 0:
		return "is gone: the journal has " + count(want, "line", "lines") + " of it"
	case have < want:
		return "lacks " + count(want-have, "line", "lines") + " of the journal's"
	case bad > 0:
		return "has " + count(bad, "line", "lines") + " that the journal has otherwise"
	}
	return ""
}
