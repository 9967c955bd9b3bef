package registry

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
)

// Speaks reports whether the entry is no agent but what another station's office
// says: bounces, notices, reminders. Nobody writes to it, and no list shows it.
func (e Entry) Speaks() bool {
	local, station := mail.SplitStation(e.Name)
	return station != "" && local == mail.NamePostroom
}

// PutFar makes the entries of one station what it says of its agents, in one
// edit: new ones are added, those that it knows are brought up to date (a new
// name makes the old one an alias), and those that it no longer lists are
// archived. Entries carry AID, Name, Role, Runtime, Archived, and for new ones
// InboxPath and Joined. An aid or a name that is somebody else's is refused, by
// itself, and changes nothing: what a station says may not touch an agent of
// ours or of a third station (docs/adr/0035). changed says whether anything did.
func (r *Registry) PutFar(station string, list []Entry) (changed bool, refused []error, err error) {
	if _, err := mail.ParseStation(station); err != nil {
		return false, nil, err
	}
	err = r.edit("register far agents", station, func(d *document) error {
		f := far{doc: d, station: station, held: map[string]string{}, byAID: map[string]int{}, listed: map[string]bool{}, coming: map[string]bool{}}
		f.index()
		for _, e := range list {
			f.coming[e.AID] = true
		}
		for _, e := range list {
			if err := f.put(e); err != nil {
				refused = append(refused, err)
			}
		}
		f.archiveRest()
		changed = f.changed
		return nil
	})
	return changed, refused, err
}

// far is one PutFar under way.
type far struct {
	doc     *document
	station string
	held    map[string]string // names, aliases, channels: by whose aid, "" for no agent's
	byAID   map[string]int
	coming  map[string]bool // aids of the list
	listed  map[string]bool // of these, what was taken
	changed bool
}

func (f *far) index() {
	for i, e := range f.doc.agents {
		f.byAID[e.AID] = i
		for _, n := range append([]string{e.Name}, e.Aliases...) {
			f.held[n] = e.AID
		}
	}
}

func (f *far) put(e Entry) error {
	refuse := func(kind mail.Kind, why error) error {
		return &mail.Error{Op: "register far agent", Kind: kind, Addr: e.Name, Err: why, Hint: "see post link status"}
	}
	e.Station = f.station
	if err := e.check(); err != nil {
		return refuse(mail.KindInvalid, err)
	}
	i, known := f.byAID[e.AID]
	if known && f.doc.agents[i].Station != f.station {
		return refuse(mail.KindConflict, fmt.Errorf("its aid %s is %s's", e.AID, f.doc.agents[i].Name))
	}
	if aid, taken := f.held[e.Name]; taken && aid != e.AID && !f.vacate(aid, e.Name) {
		return refuse(mail.KindConflict, fmt.Errorf("the name is that of another agent, %s", aid))
	}
	if f.listed[e.AID] {
		return refuse(mail.KindConflict, fmt.Errorf("the aid %s stands twice", e.AID))
	}
	f.listed[e.AID], f.held[e.Name] = true, e.AID
	if known {
		f.update(&f.doc.agents[i], e)
		return nil
	}
	if e.Transcript == "" {
		e.Transcript = f.freeTranscript(e)
	}
	f.byAID[e.AID] = len(f.doc.agents)
	f.doc.agents = append(f.doc.agents, e.clone())
	f.changed = true
	return nil
}

// vacate frees a name that an agent of the same station has who is there no more:
// the station was made anew, under a key that a person trusts, and its bob is
// another bob by aid. The one before keeps its mail, and gets a name that says so.
func (f *far) vacate(aid, name string) bool {
	i, known := f.byAID[aid]
	if !known || f.doc.agents[i].Station != f.station || f.coming[aid] {
		return false
	}
	local, _ := mail.SplitStation(name)
	was := local[:min(len(local), 48)] + ".was-" + shortOf(aid) + "@" + f.station
	if _, taken := f.held[was]; taken {
		return false
	}
	e := f.doc.agents[i].clone()
	e.Aliases = slices.DeleteFunc(e.Aliases, func(a string) bool { return a == name })
	if e.Name == name {
		if e.Transcript == "" {
			e.Transcript = defaultTranscript(e.Name)
		}
		e.Name = was
		f.held[was] = aid
	}
	e.Archived = true
	f.doc.agents[i], f.changed = e, true
	return true
}

// freeTranscript is the usual file, or one of its own if another agent of that
// name had it.
func (f *far) freeTranscript(e Entry) string {
	file := defaultTranscript(e.Name)
	if slices.ContainsFunc(f.doc.agents, func(a Entry) bool { return a.Transcript == file }) {
		file = strings.TrimSuffix(file, ".md") + "." + shortOf(e.AID) + ".md"
	}
	return file
}

// shortOf tells agents of one name apart.
func shortOf(aid string) string {
	sum := sha256.Sum256([]byte(aid))
	return hex.EncodeToString(sum[:3])
}

func (f *far) update(was *Entry, e Entry) {
	if was.Name == e.Name && was.Role == e.Role && was.Runtime == e.Runtime && was.Archived == e.Archived {
		return
	}
	now := was.clone()
	now.rename(e.Name)
	now.Role, now.Runtime, now.Archived = e.Role, e.Runtime, e.Archived
	*was, f.changed = now, true
}

func (f *far) archiveRest() {
	for i := range f.doc.agents {
		if e := &f.doc.agents[i]; e.Station == f.station && !f.listed[e.AID] && !e.Archived {
			e.Archived, f.changed = true, true
		}
	}
}

// Namesakes lists the agents in service at other stations that are, or were,
// called name there, sorted by what they are called now.
func (r *Registry) Namesakes(name string) []policy.Agent {
	if name == "" || strings.ContainsAny(name, `"\@`) {
		return nil
	}
	var list []policy.Agent
	was := []byte(`"` + name + "@")
	for l := range r.lines() {
		if l.archived || !l.far() {
			continue
		}
		if n := len(name); len(l.name) > n && l.name[n] == '@' && string(l.name[:n]) == name || bytes.Contains(l.aliases, was) {
			list = append(list, l.agent())
		}
	}
	slices.SortFunc(list, func(a, b policy.Agent) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Stations lists the stations that agents are registered of, in service or not,
// sorted.
func (r *Registry) Stations() []string {
	seen := map[string]bool{}
	var list []string
	for l := range r.lines() {
		if s := l.agent().Station; s != "" && !seen[s] {
			seen[s], list = true, append(list, s)
		}
	}
	slices.Sort(list)
	return list
}
