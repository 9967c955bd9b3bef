package link

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/station"
	"github.com/postroom/postroom/internal/vfs"
)

// peersDir has a file for each station that was ever seen.
const peersDir = station.Dir + "/peers"

// pinned is link/peers/<station>.json: the keys that were seen first, or that
// the ones before vouched for. They never change by what the hub says.
type pinned struct {
	V       int       `json:"v"`
	Station string    `json:"station"`
	Office  string    `json:"office"`
	Key     string    `json:"key"`
	Curve   string    `json:"curve"`
	Former  []string  `json:"former,omitempty"` // keys before, which count no more
	First   time.Time `json:"first"`            // seen
	At      time.Time `json:"at"`               // of the newest card
	Revoked bool      `json:"revoked,omitempty"`
	// Offered is another key than Key that the station's card has: a person has to
	// say that it is right (post link trust).
	Offered string  `json:"offered,omitempty"`
	Agents  []Agent `json:"agents,omitempty"`
}

// Trust makes the key that a station offers its key from now on, and returns
// its fingerprint. KindNotFound: there is none to trust. A link that runs sees it
// within a second.
func Trust(fsys vfs.FS, name string) (string, error) {
	p, err := readPeer(fsys, name)
	if err != nil || p.Offered == "" {
		return "", &mail.Error{Op: "trust station", Kind: mail.KindNotFound, Addr: name,
			Err: errors.New("it offers no other key than the one that is known"), Hint: "see post link status"}
	}
	p.Former = append(p.Former, p.Key)
	p.Key, p.Offered, p.At = p.Offered, "", time.Time{}
	return Fingerprint(p.Key), writePeer(fsys, p)
}

func readPeer(fsys vfs.FS, name string) (pinned, error) {
	var p pinned
	data, _, err := spool.ReadFile(fsys, peersDir+"/"+name+".json", 16<<20)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	return p, err
}

func writePeer(fsys vfs.FS, p pinned) error {
	p.V = 1
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := makeDirs(fsys, station.Dir, peersDir); err != nil {
		return err
	}
	return replaceDurably(fsys, peersDir, p.Station+".json", append(data, '\n'))
}

// peer is one far station at work.
type peer struct {
	pinned
	in        inbound
	out       outbound
	inLog     ledger
	outLog    ledger
	queue     []*parting // what has not arrived there, in order
	byID      map[mail.ID]*parting
	held      map[uint64]string // what came in behind a gap: number to file name
	heldOf    string            // the epoch of held
	heldAt    time.Time         // since when
	heldSize  int               // bytes that were held since then
	asked     time.Time         // when what is missing was asked for
	events    []Event           // to be reported
	sayHave   bool              // report the sequence even without events
	sayAgain  bool              // ask for all that did not arrive
	clash     bool
	haveDirty bool                  // out.have is not on disk yet
	reporting bool                  // a report is on its way
	mute      time.Time             // nothing is reported before this
	strangers map[mail.ID]time.Time // mail of authors who are not on the card yet, since when
	blocked   time.Time             // nothing is published before this
	trouble   string
	heard     time.Time
	heardMono time.Time
	sent      []uint64 // numbers that the hub took and the ledger does not know yet
	linesAt   time.Time
	setBack   time.Time // it may not say before this that all has to be sent again
	againAt   time.Time // the same of what did not arrive
	unsynced  bool      // its agents are not in the address book yet
	card      []byte    // as it was taken last
}

