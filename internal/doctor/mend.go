package doctor

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// Repair is one repair that was made, or tried.
type Repair struct {
	Finding Finding
	Done    []string // what was done, one sentence each
	Err     error
}

// Mend makes the repairs that are safe and returns them with what is found
// afterwards. locked runs its argument while this process holds the router's
// lease. Permissions come before: without them there may be no lease to take.
func (d *Doctor) Mend(ctx context.Context, locked func(func() error) error) (repairs []Repair, left []Finding, err error) {
	x := d.examine(ctx)
	if x.o == nil {
		return nil, x.findings, nil
	}
	if err := x.o.CheckWritable(); err != nil {
		return nil, x.findings, err
	}
	if x.has(access) {
		repairs = append(repairs, x.mendStage(access)...)
	}
	err = locked(func() error {
		for s := access + 1; s < stages; s++ {
			if x = d.examine(ctx); x.has(s) {
				repairs = append(repairs, x.mendStage(s)...)
			}
		}
		return ctx.Err()
	})
	return repairs, d.examine(ctx).findings, err
}

func (x *exam) has(s stage) bool {
	return slices.ContainsFunc(x.findings, func(f Finding) bool { return f.mend != nil && f.stage == s })
}

func (x *exam) mendStage(s stage) (out []Repair) {
	for _, f := range x.findings {
		if f.mend == nil || f.stage != s || x.ctx.Err() != nil {
			continue
		}
		done, err := f.mend()
		out = append(out, Repair{f, done, err})
	}
	return out
}

// source is a copy of a message that the journal's digest vouches for.
func (x *exam) source(d delivered) (spool.Source, bool) {
	name := spool.FileName(d.ID)
	try := []spool.Source{{FS: x.o.FS, Path: office.MessagePath(d.ID), Link: true}}
	for _, system := range []string{office.Human, office.Postroom} {
		b := x.o.SystemBox(system)
		try = append(try, spool.Source{FS: b.FS, Path: b.Path(spool.Sent, name)})
	}
	for _, b := range x.boxes {
		for _, dir := range []string{spool.Sent, spool.Inbox, spool.Done, spool.Outbox} {
			if b.ok {
				try = append(try, spool.Source{FS: b.FS, Path: b.Path(dir, name)})
			}
		}
	}
	for _, s := range try {
		data, info, err := spool.ReadMail(s.FS, s.Path)
		if err == nil && mail.DigestOf(data) == d.Digest {
			s.Data, s.Info = data, info
			return s, true
		}
	}
	return spool.Source{}, false
}

// mendable returns those of which a sound copy is left.
func (x *exam) mendable(list []delivered) (out []delivered) {
	for _, d := range list {
		if _, ok := x.source(d); ok {
			out = append(out, d)
		}
	}
	return out
}

// redeliver puts mail back into a mailbox, durably, and then says so in the
// journal. A file that stands there changed is kept beside, out of sight.
func (x *exam) redeliver(b *box, list []delivered) (done []string, err error) {
	batch := x.Sys.Batch()
	var records []journal.Record
	for _, d := range list {
		detail := map[string]string{"by": "post doctor", "why": "vanished"}
		src, ok := x.source(d)
		if !ok {
			continue
		}
		if d.file != "" {
			kept, err := keepAside(b.FS, d.file)
			if err != nil {
				return done, err
			}
			detail["why"], detail["kept"] = "changed", kept
		}
		if _, err := b.Deliver(src, d.ID); err != nil {
			return done, err
		}
		batch.Dir(b.FS, b.Path(spool.Inbox))
		records = append(records, journal.Record{At: x.Sys.Now(), Event: journal.Redelivered, ID: d.ID, Agent: b.entry.Name, AID: b.entry.AID,
			Seq: d.Seq, Digest: d.Digest, Detail: detail})
		done = append(done, "delivered "+string(d.ID)+" to "+b.entry.Name+" again ("+detail["why"]+")")
	}
	if err := batch.Flush(); err != nil {
		return done, err
	}
	if err := x.journalled(records...); err != nil {
		return done, err
	}
	n, err := x.restoreReceipts(b, list)
	if n > 0 {
		done = append(done, count(n, "of them", "of them")+" had been read before, and counts as read")
	}
	return done, err
}

// restoreReceipts writes again what the journal knows an owner has read, if its
// receipts went with its mailbox: else it would act on that mail twice.
func (x *exam) restoreReceipts(b *box, list []delivered) (int, error) {
	if b.receipts > 0 {
		return 0, nil
	}
	want := map[mail.ID]bool{}
	for _, d := range list {
		want[d.ID] = true
	}
	var lines []byte
	n := 0
	err := journal.EachMatching(x.o.FS, time.Time{}, []byte(`"event":"read"`), func(r journal.Record) error {
		if r.Event == journal.Read && r.AID == b.entry.AID && want[r.ID] {
			lines = mail.Receipt{At: r.At, Event: mail.EventRead, ID: r.ID, Evidence: "journal, by post doctor"}.AppendLine(lines)
			delete(want, r.ID)
			n++
		}
		return nil
	})
	if n == 0 || err != nil && mail.KindOf(err) != mail.KindCorrupt {
		return 0, err
	}
	if err := spool.Replace(b.FS, b.Path(""), spool.Receipts, lines); err != nil {
		return 0, err
	}
	return n, b.FS.SyncDir(b.Path(""))
}

