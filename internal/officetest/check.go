package officetest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/transcript"
)

// Ledgers is everything that an office at rest says about its mail.
type Ledgers struct {
	Messages map[mail.ID]*mail.Message
	digests  map[mail.ID]mail.Digest
	// Held lists, for each message, the aids in whose mailbox it is.
	Held map[mail.ID][]string
	// Failed has the messages that stand in .failed.
	Failed map[mail.ID]bool
	faults []error
	o      *office.Office
	reg    *registry.Registry
	events map[string]int // "event id aid" in the journal
	seqs   map[string]uint64
	except []string // aids
}

// Check reads an office in which nothing is under way and returns what
// disagrees: inbox, .done, index, journal, transcripts, office copies and .sent
// must tell one story (design §7.10, §16). The mailboxes of except are not
// looked at: their owners do with them what they like.
func Check(o *office.Office, except ...string) (*Ledgers, error) {
	l := &Ledgers{Messages: map[mail.ID]*mail.Message{}, digests: map[mail.ID]mail.Digest{}, Held: map[mail.ID][]string{},
		Failed: map[mail.ID]bool{}, o: o, events: map[string]int{}, seqs: map[string]uint64{}}
	var err error
	if l.reg, err = o.Registry(); err != nil {
		return l, err
	}
	for _, e := range l.reg.Entries() {
		if slices.Contains(except, e.Name) {
			l.except = append(l.except, e.AID)
		}
	}
	l.copies()
	l.journal()
	for _, e := range l.reg.Entries() {
		if slices.Contains(except, e.Name) {
			continue
		}
		if box, err := o.Box(e); err != nil {
			l.fault("mailbox of %s: %v", e.Name, err)
		} else {
			l.mailbox(e, box)
			l.outbox(e.Name, box)
		}
	}
	for _, name := range []string{office.Human, office.Postroom} {
		l.outbox(name, o.SystemBox(name))
	}
	l.recipients()
	l.transcripts()
	return l, errors.Join(l.faults...)
}

func (l *Ledgers) fault(format string, args ...any) {
	l.faults = append(l.faults, fmt.Errorf(format, args...))
}

func names(b spool.Box, dir string) []string {
	all, err := b.FS.ReadNames(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return []string{"?" + err.Error()}
	}
	all = slices.DeleteFunc(all, spool.Hidden)
	slices.Sort(all)
	return all
}

func (l *Ledgers) copies() {
	root := spool.Box{FS: l.o.FS}
	for _, month := range names(root, office.MessagesDir) {
		for _, n := range names(root, office.MessagesDir+"/"+month) {
			id := mail.ID(strings.TrimSuffix(n, ".json"))
			m, data, err := l.o.ReadMessage(id)
			if err != nil {
				l.fault("office copy %s: %v", n, err)
				continue
			}
			l.Messages[id], l.digests[id] = m, mail.DigestOf(data)
		}
	}
}

func (l *Ledgers) journal() {
	rep, err := journal.Verify(l.o.FS)
	if err != nil || rep.Break != nil || rep.Torn != 0 {
		l.fault("journal: %+v %+v %v", rep, rep.Break, err)
	}
	err = journal.Each(l.o.FS, time.Time{}, time.Time{}, func(r journal.Record) error {
		l.events[r.Event+" "+string(r.ID)+" "+r.AID]++
		if r.Event == journal.Delivered {
			l.seqs[string(r.ID)+" "+r.AID] = r.Seq
			if l.digests[r.ID] != r.Digest {
				l.fault("journal: %s delivered with digest %.8s, office copy has %.8s", r.ID, r.Digest, l.digests[r.ID])
			}
		}
		if r.Event == journal.Recovered && r.Detail["lost"] != "" && !slices.Contains(l.except, r.AID) {
			l.fault("journal: lost %v", r)
		}
		return nil
	})
	if err != nil {
		l.fault("journal: %v", err)
	}
}

// mailbox checks what an agent received.
func (l *Ledgers) mailbox(e registry.Entry, box spool.Box) {
	have := map[mail.ID]bool{}
	for _, dir := range []string{spool.Inbox, spool.Done} {
		for _, n := range names(box, box.Path(dir)) {
			id := mail.ID(strings.TrimSuffix(n, ".json"))
			if have[id] {
				continue // moved to .done, and a crash kept the inbox entry: it is handled
			}
			have[id] = true
			l.Held[id] = append(l.Held[id], e.AID)
			l.same(e.Name+"/"+dir, box, box.Path(dir, n), id)
			if l.events[journal.Delivered+" "+string(id)+" "+e.AID] != 1 {
				l.fault("%d delivered records of %s to %s", l.events[journal.Delivered+" "+string(id)+" "+e.AID], id, e.Name)
			}
		}
	}
	l.index(e, box, have)
}

