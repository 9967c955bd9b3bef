package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/transcript"
	"github.com/postroom/postroom/internal/vfs"
)

const (
	// span is how long ago the first message of a filled office was sent.
	span = 30 * 24 * time.Hour
	// perGroup is how many messages go from one agent to another at a time.
	perGroup = 50
	// foldedDir says how far receipts are in the journal (spool-format.md §7).
	foldedDir = "folded"
	// short is the text of a message that is only there to be many.
	short = "Green again.\n"
)

// filler puts handled mail into an office as it stands long after: the message
// in the recipient's inbox/.done, linked to .sent and to the office's copies,
// index, receipts, transcript and journal (docs/spool-format.md). Everything is
// written by the packages that own the formats, but in bulk and unsynced; post
// verify finds nothing wrong with it.
type filler struct {
	*office.Office
	boxes   []*mailbox.Mailbox
	clocks  []mail.Clock
	journal *journal.Journal
	world   policy.World
	now     time.Time
	folder  string // of the recipient: where the messages are put
	total   int
	count   int
}

func newFiller(dir string, names []string, total int) (*filler, error) {
	f := &filler{now: time.Now().Add(-span), folder: spool.Done, total: total, clocks: make([]mail.Clock, len(names))}
	var err error
	if f.Office, err = office.Open(dir, fillSystem(func() time.Time { return f.now })); err != nil {
		return nil, err
	}
	for _, name := range names {
		m, err := mailbox.Open(f.Office, name)
		if err != nil {
			return nil, err
		}
		f.boxes = append(f.boxes, m)
	}
	if err := os.MkdirAll(filepath.Join(dir, foldedDir), 0o700); err != nil {
		return nil, err
	}
	f.world = policy.World{Settings: f.Settings(), Directory: f.boxes[0].Registry}
	f.journal, err = journal.Open(f.FS, f.now)
	return f, err
}

// archive sends all messages round the office, each agent to those after it.
func (f *filler) archive() error {
	n := len(f.boxes)
	group := max(1, min(perGroup, f.total/n))
	for turn := 0; f.count < f.total; turn++ {
		for i := 0; i < n && f.count < f.total; i++ {
			if err := f.group(i, (i+1+turn%(n-1))%n, min(group, f.total-f.count)); err != nil {
				return err
			}
		}
	}
	return f.finished()
}

// finished settles the journal, so that no pass redoes anything.
func (f *filler) finished() error {
	if err := f.journal.Append(journal.Record{At: f.now, Event: journal.Settled}); err != nil {
		return err
	}
	if err := f.journal.Close(); err != nil {
		return err
	}
	return settleDisk()
}

// group is k messages from one agent to another.
func (f *filler) group(from, to, k int) error {
	f.now = f.now.Add(span * time.Duration(k) / time.Duration(f.total+1))
	var msgs []*mail.Message
	var lines []mail.IndexLine
	for range k {
		m, digest, err := f.message(from, to)
		if err != nil {
			return err
		}
		msgs = append(msgs, m)
		lines = append(lines, mail.IndexLine{ID: m.ID, Digest: digest, From: m.From, Act: string(m.Act), Subject: m.Subject,
			Conversation: m.Conversation, As: mail.AsTo})
	}
	index, err := f.boxes[to].Author.Box.AppendIndex(lines)
	if err != nil {
		return err
	}
	if err := index.Close(); err != nil {
		return err
	}
	return f.record(f.boxes[to], msgs, lines)
}

// message makes one message and gives it its places.
func (f *filler) message(from, to int) (*mail.Message, mail.Digest, error) {
	a, r := f.boxes[from].Author, f.boxes[to].Author
	w := f.world
	w.Sender = a.Agent
	if f.count++; f.count%50_000 == 0 {
		fmt.Fprintf(os.Stderr, "  %d of %d messages\n", f.count, f.total)
	}
	m, bounce := f.Stamp(&mail.Message{From: a.Name, To: r.Name, Act: mail.Inform, Subject: fmt.Sprint("build ", f.count), Body: short},
		a, f.clocks[from].Next(f.now, a.Tag()), w, f.now)
	if bounce != nil {
		return nil, "", fmt.Errorf("the rules refuse: %s", bounce.Reason)
	}
	data, err := m.Encode()
	if err != nil {
		return nil, "", err
	}
	first := filepath.Join(f.Dir, r.Box.Path(f.folder, spool.FileName(m.ID)))
	if err := os.WriteFile(first, data, 0o600); err != nil {
		return nil, "", err
	}
	for _, place := range []string{a.Box.Path(spool.Sent, spool.FileName(m.ID)), office.MessagePath(m.ID)} {
		place = filepath.Join(f.Dir, place)
		err := os.Link(first, place)
		if os.IsNotExist(err) { // the first of a month
			if err = os.Mkdir(filepath.Dir(place), 0o700); err == nil {
				err = os.Link(first, place)
			}
		}
		if err != nil {
			return nil, "", err
		}
	}
	return m, mail.DigestOf(data), nil
}

