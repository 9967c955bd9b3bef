package router

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/plain"
	"github.com/postroom/postroom/internal/spool"
)

// foldLimit bounds what one owner's receipts may cost a pass, in bytes.
const foldLimit = 256 << 10

// foldedDir holds, by aid, how far an owner's receipts are in the journal.
const foldedDir = "folded"

// folded is one file in folded/.
type folded struct {
	Inode  uint64 `json:"inode"`
	Offset int64  `json:"offset"`
}

// foldReceipts takes the owners' receipts into the journal: only surfaced, read
// and done, and only for mail they really got (design §8). The owner of a far
// agent's mailbox is the link, which also knows what was sent, has arrived or
// was refused.
func (p *pass) foldReceipts() error {
	if p.parked != nil {
		return nil // who settles what is parked folds, too
	}
	for _, a := range p.authors() {
		if a.AID != "" {
			if err := p.foldFrom(a); err != nil && !errors.Is(err, fs.ErrNotExist) {
				p.problem("fold receipts", a.Name, err)
			}
		}
	}
	return nil
}

func (p *pass) foldFrom(a office.Author) error {
	fi, err := a.Box.FS.Lstat(a.Box.Path(spool.Receipts))
	if err != nil || fi.Size() == 0 {
		return err
	}
	state := p.loadFolded(a.AID)
	ino := inode(fi)
	if state.Inode != ino || state.Offset > fi.Size() {
		state = folded{Inode: ino}
	}
	if state.Offset == fi.Size() {
		return nil
	}
	data, err := readAt(a.Box, state.Offset, min(fi.Size()-state.Offset, foldLimit))
	if err != nil {
		return err
	}
	receipts, _, used := mail.ParseReceipts(data)
	switch {
	case used == 0 && len(data) < foldLimit:
		return nil // a line that is still being written
	case used == 0:
		used = len(data) // no receipt is as long as that
	}
	records, err := p.accepted(a, receipts)
	if err != nil {
		return err
	}
	if len(records) > 0 {
		if err := p.append(records...); err != nil {
			return err
		}
		if err := p.journal.Sync(); err != nil {
			return err
		}
	}
	state.Offset += int64(used)
	return p.saveFolded(a.AID, state)
}

// accepted turns receipts into records, leaving out what the owner can't know.
func (p *pass) accepted(a office.Author, receipts []mail.Receipt) ([]journal.Record, error) {
	got := map[mail.ID]bool{}
	var out []journal.Record
	for _, r := range receipts {
		if r.OfLink() && !a.Far() {
			continue
		}
		known, looked := got[r.ID]
		if !looked {
			var err error
			if known, err = p.got(a, r.ID); err != nil {
				return nil, err
			}
			got[r.ID] = known
		}
		if !known {
			continue
		}
		rec := journal.Record{At: r.At, Event: r.Event, ID: r.ID, Agent: a.Name, AID: a.AID}
		if r.Evidence != "" {
			rec.Detail = map[string]string{"evidence": mail.Neutralise(r.Evidence, false)}
		}
		out = append(out, rec)
	}
	return out, nil
}

// got reports whether an agent really got a message: by what the message itself
// says, since the agent may write what it likes into its own index. Only the one
// that is copied on everything is in no envelope.
func (p *pass) got(a office.Author, id mail.ID) (bool, error) {
	m, _, err := p.o.ReadMessage(id)
	if errors.Is(err, fs.ErrNotExist) || mail.KindOf(err) == mail.KindInvalid || mail.KindOf(err) == mail.KindCorrupt {
		return false, nil
	}
	if err != nil || m.Envelope == nil {
		return false, err
	}
	if slices.Contains(m.Envelope.Recipients, a.AID) || slices.Contains(m.Envelope.CC, a.AID) {
		return true, nil
	}
	all, ok := p.reg.Agent(p.o.Settings().CopyAll)
	if !ok || all.AID != a.AID {
		return false, nil
	}
	_, listed, err := a.Box.FindIndex(id, spool.Reach)
	return listed, err
}

func readAt(b spool.Box, offset, n int64) ([]byte, error) {
	f, err := b.FS.OpenFile(b.Path(spool.Receipts), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, n)
	got, err := f.ReadAt(buf, offset)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return buf[:got], err
}

func (p *pass) loadFolded(aid string) folded {
	data, _, err := spool.ReadFile(p.o.FS, foldedDir+"/"+aid+".json", 4096)
	if err != nil {
		return folded{}
	}
	return foldedOf(data)
}

func foldedOf(data []byte) (f folded) {
	c := plain.Cutter{Rest: strings.TrimSuffix(string(data), "\n")}
	c.Must(`{"inode":`)
	f.Inode = c.Number()
	c.Must(`,"offset":`)
	f.Offset = int64(c.Number())
	c.Must("}")
	if !c.Bad && c.Rest == "" {
		return f
	}
	f = folded{}
	if json.Unmarshal(data, &f) != nil {
		return folded{} // torn: fold again, the journal tolerates repeats
	}
	return f
}

func (p *pass) saveFolded(aid string, f folded) error {
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if err := p.o.FS.Mkdir(foldedDir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return spool.Replace(p.o.FS, foldedDir, aid+".json", append(data, '\n'))
}