// keepAside renames a file to a hidden name beside it.
func keepAside(fsys vfs.FS, name string) (string, error) {
	dir, base := "", name
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		dir, base = name[:i+1], name[i+1:]
	}
	for n := 1; ; n++ {
		aside := dir + ".changed-" + strconv.Itoa(n) + "-" + base
		_, err := fsys.Lstat(aside)
		if errors.Is(err, fs.ErrNotExist) {
			return fsys.Path(aside), fsys.Rename(name, aside)
		}
		if err != nil {
			return "", err
		}
	}
}

// restoreCopies makes the office's own copies anew.
func (x *exam) restoreCopies(list []delivered) (done []string, err error) {
	batch := x.Sys.Batch()
	for _, d := range list {
		if x.copySound(d.Delivery) {
			continue // for another recipient
		}
		src, ok := x.source(d)
		if !ok {
			continue
		}
		path, month := office.MessagePath(d.ID), office.MessagesDir+"/"+d.ID.Month()
		if _, err := x.o.FS.Lstat(path); err == nil {
			if _, err := keepAside(x.o.FS, path); err != nil {
				return done, err
			}
		}
		if err := x.o.FS.Mkdir(month, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return done, err
		}
		if err := spool.PutNew(x.o.FS, month, spool.FileName(d.ID), src.Data); err != nil {
			return done, err
		}
		batch.Dir(x.o.FS, month)
		batch.Dir(x.o.FS, office.MessagesDir)
		done = append(done, "restored the office's copy of "+string(d.ID))
	}
	return done, batch.Flush()
}

// rebuildIndex writes a mailbox's index as the journal has it, with the same
// numbers. What the journal does not know is left out: a pass that had not got
// so far adds it again.
func (x *exam) rebuildIndex(b *box) ([]string, error) {
	var lines []mail.IndexLine
	err := journal.EachMatching(x.o.FS, time.Time{}, []byte(`"event":"delivered"`), func(r journal.Record) error {
		if r.Event == journal.Delivered && r.AID == b.entry.AID {
			lines = append(lines, lineOf(r))
		}
		return nil
	})
	if err != nil {
		return nil, err // with a line unreadable, a mailbox would lose its place
	}
	slices.SortStableFunc(lines, func(a, b mail.IndexLine) int { return int(int64(a.Seq) - int64(b.Seq)) })
	subjects := x.subjects(b)
	var text []byte
	for _, l := range lines {
		l.Subject = subjects[l.ID]
		if m, _, err := x.o.ReadMessage(l.ID); err == nil {
			l.Subject = m.Subject
		}
		text = l.AppendLine(text)
	}
	if err := spool.Replace(b.FS, b.Path(""), spool.Index, text); err != nil {
		return nil, err
	}
	if err := b.FS.SyncDir(b.Path("")); err != nil {
		return nil, err
	}
	rec := journal.Record{At: x.Sys.Now(), Event: journal.Recovered, Agent: b.entry.Name, AID: b.entry.AID,
		Detail: map[string]string{"index": strconv.Itoa(len(lines)), "by": "post doctor"}}
	return []string{"rebuilt the index of " + b.entry.Name + " from the journal: " + count(len(lines), "line", "lines")}, x.journalled(rec)
}

// subjects are those that the old index still has.
func (x *exam) subjects(b *box) map[mail.ID]string {
	out := map[mail.ID]string{}
	b.ScanIndex(func(l mail.IndexLine) bool { // what cannot be read has none
		out[l.ID] = l.Subject
		return true
	})
	return out
}

// lineOf is the index line that the journal remembers, without the subject.
func lineOf(r journal.Record) mail.IndexLine {
	l := mail.IndexLine{Seq: r.Seq, ID: r.ID, Digest: r.Digest, From: r.From, Act: r.Act, Conversation: r.Conversation, As: r.As}
	l.Turns, _ = strconv.Atoi(r.Detail["turns"])
	l.Chain, _ = strconv.Atoi(r.Detail["chain"])
	l.Since, _ = time.Parse(time.RFC3339, r.Detail["since"])
	return l
}

// journalled appends records, durably. The lease is held.
func (x *exam) journalled(rs ...journal.Record) error {
	if len(rs) == 0 {
		return nil
	}
	j, err := journal.Open(x.o.FS, x.Sys.Now())
	if err != nil {
		return err
	}
	defer j.Close()
	if err := j.Append(rs...); err != nil {
		return err
	}
	return j.Sync()
}