// record writes transcript, receipts and journal of one recipient's messages.
func (f *filler) record(to *mailbox.Mailbox, msgs []*mail.Message, lines []mail.IndexLine) error {
	var sections []byte
	var records []journal.Record
	var receipts []mail.Receipt
	var in transcript.Intent
	for i, m := range msgs {
		header := m.From + transcript.Arrow + m.To
		text := transcript.Render(header, m, f.now, f.Config.Policy.Arrow)
		if next := in.Next(text); i > 0 {
			in = next
		} else {
			var err error
			if in, err = transcript.Prepare(f.FS, to.Entry.Transcript, text); err != nil {
				return err
			}
		}
		sections = append(sections, text...)
		base := journal.Record{At: f.now, ID: m.ID, From: m.From}
		delivered, section, done := base, base, journal.Record{At: f.now, Event: mail.EventDone, ID: m.ID, Agent: m.To, AID: to.Author.AID}
		delivered.Event, delivered.Agent, delivered.AID = journal.Delivered, m.To, to.Author.AID
		delivered.Seq, delivered.Digest, delivered.As = lines[i].Seq, lines[i].Digest, lines[i].As
		delivered.Act, delivered.Conversation = string(m.Act), m.Conversation
		section.Event, section.Digest, section.File = journal.Transcript, in.Digest, in.File
		section.Offset, section.Length, section.Detail = in.Offset, in.Length, map[string]string{"header": header}
		records = append(records, delivered, section)
		if f.folder == spool.Done {
			records = append(records, done)
			receipts = append(receipts, mail.Receipt{Event: mail.EventDone, ID: m.ID})
		}
	}
	if err := appendTo(filepath.Join(f.Dir, transcript.Dir, in.File), sections); err != nil {
		return err
	}
	if err := f.journal.Append(records...); err != nil {
		return err
	}
	return f.receipts(to, receipts)
}

// receipts writes an agent's receipts and that the journal has them.
func (f *filler) receipts(m *mailbox.Mailbox, rs []mail.Receipt) error {
	if err := m.Receipt(rs...); err != nil || len(rs) == 0 {
		return err
	}
	fi, err := f.FS.Lstat(m.Author.Box.Path(spool.Receipts))
	if err != nil {
		return err
	}
	_, inode, _ := vfs.Inode(fi)
	data, err := json.Marshal(map[string]any{"inode": inode, "offset": fi.Size()})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.Dir, foldedDir, m.Author.AID+".json"), data, 0o600)
}

func appendTo(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// backlog gives one agent total messages that it then archives one by one, so
// that its inbox is empty and once was very large.
func (f *filler) backlog(from, to int) error {
	f.folder = spool.Inbox
	m := f.boxes[to]
	for f.count < f.total {
		if err := f.group(from, to, min(perGroup, f.total-f.count)); err != nil {
			return err
		}
	}
	names, err := m.Author.Box.FS.ReadNames(m.Author.Box.Path(spool.Inbox))
	if err != nil {
		return err
	}
	var receipts []mail.Receipt
	var records []journal.Record
	for _, name := range names {
		if spool.Hidden(name) {
			continue
		}
		id := mail.ID(name[:len(name)-len(".json")])
		if _, err := m.Author.Box.Finish(id, f.Sys.Batch()); err != nil {
			return err
		}
		receipts = append(receipts, mail.Receipt{Event: mail.EventDone, ID: id})
		records = append(records, journal.Record{At: f.now, Event: mail.EventDone, ID: id, Agent: m.Author.Name, AID: m.Author.AID})
	}
	if err := f.journal.Append(records...); err != nil {
		return err
	}
	if err := f.receipts(m, receipts); err != nil {
		return err
	}
	return f.finished()
}