// loadPeers reads all that is on disk about far stations.
func (e *engine) loadPeers() error {
	names, err := e.fs().ReadNames(peersDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	slices.Sort(names)
	for _, n := range names {
		name, ok := strings.CutSuffix(n, ".json")
		if !ok || spool.Hidden(n) {
			continue
		}
		p, err := readPeer(e.fs(), name)
		if err != nil || p.Station != name {
			e.setAside(name, "link/peers/"+n)
			continue
		}
		if _, err := e.addPeer(p); err != nil {
			e.setAside(name, "link/in/"+name+".jsonl or link/held/"+name+": "+line(err))
		}
	}
	return nil
}

// setAside leaves one station alone, so that the others have their mail. Its key
// is not learned anew from a card: who could spoil a file would choose it.
func (e *engine) setAside(name, what string) {
	e.broken[name] = true
	delete(e.peers, name)
	e.alarm(name, "what is known of it cannot be read ("+what+"); its mail waits")
}

func (e *engine) addPeer(p pinned) (*peer, error) {
	q := &peer{pinned: p, byID: map[mail.ID]*parting{}, held: map[uint64]string{}, unsynced: true,
		inLog: newLedger(e.fs(), "in", p.Station), outLog: newLedger(e.fs(), "out", p.Station)}
	q.out.seqs = map[mail.ID]uint64{}
	if err := q.inLog.each(q.in.note); err != nil {
		return nil, err
	}
	q.sayHave = q.in.epoch != ""
	e.peers[p.Station] = q
	return q, e.loadHeld(q)
}

// readCards brings what is known of the other stations up to date.
func (e *engine) readCards(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cards, err := e.wire.Cards(ctx)
	if err != nil {
		e.cardsAt = e.mono().Add(cardsRetry)
		return
	}
	e.cardsRead = e.mono()
	e.cardsAt = e.cardsRead.Add(cardsEvery)
	for name, c := range cards {
		if name == e.id.Station {
			if own, err := readCard(c.Data, e.id.Team, name); err == nil && own.At.After(e.cardAt) {
				e.cardAt = own.At
			}
			continue
		}
		if _, err := mail.ParseStation(name); err != nil {
			continue
		}
		if err := e.seeCard(name, c); err != nil {
			e.alarm(name, "its card was not taken: "+line(err))
		}
	}
}

// seeCard takes one station's card. What the hub says counts only with the
// signature of the key that was seen first.
func (e *engine) seeCard(name string, c Card) error {
	p := e.peers[name]
	if e.broken[name] {
		return nil
	}
	if c.Revoked {
		if p != nil && c.RevokedKey != "" && slices.Contains(p.Former, c.RevokedKey) {
			return nil // of a key that it has no more: somebody shows the mark again
		}
		if p != nil && !p.Revoked {
			p.Revoked, p.unsynced = true, true
			e.alarm(name, "it was revoked, or has left: nothing goes there or comes from there any more")
			return writePeer(e.fs(), p.pinned)
		}
		return nil
	}
	if p != nil && bytes.Equal(c.Data, p.card) && p.Offered == "" && !p.Revoked && !p.At.IsZero() {
		return nil // the same as the last time, and there may be thousands
	}
	about, err := readCard(c.Data, e.id.Team, name)
	if err != nil {
		return err
	}
	if p == nil {
		p, err = e.addPeer(pinned{Station: name, Office: about.Office, Key: about.Key, First: e.now()})
		if err != nil {
			return err
		}
		e.log.Info("a station was seen for the first time", "station", name, "fingerprint", Fingerprint(about.Key))
	}
	now := p.pinned
	now.Revoked = false
	if about.Key != now.Key {
		if !about.vouchedBy(now.Key) {
			if now.Offered != about.Key {
				now.Offered = about.Key
				p.pinned = now
				e.alarm(name, "it has another key, "+Fingerprint(about.Key)+", and the one before does not vouch for it: compare it with post link status there, then run post link trust "+name)
				return writePeer(e.fs(), now)
			}
			return nil
		}
		e.log.Info("a station has a new key", "station", name, "fingerprint", Fingerprint(about.Key))
		now.Former = append(now.Former, now.Key)
		now.Former = now.Former[max(0, len(now.Former)-rotationsKept):]
		now.Key = about.Key
	}
	p.card = c.Data
	if !about.At.After(p.At) && now.Key == p.Key && now.Revoked == p.Revoked {
		return nil
	}
	p.heardMono = e.mono() // it is there, so it fetches its mail
	now.Curve, now.Office, now.Agents, now.At, now.Offered = about.Curve, about.Office, about.Agents, about.At, ""
	if now.sameBut(p.pinned) {
		p.At = now.At // not worth a write
		return nil
	}
	if err := writePeer(e.fs(), now); err != nil {
		p.card = nil
		return err
	}
	p.pinned, p.unsynced, e.statusDue = now, true, true
	return nil
}

// sameBut reports whether two differ in nothing but the time.
func (p pinned) sameBut(q pinned) bool {
	p.At = q.At
	return reflect.DeepEqual(p, q)
}

// syncBook gives the agents of the stations that changed their mailboxes here.
func (e *engine) syncBook(ctx context.Context) {
	var due []*peer
	for _, p := range e.sorted() {
		if p.unsynced {
			due = append(due, p)
		}
	}
	if len(due) == 0 || e.mono().Before(e.bookAt) {
		return
	}
	e.bookAt = e.mono().Add(time.Second)
	err := e.withLease(ctx, func() error {
		reg, err := e.office.Registry()
		if err != nil {
			return err
		}
		changed := false
		for _, p := range due {
			did, refused, err := e.office.SetFar(reg, p.Station, p.far())
			if err != nil {
				return err
			}
			for _, r := range refused {
				e.alarm(p.Station, line(r))
			}
			changed = changed || did
		}
		if !changed {
			return nil
		}
		return reg.Save(e.fs())
	})
	if err != nil {
		e.log.Warn("the address book could not be brought up to date; trying again", "error", line(err))
		return
	}
	for _, p := range due {
		p.unsynced = false
		if p.Revoked {
			e.refuseAll(p, revokedWhy(p))
		}
	}
}

func revokedWhy(p *peer) string { return "the station " + p.Station + " was revoked, or has left" }

// far lists its agents as the address book takes them; nil for one that is out.
func (p *peer) far() []office.FarAgent {
	if p.Revoked {
		return nil
	}
	out := []office.FarAgent{}
	for _, a := range p.Agents {
		out = append(out, office.FarAgent{Name: a.Name, AID: a.AID, Role: a.Role, Runtime: a.Runtime, Archived: a.Archived})
	}
	return out
}

// putCard publishes this station's card when its agents changed.
func (e *engine) putCard(ctx context.Context) {
	reg, err := e.registry()
	if err != nil {
		return
	}
	about, err := e.about(reg)
	if err != nil {
		e.log.Error("the card cannot be made", "error", line(err))
		return
	}
	same := about
	same.At = time.Time{}
	text, _ := json.Marshal(same)
	if string(text) == e.cardSaid && e.mono().Before(e.cardAgain) {
		return
	}
	data, err := e.keys.signCard(about)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		err = e.wire.PutCard(ctx, data)
	}
	if err != nil {
		e.cardDue = true
		return
	}
	e.cardAt = about.At
	e.cardSaid, e.cardAgain = string(text), e.mono().Add(cardsEvery)
}

// cardTime is later than that of every card before, whatever the clock says.
func (e *engine) cardTime() time.Time {
	if now := e.now(); now.After(e.cardAt) {
		return now
	}
	return e.cardAt.Add(time.Millisecond)
}

func (e *engine) about(reg *registry.Registry) (About, error) {
	a := About{V: 1, Team: e.id.Team, Station: e.id.Station, Office: e.office.Config.ID, At: e.cardTime(), Rotated: e.rotated}
	var err error
	if a.Key, err = e.keys.Sign.PublicKey(); err != nil {
		return a, err
	}
	if a.Curve, err = e.keys.Curve.PublicKey(); err != nil {
		return a, err
	}
	for x := range reg.All() {
		if x.Station == "" {
			a.Agents = append(a.Agents, Agent{Name: x.Name, AID: x.AID, Role: x.Role, Runtime: x.Runtime, Archived: x.Archived})
		}
	}
	return a, nil
}
