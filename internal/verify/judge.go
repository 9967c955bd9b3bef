package verify

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/transcript"
	"github.com/postroom/postroom/internal/vfs"
)

// suspectLimit bounds what is looked at a second time.
const suspectLimit = 20000

// suspect is something that the journal did not know when it was read: written
// meanwhile, or wrong.
type suspect struct {
	Finding
	tail int64 // for a transcript: the end of what is known of it
}

func (v *run) suspect(f Finding) {
	if len(v.suspects) >= suspectLimit {
		v.found(f) // no pass has so many under way
		return
	}
	v.suspects = append(v.suspects, suspect{Finding: f})
}

// transcripts compares what is left, and looks for text behind the last section
// and for files that nobody announced.
func (v *run) transcripts() error {
	t := v.trails
	t.compare()
	sizes, err := v.transcriptSizes()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		t.file(name)
	}
	for _, name := range t.order {
		f := t.files[name]
		v.unsettled(f, sizes[name])
		if size := sizes[name]; size > f.end && !f.gone {
			v.suspects = append(v.suspects, suspect{tail: f.end, Finding: Finding{Check: Transcript, Where: transcript.Dir + "/" + name}})
		}
	}
	for _, f := range t.pending {
		v.found(f)
	}
	t.pending = nil
	return nil
}

// unsettled takes the sections of a pass that has not settled: those that are
// there count; the next pass completes the others.
func (v *run) unsettled(f *trail, size int64) {
	v.rep.InFlight += len(f.cut)
	if len(f.live) == 0 {
		return
	}
	file, err := v.o.FS.OpenFile(transcript.Dir+"/"+f.name, os.O_RDONLY, 0)
	if err != nil {
		v.rep.InFlight += len(f.live)
		return
	}
	defer file.Close()
	for _, s := range f.live {
		if s.offset > f.end && f.end < size {
			v.trails.unknown(file, f, f.end, min(s.offset, size))
		}
		if !v.trails.holds(file, s) {
			v.rep.InFlight++
			f.end = max(f.end, size) // it may be half written: nothing behind it can be judged
			continue
		}
		f.end = max(f.end, s.end())
	}
}

func (v *run) transcriptSizes() (map[string]int64, error) {
	names, err := v.o.FS.ReadNames(transcript.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for _, n := range names {
		if spool.Hidden(n) || !strings.HasSuffix(n, ".md") {
			continue
		}
		if fi, err := v.o.FS.Lstat(transcript.Dir + "/" + n); err == nil {
			sizes[n] = fi.Size()
		}
	}
	return sizes, nil
}

// judge looks again at what the journal did not know: first whether the message
// still waits in an outbox, then at the records that came meanwhile. In that
// order nothing can slip through: a message leaves its outbox after the journal
// has it.
func (v *run) judge() error {
	if len(v.suspects) == 0 {
		return nil
	}
	waiting := map[mail.ID]bool{}
	authors := v.authors()
	for _, s := range v.suspects {
		for _, a := range authors {
			if s.ID == "" || waiting[s.ID] {
				break
			}
			if _, err := a.Box.FS.Lstat(a.Box.Path(spool.Outbox, spool.FileName(s.ID))); err == nil {
				waiting[s.ID] = true
			}
		}
	}
	late, err := v.late()
	if err != nil {
		return err
	}
	for _, s := range v.suspects {
		switch {
		case s.ID == "":
			v.judgeTail(s)
		case waiting[s.ID] || late.find(s.ID) != nil:
			v.rep.InFlight++
		default:
			v.found(s.Finding)
		}
	}
	return nil
}

// late reads what was journalled since the journal was read.
func (v *run) late() (*Book, error) {
	late, from := &Book{}, v.book.last.At
	if !from.IsZero() {
		from = from.Add(-time.Hour) // records of owners bear their own times
	}
	err := journal.Each(v.o.FS, from, time.Time{}, func(r journal.Record) error {
		if r.N > v.book.last.N {
			late.add(r)
			if r.Event == journal.Transcript {
				v.trails.file(r.File).live = append(v.trails.file(r.File).live, section{id: r.ID, offset: r.Offset, length: r.Length, digest: r.Digest})
			}
		}
		return nil
	})
	if mail.KindOf(err) == mail.KindCorrupt {
		err = nil // said before
	}
	return late, err
}

// judgeTail tells text that somebody added from sections that were written
// meanwhile.
func (v *run) judgeTail(s suspect) {
	name := strings.TrimPrefix(s.Where, transcript.Dir+"/")
	f := v.trails.files[name]
	file, err := v.o.FS.OpenFile(s.Where, os.O_RDONLY, 0)
	if err != nil {
		return
	}
	defer file.Close()
	for _, l := range f.live {
		if l.offset == s.tail {
			v.rep.InFlight++
			return
		}
	}
	v.tail(file, f, s.tail)
}

func (v *run) tail(file vfs.File, f *trail, from int64) {
	fi, err := file.Stat()
	if err != nil || fi.Size() <= from {
		return
	}
	v.trails.unknown(file, f, from, fi.Size())
	for _, p := range v.trails.pending {
		v.found(p)
	}
	v.trails.pending = nil
}
