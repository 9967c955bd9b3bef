package registry

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/postroom/postroom/internal/mail"
)

// Edits work on a copy and take effect whole or not at all; Save makes them
// durable. Errors are KindNotFound (no such agent or channel), KindConflict
// (a name is taken, a channel exists) or KindInvalid.

// Add registers a new agent.
func (r *Registry) Add(e Entry) error {
	for _, n := range append([]string{e.Name}, e.Aliases...) {
		if err := r.free("add agent", n, e.Station, ""); err != nil {
			return err
		}
	}
	if first, taken := r.EntryByAID(e.AID); taken {
		return conflict("add agent", e.Name, fmt.Errorf("the aid %s is %s's", e.AID, first.Name), "make a new aid")
	}
	if e.Transcript == "" {
		e.Transcript = defaultTranscript(e.Name)
	}
	return r.edit("add agent", e.Name, func(d *document) error {
		d.agents = append(d.agents, e.clone())
		return nil
	})
}

// Update changes an agent's other fields. Name, aid and aliases stay: Rename
// is for names.
func (r *Registry) Update(aid string, fn func(*Entry)) error {
	return r.editAgent("update agent", aid, func(e *Entry) error {
		was := e.clone()
		fn(e)
		if e.AID != was.AID || e.Name != was.Name || e.Station != was.Station || !slices.Equal(e.Aliases, was.Aliases) {
			return errors.New("an update may not touch aid, name, station or aliases")
		}
		return nil
	})
}

// Rename gives an agent a new name; the old one stays its alias for ever. An
// agent may take one of its own aliases back.
// What a far agent is called is its own station's to say: see PutFar.
func (r *Registry) Rename(aid, name string) error {
	if l, ok := r.byAID(aid); ok && l.agent().Far() {
		return &mail.Error{Op: "rename agent", Kind: mail.KindRule, Addr: string(l.name),
			Err: errors.New("is an agent of another station"), Hint: "rename it there: this office is told over the link"}
	}
	if err := r.free("rename agent", name, "", aid); err != nil {
		return err
	}
	return r.editAgent("rename agent", aid, func(e *Entry) error {
		e.rename(name)
		return nil
	})
}

func (e *Entry) rename(name string) {
	if e.Name == name {
		return
	}
	e.Aliases = slices.DeleteFunc(e.Aliases, func(a string) bool { return a == name })
	e.Aliases = append(e.Aliases, e.Name)
	if e.Transcript == "" {
		e.Transcript = defaultTranscript(e.Name) // one file for ever (design §10)
	}
	e.Name = name
}

// Archive takes an agent out of service or back. Its names stay its own.
func (r *Registry) Archive(aid string, archived bool) error {
	return r.editAgent("archive agent", aid, func(e *Entry) error {
		e.Archived = archived
		return nil
	})
}

// AddChannel makes a channel of agents, by aid, in any order. The same members
// are the same channel, so a second one with them is refused and the first
// named (design §4). A retired channel's name may come back as a channel.
func (r *Registry) AddChannel(name string, aids ...string) error {
	retired := r.isRetired(name)
	if !retired {
		if err := r.free("create channel", name, "", ""); err != nil {
			return err
		}
	}
	return r.editMembers("create channel", name, func(d *document) error {
		d.retired = slices.DeleteFunc(d.retired, func(n string) bool { return n == name })
		d.channels = append(d.channels, Channel{Name: name})
		return nil
	}, func([]string) []string { return slices.Clone(aids) })
}

// AddMember adds an agent to a channel; one that is in it already stays.
func (r *Registry) AddMember(channel, aid string) error {
	return r.editMembers("add member", channel, nil, func(m []string) []string { return append(m, aid) })
}

// RemoveMember takes an agent out of a channel.
func (r *Registry) RemoveMember(channel, aid string) error {
	if c, ok := r.Channel(channel); ok && !slices.Contains(c.Members, aid) {
		return notFound("remove member", channel, fmt.Errorf("%s is no member", aid))
	}
	return r.editMembers("remove member", channel, nil, func(m []string) []string {
		return slices.DeleteFunc(m, func(a string) bool { return a == aid })
	})
}

// RemoveChannel ends a channel. No agent ever gets its name.
func (r *Registry) RemoveChannel(name string) error {
	return r.edit("remove channel", name, func(d *document) error {
		i := slices.IndexFunc(d.channels, func(c Channel) bool { return c.Name == name })
		if i < 0 {
			return notFound("remove channel", name, errors.New("no such channel"))
		}
		d.channels = slices.Delete(d.channels, i, i+1)
		d.retired = append(d.retired, name)
		return nil
	})
}

