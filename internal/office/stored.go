package office

import (
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/spool"
)

// Stored is a message that this process has just put into an outbox: what a
// pass of the same process need not read again.
type Stored struct {
	Draft spool.Draft
	Msg   *mail.Message
}

// NoteStored remembers what was stored for one author last, and nothing that was
// stored before.
func (o *Office) NoteStored(tag string, list []Stored) {
	byName := make(map[string]Stored, len(list))
	for _, s := range list {
		byName[s.Draft.Name] = s
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.storedBy, o.stored = tag, byName
}

// TakeStored returns what was noted of an author's outbox file, once, if the
// file is still the one that was written.
func (o *Office) TakeStored(a Author, name string) (Stored, bool) {
	o.mu.Lock()
	s, ok := o.stored[name]
	ok = ok && o.storedBy == a.Tag()
	if ok {
		delete(o.stored, name)
	}
	o.mu.Unlock()
	return s, ok && a.Box.Unchanged(s.Draft)
}
