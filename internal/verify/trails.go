package verify

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/transcript"
	"github.com/postroom/postroom/internal/vfs"
)

// readyLimit is how many announced sections wait to be compared.
const readyLimit = 8192

// trails follows every transcript through the journal's announcements. A
// section is compared once a settled record stands behind its announcement:
// until then a crash may have moved it.
type trails struct {
	run     *run
	files   map[string]*trail
	order   []string
	ready   int
	buf     []byte
	pending []Finding // found while the journal is still read; told in their turn
}

type trail struct {
	name  string
	ready []section // settled, not yet compared
	live  []section // not settled
	cut   []section // cut away by a later announcement and not announced again
	end   int64     // compared up to here
	gone  bool
}

type section struct {
	n              uint64
	id             mail.ID
	offset, length int64
	digest         mail.Digest
	record         journal.Record // At and Detail, to write the section anew
}

func (s section) end() int64 { return s.offset + s.length }

func newTrails(v *run) *trails { return &trails{run: v, files: map[string]*trail{}} }

func (t *trails) file(name string) *trail {
	f, ok := t.files[name]
	if !ok {
		f = &trail{name: name}
		t.files[name] = f
		t.order = append(t.order, name)
	}
	return f
}

// add takes in one record.
func (t *trails) add(r journal.Record) {
	switch r.Event {
	case journal.Transcript:
		t.file(r.File).announce(section{r.N, r.ID, r.Offset, r.Length, r.Digest, journal.Record{At: r.At, Detail: r.Detail}})
		t.run.rep.Sections++
	case journal.Recovered: // the section could not be written again, and that was said
		if f, ok := t.files[r.File]; ok {
			f.forget(r.ID)
		}
	case journal.Settled:
		t.settle()
	}
}

func (f *trail) announce(s section) {
	for len(f.live) > 0 && f.live[len(f.live)-1].end() > s.offset {
		last := f.live[len(f.live)-1]
		f.live = f.live[:len(f.live)-1]
		f.cut = append(f.cut, last)
	}
	f.cut = slices.DeleteFunc(f.cut, func(c section) bool { return c.id == s.id })
	f.live = append(f.live, s)
}

func (f *trail) forget(id mail.ID) {
	same := func(s section) bool { return s.id == id }
	f.live, f.cut = slices.DeleteFunc(f.live, same), slices.DeleteFunc(f.cut, same)
}

func (t *trails) settle() {
	for _, name := range t.order {
		f := t.files[name]
		for _, s := range f.cut {
			t.pending = append(t.pending, Finding{Check: Transcript, Where: transcript.Dir + "/" + name, ID: s.id, Record: s.n,
				Text: "the section of " + string(s.id) + " was cut away and not written again"})
		}
		t.ready += len(f.live)
		f.ready = append(f.ready, f.live...)
		f.live, f.cut = f.live[:0], f.cut[:0]
	}
	if t.ready >= readyLimit {
		t.compare()
	}
}

// compare reads the sections that are settled.
func (t *trails) compare() {
	for _, name := range t.order {
		if f := t.files[name]; len(f.ready) > 0 {
			t.compareFile(f)
			f.ready = f.ready[:0]
		}
	}
	t.ready = 0
}

func (t *trails) compareFile(f *trail) {
	if f.gone {
		return
	}
	file, err := t.run.o.FS.OpenFile(transcript.Dir+"/"+f.name, os.O_RDONLY, 0)
	if err != nil {
		f.gone = true
		what := "the transcript cannot be read: " + err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			what = "the transcript is gone"
		}
		t.pending = append(t.pending, Finding{Check: Transcript, Where: transcript.Dir + "/" + f.name, ID: f.ready[0].id, Record: f.ready[0].n, Text: what})
		return
	}
	defer file.Close()
	for _, s := range f.ready {
		if s.offset > f.end {
			t.unknown(file, f, f.end, s.offset)
		}
		if !t.holds(file, s) {
			t.pending = append(t.pending, t.explain(file, f, s))
		}
		f.end = max(f.end, s.end())
	}
}

// holds reports whether a section stands where it was announced.
func (t *trails) holds(file vfs.File, s section) bool {
	if s.offset < 0 || s.length < 0 || s.length > 8*mail.MaxSize {
		return false
	}
	t.buf = slices.Grow(t.buf[:0], int(s.length))[:s.length]
	n, err := file.ReadAt(t.buf, s.offset)
	return int64(n) == s.length && (err == nil || err == io.EOF) && mail.DigestOf(t.buf) == s.digest
}

// unknown tells of text between two places that the journal does not know.
func (t *trails) unknown(file vfs.File, f *trail, from, to int64) {
	t.pending = append(t.pending, Finding{Check: Transcript, Where: transcript.Dir + "/" + f.name, Line: lineAt(file, from),
		Text: "text that the journal does not know" + t.titled(file, from, to)})
}

// titled names the first section that begins between two places.
func (t *trails) titled(file vfs.File, from, to int64) string {
	for s, err := range transcript.Parse(io.NewSectionReader(file, from, to-from)) {
		if err == nil {
			return ": a section headed [" + mail.Neutralise(s.Header, false) + "]"
		}
	}
	return ""
}

// explain says where a section is not what was announced: at its first line
// that differs, if the message can still be written as it was.
func (t *trails) explain(file vfs.File, f *trail, s section) Finding {
	out := Finding{Check: Transcript, Where: transcript.Dir + "/" + f.name, ID: s.id, Record: s.n, Line: lineAt(file, s.offset)}
	have := make([]byte, min(max(s.length, 0), 8*mail.MaxSize))
	n, _ := file.ReadAt(have, s.offset) // what cannot be read is missing
	have = have[:n]
	if n == 0 {
		out.Text = "the file ends before the section of " + string(s.id)
		return out
	}
	for other, err := range transcript.Parse(bytes.NewReader(have)) {
		if err == nil && other.ID != s.id && bytes.HasPrefix(have, []byte("## [")) {
			out.Text = "a section that the journal does not know, headed [" + mail.Neutralise(other.Header, false) + "], stands where that of " + string(s.id) + " belongs"
			return out
		}
		break
	}
	if want := t.render(s); want != nil {
		at := 0
		for at < len(have) && have[at] == want[at] {
			at++
		}
		out.Line = lineAt(file, s.offset+int64(at))
	}
	out.Text = "the section of " + string(s.id) + " is not what was written: it was changed"
	return out
}

// render writes the section as it was announced; nil if that is not possible
// any more.
func (t *trails) render(s section) []byte {
	data, _, err := spool.ReadMail(t.run.o.FS, office.MessagePath(s.id))
	if err != nil {
		return nil
	}
	m, err := mail.Parse(data)
	if err != nil {
		return nil
	}
	for _, arrow := range []string{transcript.Arrow, transcript.ArrowASCII} {
		if text := transcript.Render(s.record.Detail["header"], m, s.record.At, arrow); mail.DigestOf(text) == s.digest {
			return text
		}
	}
	return nil
}

// lineAt returns the number, from 1, of the line that holds an offset.
func lineAt(file vfs.File, offset int64) int {
	line, buf := 1, make([]byte, 64<<10)
	for pos := int64(0); pos < offset; {
		n, err := file.ReadAt(buf[:min(int64(len(buf)), offset-pos)], pos)
		line += bytes.Count(buf[:n], []byte("\n"))
		pos += int64(n)
		if err != nil || n == 0 {
			break
		}
	}
	return line
}