// Suggest lists at most three names close to name: agents in service and
// channels.
func (r *Registry) Suggest(name string) []string {
	var known []string
	for l := range r.lines() {
		if !l.archived && !bytes.HasPrefix(l.name, []byte(mail.NamePostroom+"@")) {
			known = append(known, string(l.name))
		}
	}
	for c := range r.channelLines() {
		known = append(known, c.Name)
	}
	return mail.Suggest(name, known)
}

// free checks that name is valid at the station and belongs to nobody, or to aid.
func (r *Registry) free(op, name, station, aid string) error {
	if station == "" {
		if _, err := mail.ParseName(name); err != nil {
			return err
		}
	} else if err := checkNameAt(name, station); err != nil {
		return &mail.Error{Op: op, Kind: mail.KindInvalid, Addr: name, Err: err}
	}
	const hint = "choose another name"
	if l, taken := r.byName(name); taken && string(l.aid) != aid {
		owner := "agent " + string(l.name)
		if l.archived {
			owner = "archived " + owner
		}
		return conflict(op, name, fmt.Errorf("the name is taken by %s", owner), hint)
	}
	if _, taken := r.Channel(name); taken {
		return conflict(op, name, errors.New("the name is taken by a channel"), hint)
	}
	if r.isRetired(name) {
		return conflict(op, name, errors.New("the name was a channel's"), hint)
	}
	return nil
}

func (r *Registry) isRetired(name string) bool {
	d, err := r.document()
	return err == nil && slices.Contains(d.retired, name)
}

func (r *Registry) editAgent(op, aid string, fn func(*Entry) error) error {
	return r.edit(op, aid, func(d *document) error {
		i := slices.IndexFunc(d.agents, func(e Entry) bool { return e.AID == aid })
		if i < 0 {
			return notFound(op, aid, errors.New("no agent has this aid"))
		}
		e := d.agents[i].clone()
		err := fn(&e)
		d.agents[i] = e
		return err
	})
}

// editMembers runs before, if any, then changes a channel's members and
// refuses a set that another channel has.
func (r *Registry) editMembers(op, name string, before func(*document) error, fn func([]string) []string) error {
	return r.edit(op, name, func(d *document) error {
		if before != nil {
			if err := before(d); err != nil {
				return err
			}
		}
		i := slices.IndexFunc(d.channels, func(c Channel) bool { return c.Name == name })
		if i < 0 {
			return notFound(op, name, errors.New("no such channel"))
		}
		members := fn(slices.Clone(d.channels[i].Members))
		slices.Sort(members)
		members = slices.Compact(members)
		for j, c := range d.channels {
			if j != i && len(members) > 0 && slices.Equal(c.Members, members) {
				return conflict(op, name, fmt.Errorf("channel %s has the same members", c.Name), "use "+c.Name)
			}
		}
		d.channels[i].Members = members
		return nil
	})
}

// edit applies fn to a copy of the document and keeps it if every invariant
// still holds.
func (r *Registry) edit(op, addr string, fn func(*document) error) error {
	was, err := r.document()
	if err != nil {
		return &mail.Error{Op: op, Kind: mail.KindCorrupt, Addr: addr, Err: err}
	}
	d := was.clone()
	if err = fn(d); err == nil {
		err = d.check()
	}
	if err != nil {
		if mail.KindOf(err) != mail.KindStore {
			return err
		}
		return &mail.Error{Op: op, Kind: mail.KindInvalid, Addr: addr, Err: err}
	}
	r.doc = d
	r.set(encode(d))
	return nil
}

// document parses the registry for an edit.
func (r *Registry) document() (*document, error) {
	if r.doc != nil {
		return r.doc, nil
	}
	raw := make([]byte, r.onDisk.size)
	if err := readAt(r.file, raw, 0); err != nil {
		return nil, err
	}
	if stampOf(raw) != r.onDisk {
		return nil, errors.New("the file changed since it was read")
	}
	d, err := parse(raw)
	if err != nil {
		return nil, err
	}
	r.doc, r.loaded = d, len(d.agents)
	return d, nil
}

func (d *document) clone() *document {
	c := &document{
		agents: slices.Clone(d.agents), channels: slices.Clone(d.channels),
		retired: slices.Clone(d.retired), extra: d.extra,
	}
	return c
}

func (e Entry) clone() Entry {
	e.Aliases, e.Notify, e.Launch = slices.Clone(e.Aliases), slices.Clone(e.Notify), slices.Clone(e.Launch)
	e.Extra = maps.Clone(e.Extra)
	return e
}

func notFound(op, addr string, err error) error {
	return &mail.Error{Op: op, Kind: mail.KindNotFound, Addr: addr, Err: err}
}

func conflict(op, addr string, err error, hint string) error {
	return &mail.Error{Op: op, Kind: mail.KindConflict, Addr: addr, Err: err, Hint: hint}
}
