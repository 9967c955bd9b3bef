package office

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
)

// FarAgent is what another station says of one of its agents.
type FarAgent struct {
	Name     string // there: "bob", not bob@lab
	AID      string // there and here
	Role     string
	Runtime  string
	Archived bool
}

// SetFar makes the address book hold what a station says of its agents, and
// gives each of them a mailbox here, which the link owns (docs/adr/0035). The
// station's person and what its office says, human@ and postroom@station, are
// added. Who is no longer listed is archived; nil archives all of them, and the
// station with them. Repeating it changes nothing.
//
// The caller holds the lease, has reg from o.Registry, and saves it if changed
// is true; the mailboxes are durable by then. What a station may not say, such
// as an aid that is an agent's of ours, is refused one by one and stops nothing
// else.
func (o *Office) SetFar(reg *registry.Registry, station string, agents []FarAgent) (changed bool, refused []error, err error) {
	if station == o.Station() {
		return false, nil, &mail.Error{Op: "register far agents", Kind: mail.KindInvalid, Addr: station,
			Err: errors.New("is this office's own name on the link"), Hint: "see post link status"}
	}
	var list []registry.Entry
	add := func(a FarAgent) {
		name := a.Name + "@" + station
		dir := name
		if had, ok := reg.Entry(name); ok && had.AID != a.AID { // one who is gone keeps the mailbox
			dir += "." + a.AID
		}
		list = append(list, registry.Entry{
			AID: a.AID, Name: name, Role: a.Role, Runtime: a.Runtime, Archived: a.Archived,
			InboxPath: filepath.Join(o.Dir, AgentsDir, dir, spool.Inbox), Joined: o.Sys.Now().UTC(),
		})
	}
	for _, a := range agents {
		if mail.Reserved(a.Name) || mail.ReservedAID(a.AID) {
			refused = append(refused, &mail.Error{Op: "register far agent", Kind: mail.KindInvalid, Addr: a.Name + "@" + station,
				Err: errors.New("no agent has this name or aid"), Hint: "see post link status"})
			continue
		}
		add(a)
	}
	if agents != nil {
		for _, name := range []string{mail.NameHuman, mail.NamePostroom} {
			add(FarAgent{Name: name, AID: mail.FarAID(name, station)})
		}
	}
	known := map[string]bool{}
	for _, a := range list {
		_, known[a.AID] = reg.ByAID(a.AID)
	}
	changed, more, err := reg.PutFar(station, list)
	if err == nil && changed {
		err = o.makeFar(reg, station, known)
	}
	return changed, append(refused, more...), err
}

// makeFar makes the mailboxes that a station's agents lack, durably. One of an
// agent that is not registered yet may be a dead process's, and not synced.
func (o *Office) makeFar(reg *registry.Registry, station string, known map[string]bool) error {
	batch := o.Sys.Batch()
	for e := range reg.All() {
		if e.Station != station {
			continue
		}
		box, err := o.Box(e)
		if err != nil {
			return err
		}
		if _, err := box.FS.Lstat(box.Path(spool.Inbox)); known[e.AID] && !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := box.MakeUnsynced(); err != nil {
			return &mail.Error{Op: "make mailbox", Kind: mail.KindStore, Addr: e.Name, Err: err}
		}
		box.SyncAll(batch)
	}
	return batch.Flush()
}