func (l *Ledgers) index(e registry.Entry, box spool.Box, have map[mail.ID]bool) {
	data, _, err := spool.ReadFile(box.FS, box.Path(spool.Index), 64<<20)
	if err != nil {
		l.fault("index of %s: %v", e.Name, err)
	}
	last, lines := uint64(0), map[mail.ID]int{}
	for line := range bytes.Lines(data) {
		x, err := mail.ParseIndexLine(line)
		if err != nil {
			l.fault("index of %s: %v", e.Name, err)
			continue
		}
		if x.Seq <= last {
			l.fault("index of %s: seq %d after %d", e.Name, x.Seq, last)
		}
		last = x.Seq
		lines[x.ID]++
		if x.Digest != l.digests[x.ID] || !have[x.ID] || l.seqs[string(x.ID)+" "+e.AID] != x.Seq {
			l.fault("index of %s: line %+v: in mailbox %v, journal seq %d", e.Name, x, have[x.ID], l.seqs[string(x.ID)+" "+e.AID])
		}
	}
	for id := range have {
		if lines[id] != 1 {
			l.fault("index of %s has %d lines for %s", e.Name, lines[id], id)
		}
	}
}

// outbox checks that an author's outbox is empty and everything in it filed.
func (l *Ledgers) outbox(name string, box spool.Box) {
	for _, n := range names(box, box.Path(spool.Outbox)) {
		if !l.mayWait(mail.ID(strings.TrimSuffix(n, ".json"))) {
			l.fault("outbox of %s still has %s", name, n)
		}
	}
	for _, n := range names(box, box.Path(spool.Sent)) {
		l.same(name+"/.sent", box, box.Path(spool.Sent, n), mail.ID(strings.TrimSuffix(n, ".json")))
	}
	for _, n := range names(box, box.Path(spool.Failed)) {
		if id := mail.ID(strings.TrimSuffix(n, ".json")); id.Valid() {
			l.Failed[id] = true
			if ok, _ := box.Where(id); ok != spool.Absent {
				l.fault("%s is failed and in the inbox of its author", id)
			}
		}
	}
	for id, m := range l.Messages {
		if owner, ok := l.reg.Entry(m.From); m.From == name || ok && owner.Name == name {
			_, serr := box.FS.Lstat(box.Path(spool.Sent, spool.FileName(id)))
			_, ferr := box.FS.Lstat(box.Path(spool.Failed, spool.FileName(id)))
			if (serr == nil) == (ferr == nil) && !l.mayWait(id) {
				l.fault("%s of %s: .sent %v, .failed %v", id, name, serr, ferr)
			}
		}
	}
}

// mayWait reports whether a message is for one of those whose mailbox may be
// broken.
func (l *Ledgers) mayWait(id mail.ID) bool {
	m := l.Messages[id]
	return m != nil && m.Envelope != nil && slices.ContainsFunc(l.except, func(aid string) bool {
		return slices.Contains(m.Envelope.Recipients, aid) || slices.Contains(m.Envelope.CC, aid)
	})
}

func (l *Ledgers) same(where string, box spool.Box, path string, id mail.ID) {
	data, _, err := spool.ReadMail(box.FS, path)
	if err != nil || mail.DigestOf(data) != l.digests[id] {
		l.fault("%s: %s is not the office copy (%v)", where, id, err)
	}
}

// recipients checks that each message reached those it was stamped for, once.
func (l *Ledgers) recipients() {
	for id := range l.Held {
		if l.Messages[id] == nil {
			l.fault("%s was delivered and the office has no copy", id)
		}
	}
	for id, m := range l.Messages {
		var want []string
		if m.Envelope != nil {
			want = append(append(want, m.Envelope.Recipients...), m.Envelope.CC...)
		}
		want = slices.DeleteFunc(want, func(aid string) bool { return slices.Contains(l.except, aid) })
		got := slices.Clone(l.Held[id])
		slices.Sort(want)
		slices.Sort(got)
		held := len(got) == 0 && (l.Failed[id] || l.escalated(id))
		if !held && !slices.Equal(want, got) {
			l.fault("%s %q is for %v and with %v", id, m.Subject, want, got)
		}
	}
}

func (l *Ledgers) escalated(id mail.ID) bool {
	return l.events[journal.Escalated+" "+string(id)+" "] > 0
}

// transcripts checks that each delivered message has one section in each
// transcript that it belongs to.
func (l *Ledgers) transcripts() {
	sections := map[mail.ID]map[string]int{}
	root := spool.Box{FS: l.o.FS}
	for _, file := range names(root, transcript.Dir) {
		data, _, err := spool.ReadFile(l.o.FS, transcript.Dir+"/"+file, 64<<20)
		if err != nil {
			l.fault("transcript %s: %v", file, err)
		}
		for s, err := range transcript.Parse(bytes.NewReader(data)) {
			if err != nil || !s.Whole {
				l.fault("transcript %s: a broken section %+v %v", file, s, err)
			}
			if sections[s.ID] == nil {
				sections[s.ID] = map[string]int{}
			}
			sections[s.ID][file]++
		}
	}
	for id, files := range sections {
		for file, n := range files {
			if n != 1 || len(l.Held[id]) == 0 && !l.escalated(id) && len(l.except) == 0 {
				l.fault("transcript %s has %s %d times; it is with %v", file, id, n, l.Held[id])
			}
		}
	}
	for id, aids := range l.Held {
		for _, aid := range aids {
			e, _ := l.reg.EntryByAID(aid)
			channel := slices.ContainsFunc(keys(sections[id]), func(f string) bool { return strings.HasPrefix(f, "_channel_") })
			if sections[id][e.Transcript] != 1 && !channel {
				l.fault("%s is not in the transcript of %s", id, e.Name)
			}
		}
	}
}

func keys(m map[string]int) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}
