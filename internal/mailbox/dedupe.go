package mailbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/spool"
)

// sameWindow is how long identical content counts as a repeat (design §6).
const sameWindow = 10 * time.Minute

// The prefixes of names in outbox/.keys: by content, and by the author's key.
const (
	contentKey = "c-"
	authorKey  = "k-"
)

// keyNames are the entries that a message leaves in outbox/.keys, the author's
// own key first.
func keyNames(p *parcel) []spool.Key {
	var names []spool.Key
	if p.draft.Key != "" {
		sum := sha256.Sum256([]byte(p.draft.Key + "\n" + strconv.Itoa(p.nth)))
		names = append(names, spool.Key{Name: authorKey + hex.EncodeToString(sum[:16]) + ".json", Kept: true})
	}
	return append(names, spool.Key{Name: contentKey + mail.ContentKey(p.msg)[:32] + ".json"})
}

// earlier finds the first copy of what is about to be sent, if that one counts.
// An entry whose message is nowhere is what an interrupted send left: it is
// sent now, under its id, so that the answer "already sent" is never given for
// something that was not.
func (s *sender) earlier(p *parcel) (*mail.Message, error) {
	msg := p.msg
	for _, key := range p.keys {
		name := key.Name
		first, data, err := s.entry(name)
		if err != nil {
			return nil, err
		}
		if first == nil {
			continue
		}
		mine := strings.HasPrefix(name, authorKey)
		if mine && mail.ContentKey(first) != mail.ContentKey(msg) {
			return nil, &mail.Error{Op: "send", Kind: mail.KindConflict, Addr: "--key " + p.draft.Key, ID: first.ID,
				Err: errors.New("this key was used for another message"), Hint: "use a new key for a new message"}
		}
		counts, err := s.counts(first, mine)
		if err != nil {
			return nil, err
		}
		if !counts {
			continue
		}
		return first, s.resume(first, data)
	}
	return nil, nil
}

func (s *sender) entry(name string) (*mail.Message, []byte, error) {
	box := s.Author.Box
	data, _, err := spool.ReadMail(box.FS, box.Path(spool.Keys, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, &mail.Error{Op: "send", Kind: mail.KindStore, Addr: box.FS.Path(box.Path(spool.Keys, name)), Err: err,
			Hint: "remove that file, or send with --again"}
	}
	first, err := mail.Parse(data)
	if err != nil {
		return nil, nil, nil // no link to a message: it suppresses nothing
	}
	return first, data, nil
}

// counts reports whether a first copy suppresses a second one. By content only
// a recent copy does that nobody has read, answered or done; by the author's
// key any does that has not failed, bounced or expired.
func (s *sender) counts(first *mail.Message, byKey bool) (bool, error) {
	f, err := s.Office.Fate(s.Registry, s.Author, first, s.Office.Sys.Batch())
	if err != nil || f.Failed {
		return false, err
	}
	for _, a := range f.Reached { // a far station that would not have it bounced it
		if c, err := s.Crossing(a, first.ID); a.Far() && (err != nil || c.Refused) {
			return false, err
		}
	}
	if f.Decided && f.Approval != "" && !byKey {
		return false, nil
	}
	if byKey {
		return true, nil
	}
	if s.now.Sub(first.CreatedAt).Abs() > sameWindow || f.Handled {
		return false, nil
	}
	for _, a := range f.Reached {
		read, err := s.readBy(a.AID, first.ID)
		if err != nil || read {
			return false, err
		}
	}
	return true, nil
}

// readBy reports whether a recipient has a read receipt for the message.
func (s *sender) readBy(aid string, id mail.ID) (bool, error) {
	e, ok := s.Registry.EntryByAID(aid)
	if !ok {
		return false, nil
	}
	box, err := s.Office.Box(e)
	if err != nil {
		return false, nil
	}
	seen, err := receiptsOf(box, map[mail.ID]bool{id: true}, othersReceipts, s.now)
	return seen[id].read, err
}

// resume finishes a send that was interrupted between the key and the outbox.
func (s *sender) resume(first *mail.Message, data []byte) error {
	box := s.Author.Box
	f, err := s.Office.Fate(s.Registry, s.Author, first, s.Office.Sys.Batch())
	if err != nil || !f.Lost() || f.Approval != "" {
		return err
	}
	if err = s.clock.Unvouch(); err == nil {
		err = spool.PutNew(box.FS, box.Path(spool.Outbox), spool.FileName(first.ID), data)
	}
	if err == nil || errors.Is(err, fs.ErrExist) {
		err = box.FS.SyncDir(box.Path(spool.Outbox))
	}
	if err != nil {
		s.unsure = true
		return &mail.Error{Op: "store", Kind: mail.KindStore, Addr: "outbox of " + s.Author.Name, Err: err, Hint: "free some space, then send it again"}
	}
	return nil
}

// pruneEvery and pruneMost: on average each send looks at two entries, so that
// they go faster than they come and no send pays for all.
const (
	pruneEvery = 64
	pruneMost  = 2 * pruneEvery
)

// prune removes, now and then, content entries that are too old to suppress
// anything: some of them, those from another place on each time.
func (s *sender) prune() {
	box := s.Author.Box
	if s.now.UnixMilli()%pruneEvery != 0 {
		return
	}
	names, err := box.FS.ReadNames(box.Path(spool.Keys))
	if err != nil || len(names) == 0 {
		return
	}
	start := int(uint64(s.now.UnixMilli()/pruneEvery) % uint64(len(names)))
	for i := range min(pruneMost, len(names)) {
		n := names[(start+i)%len(names)]
		if !strings.HasPrefix(n, contentKey) {
			continue
		}
		fi, err := box.FS.Lstat(box.Path(spool.Keys, n))
		if err == nil && s.now.Sub(fi.ModTime()) > 2*sameWindow {
			box.FS.Remove(box.Path(spool.Keys, n))
		}
	}
}
