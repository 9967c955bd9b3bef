package link

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/station"
)

// markFile says up to where the journal was reported. It may lie behind: what is
// reported again changes nothing.
const markFile = "follow.json"

// markEvery is how often it is written at most.
const markEvery = time.Second

// placeMark is where the follower stands, as it is on disk.
type placeMark struct {
	journal.Place
	at time.Time
}

// load reads all that is on disk.
func (e *engine) load() error {
	if err := e.loadSuspects(); err != nil {
		return err
	}
	if err := e.loadPeers(); err != nil {
		return err
	}
	data, _, err := spool.ReadFile(e.fs(), station.Dir+"/"+markFile, 4096)
	if err == nil && json.Unmarshal(data, &e.place.Place) == nil {
		e.follower = journal.FollowFrom(e.place.Place)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if e.rotated, err = readRotated(e.fs()); err != nil {
		return err
	}
	waiting := map[string]map[mail.ID]bool{}
	reg, err := e.registry()
	if err != nil {
		return err
	}
	for x := range reg.All() {
		if x.Station == "" {
			continue
		}
		box, err := e.office.Box(x)
		if err != nil {
			continue
		}
		names, err := box.FS.ReadNames(box.Path(spool.Inbox))
		if err != nil {
			continue
		}
		for _, n := range names {
			if id, ok := idOf(n); ok {
				if waiting[x.Station] == nil {
					waiting[x.Station] = map[mail.ID]bool{}
				}
				waiting[x.Station][id] = true
			}
		}
	}
	for _, p := range e.peers {
		if err := p.outLog.each(func(x entry) { p.out.note(x, func(id mail.ID) bool { return waiting[p.Station][id] }) }); err != nil {
			e.setAside(p.Station, "link/out/"+p.Station+".jsonl: "+line(err))
			continue
		}
		p.out.forget()
	}
	return nil
}

// saveMark notes how far the journal was reported, once all that it said is
// with the hub.
func (e *engine) saveMark() {
	for _, p := range e.peers {
		if !p.Revoked && (len(p.events) > 0 || p.reporting) {
			return
		}
	}
	now := e.follower.Place()
	if now == e.place.Place || e.mono().Sub(e.place.at) < markEvery {
		return
	}
	data, err := json.Marshal(now)
	if err == nil {
		err = spool.Replace(e.fs(), station.Dir, markFile, append(data, '\n'))
	}
	if err == nil {
		e.place = placeMark{now, e.mono()}
	}
}

// follow reads what happened in the office since: mail for far agents, and what
// became of mail of far authors.
func (e *engine) follow() {
	reg, err := e.registry()
	if err != nil {
		return
	}
	if err := e.follower.Next(e.fs(), func(r journal.Record) error {
		e.record(reg, r)
		return nil
	}); err != nil {
		e.log.Warn("the journal cannot be read; trying again", "error", line(err))
	}
}

func (e *engine) record(reg *registry.Registry, r journal.Record) {
	_, there := mail.SplitStation(r.Agent)
	switch r.Event {
	case journal.Joined, journal.Archived, journal.Renamed:
		e.cardDue = e.cardDue || there == ""
	case journal.Delivered, journal.Redelivered:
		if there != "" {
			if x, ok := reg.EntryByAID(r.AID); ok && x.Station == there {
				e.part(x, r.ID, r.Digest)
			}
			return
		}
	}
	if there == "" && r.ID != "" {
		e.became(reg, r)
	}
}

// became reports what happened to a far author's message.
func (e *engine) became(reg *registry.Registry, r journal.Record) {
	ev := Event{ID: r.ID, AID: r.AID, At: r.At, Text: r.Detail["evidence"]}
	switch r.Event {
	case journal.Delivered, journal.Redelivered:
		ev.Event, ev.Text = mail.EventArrived, "inbox "+strconv.FormatUint(r.Seq, 10)
	case journal.Surfaced, journal.Read, journal.Done:
		ev.Event = r.Event // the same words
	case journal.Bounced:
		ev.Event, ev.AID, ev.Text, ev.Told = mail.EventRefused, bouncedAID(reg, r.Agent), r.Detail["reason"], true
	case journal.Escalated:
		ev.Event, ev.AID, ev.Text = mail.EventArrived, thePerson, "a person, as "+r.Detail["approval"]
	default:
		return
	}
	p := e.peers[e.origin(r)]
	if p == nil {
		return
	}
	if ev.Event == mail.EventArrived {
		if r.Event == journal.Escalated && !e.forPerson(r.ID) {
			return // a person is asked whether it may pass: nobody has it yet
		}
		if ev.Digest = e.digestOf(p, r.ID); ev.Digest == "" {
			return // a crash came before it was noted: it comes in again, and is answered then
		}
	}
	e.tell(p, ev)
}

// bouncedAID is whom a bounce concerns; "" is everybody.
func bouncedAID(reg *registry.Registry, agent string) string {
	if a, ok := reg.Agent(agent); ok {
		return a.AID
	}
	if aid, err := strconv.Unquote(agent); err == nil {
		return aid
	}
	return ""
}

// forPerson reports whether a message was addressed to this office's person.
func (e *engine) forPerson(id mail.ID) bool {
	m, _, err := e.office.ReadMessage(id)
	return err == nil && (m.To == mail.NameHuman || slices.Contains(m.CC, mail.NameHuman))
}

// origins remembers of which station a message is: "" is this one.
type origins struct{ young, old map[mail.ID]string }

// originsMax bounds each of the two generations.
const originsMax = 20000

func (o *origins) add(id mail.ID, station string) {
	if o.young == nil || len(o.young) >= originsMax {
		o.old, o.young = o.young, make(map[mail.ID]string)
	}
	o.young[id] = station
}

func (o *origins) find(id mail.ID) (string, bool) {
	s, ok := o.young[id]
	if !ok {
		if s, ok = o.old[id]; ok {
			o.add(id, s)
		}
	}
	return s, ok
}

// origin is the station whose author wrote the message of a record: by what this
// office says, since another station may name anybody's id.
func (e *engine) origin(r journal.Record) string {
	from := r.From
	if from == "" {
		if s, ok := e.origins.find(r.ID); ok {
			return s
		}
		if m, _, err := e.office.ReadMessage(r.ID); err == nil {
			from = m.From
		}
	}
	name, s := mail.SplitStation(from)
	if p := e.peers[s]; p != nil && name == mail.NamePostroom && e.digestOf(p, r.ID) == "" {
		s = "" // a notice that this office wrote in its name: see bounce
	}
	e.origins.add(r.ID, s)
	return s
}

// digestOf is the digest of a far message at home.
func (e *engine) digestOf(p *peer, id mail.ID) mail.Digest {
	if d, ok := p.in.digests[id]; ok {
		return d
	}
	var found mail.Digest
	p.inLog.each(func(x entry) {
		if x.ID == id {
			found = x.Digest
		}
	})
	return found
}
