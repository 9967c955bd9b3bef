package registry

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// maxFile bounds what is read: some 200,000 agents.
const maxFile = 64 << 20

// loadChunk is how much of the file is in memory at once: reading all of it
// costs a short process more in page faults than everything else together.
const loadChunk = 16 << 10

// Load reads the office's registry. A file with a valid checksum is taken as
// it stands, line by line, when asked; any other is parsed strictly: valid
// JSON is accepted (see Edited), everything else is KindCorrupt and names the
// line. A missing file is KindCorrupt too, wrapping fs.ErrNotExist; a newer
// format is KindForeign.
func Load(fsys vfs.FS) (*Registry, error) {
	f, size, err := open(fsys)
	if err != nil {
		return nil, readError(fsys, err)
	}
	r := &Registry{fsys: fsys, file: f}
	whole, err := r.stream(size)
	if err == nil && whole {
		return r, nil
	}
	raw := make([]byte, size)
	if err == nil {
		err = readAt(f, raw, 0)
	}
	f.Close()
	if err != nil {
		return nil, readError(fsys, err)
	}
	doc, err := parse(raw)
	if err != nil {
		return nil, readError(fsys, err)
	}
	r = &Registry{fsys: fsys, doc: doc, loaded: len(doc.agents), edited: true, onDisk: stampOf(raw)}
	r.set(encode(doc))
	return r, nil
}

// Close closes the file that entries are read from. Only processes that load
// often need to call it; reads of entries fail afterwards.
func (r *Registry) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// set makes the canonical raw what the reads see.
func (r *Registry) set(raw []byte) {
	s := scanner{}
	if rest := s.feed(raw[:len(raw)-crcLen], 0); !s.ok() || len(rest) > 0 {
		panic("registry: encoded lines do not scan")
	}
	r.raw, r.index, r.channels = raw, s.index, s.channels
}

// stream reads the file once: checksum, index and channels. It reports whether
// the file is canonical.
func (r *Registry) stream(size int64) (bool, error) {
	body := size - int64(crcLen)
	if body < int64(len(head)) {
		return false, nil
	}
	s := scanner{index: make(index, 0, size/5)}
	buf, have, sum := make([]byte, min(body, loadChunk)), 0, crc{}
	for off := int64(0); off < body; {
		n := int(min(int64(len(buf)-have), body-off))
		fresh := buf[have : have+n]
		if err := readAt(r.file, fresh, off); err != nil {
			return false, err
		}
		sum.add(fresh)
		off, have = off+int64(n), have+n
		rest := s.feed(buf[:have], off-int64(have))
		if s.bad {
			return false, nil
		}
		if have = copy(buf, rest); have == len(buf) { // a line longer than the buffer
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
	var tail [crcLen]byte
	if err := readAt(r.file, tail[:], body); err != nil {
		return false, err
	}
	r.index, r.channels = s.index, s.channels
	canonical := s.ok() && have == 0 && string(tail[:]) == string(appendCRC(nil, sum.sum))
	sum.add(tail[:])
	r.onDisk = stamp{size, sum.sum}
	return canonical, nil
}

// scanner takes the lines of a canonical file one by one.
type scanner struct {
	stage    int // of the sections below
	bad      bool
	index    index
	channels []byte // the channels' lines
}

const (
	atHead = iota
	atAgents
	atChannels
	atRest
)

func (s *scanner) ok() bool { return s.stage == atRest && !s.bad }

// feed takes the whole lines of b, which begins at off in the file, and
// returns what is left.
func (s *scanner) feed(b []byte, off int64) []byte {
	for start := 0; ; {
		n := bytes.IndexByte(b[start:], '\n')
		if n < 0 || s.bad {
			return b[start:]
		}
		s.line(b[start:start+n+1], int(off)+start)
		start += n + 1
	}
}

func (s *scanner) line(raw []byte, off int) {
	divider := raw[0] == ']'
	switch {
	case s.stage == atHead:
		s.stage, s.bad = atAgents, string(raw) != head
	case s.stage == atAgents && divider:
		s.stage, s.bad = atChannels, string(raw) != channelHead
	case s.stage == atAgents:
		l := line{off: off, size: len(raw) - 1}
		if l.size > 0 && raw[l.size-1] == ',' {
			l.size--
		}
		s.bad = !cutLine(raw, &l)
		s.index = s.index.add(&l)
	case s.stage == atChannels && divider:
		s.stage = atRest
	case s.stage == atChannels:
		s.channels = append(s.channels, raw...)
	}
}

// entry reads and parses one agent's line. If the file was edited in place
// meanwhile, the agent is looked up anew.
func (r *Registry) entry(l line) (Entry, bool) {
	raw := make([]byte, l.size)
	if r.raw != nil {
		copy(raw, r.raw[l.off:])
	} else if readAt(r.file, raw, int64(l.off)) != nil {
		return r.entryAnew(l)
	}
	e, err := decodeEntry(raw)
	if err != nil || e.AID != string(l.aid) || e.Name != string(l.name) {
		return r.entryAnew(l)
	}
	return e, true
}

func (r *Registry) entryAnew(l line) (Entry, bool) {
	if r.fsys == nil {
		return Entry{}, false
	}
	now, err := Load(r.fsys)
	if err != nil {
		return Entry{}, false
	}
	defer now.Close()
	now.fsys = nil // once is enough
	return now.EntryByAID(string(l.aid))
}

// open opens the file and returns its size.
func open(fsys vfs.FS) (vfs.File, int64, error) {
	f, err := fsys.OpenFile(File, os.O_RDONLY, 0)
	if err != nil {
		return nil, 0, err
	}
	fi, err := f.Stat()
	switch {
	case err != nil:
	case !fi.Mode().IsRegular():
		err = errors.New("not a regular file")
	case fi.Size() > maxFile:
		err = fmt.Errorf("%d bytes are more than a registry can have", fi.Size())
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, fi.Size(), nil
}

// readAt fills b; a file that ends before is io.ErrUnexpectedEOF.
func readAt(f vfs.File, b []byte, off int64) error {
	n, err := f.ReadAt(b, off)
	switch {
	case n == len(b):
		return nil
	case err == nil || err == io.EOF:
		return io.ErrUnexpectedEOF
	}
	return err
}

// readError makes the error of a registry that cannot be read.
func readError(fsys vfs.FS, err error) error {
	e := &mail.Error{Op: "read registry", Kind: mail.KindCorrupt, Addr: fsys.Path(File), Err: err}
	var f *fault
	switch {
	case errors.Is(err, errFormat):
		e.Kind, e.Hint = mail.KindForeign, "update post on this machine"
	case errors.Is(err, fs.ErrNotExist):
		e.Hint = "restore the file from a backup; nothing was changed"
	case errors.As(err, &f):
		e.Hint = "mend that line or restore the file from a backup; nothing was changed"
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.Hint = "try again; the file changed while it was read"
	case errors.Is(err, fs.ErrPermission):
		e.Kind, e.Hint = mail.KindStore, "make the file readable for this user"
	default:
		e.Kind = mail.KindStore
	}
	return e
}

func appendCRC(b []byte, sum uint32) []byte {
	const digits = "01234567"
	hex := strconv.AppendUint(nil, uint64(sum), 16)
	b = append(b, crcHead...)
	b = append(b, "00000000"[:len(digits)-len(hex)]...)
	return append(append(b, hex...), crcTail...)
}
