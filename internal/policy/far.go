package policy

import (
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/mail"
)

// Linked offices (docs/adr/0035). An agent of another station is one with a
// mailbox here, so that the rules are the same for it; what differs is here. A
// plain name is ours if we have it, so that no far station can change what a
// name means here.

// ours takes this office's own station off an address.
func (p *planner) ours(a mail.Address) mail.Address {
	if a.Station == p.s.Station {
		a.Station = ""
	}
	return a
}

// namesakes lists the far agents that a plain name may mean: none if the name is
// ours.
func (p *planner) namesakes(name string) []Agent {
	if p.s.Station == "" {
		return nil
	}
	if _, ok := p.w.Directory.Channel(name); ok {
		return nil
	}
	return p.w.Directory.Namesakes(name)
}

// Canonical is an address as it is kept in a message of a linked office, so that
// the link can say at the other end what it meant here: a far agent's with its
// station, ours without, an orchestrator's by its name. What is nobody's, or not
// certain, stays as it is. In an office that is not linked everything does.
func Canonical(s string, w World) string {
	if w.Settings.Station == "" {
		return s
	}
	addr, err := mail.ParseAddress(s)
	if err != nil {
		return s
	}
	p := &planner{w: w, s: w.Settings}
	switch addr = p.ours(addr); {
	case addr.Kind == mail.AddrBroadcast:
		return s
	case addr.Kind == mail.AddrGod && p.s.Orchestrator != "":
		addr = mail.Address{Kind: mail.AddrAgent, Name: p.s.Orchestrator}
	case addr.Kind != mail.AddrAgent || addr.Station != "":
		return addr.String()
	}
	if _, ok := p.w.Directory.Channel(addr.Name); ok {
		return addr.String()
	}
	if a, fault := p.lookUp(addr); fault == nil && a.Far() {
		return a.Name
	}
	return addr.String()
}

// lookUpFar finds the far agent that a plain name means; false and no fault if
// there is none.
func (p *planner) lookUpFar(name string) (Agent, bool, *Bounce) {
	switch list := p.namesakes(name); len(list) {
	case 0:
		return Agent{}, false, nil
	case 1:
		return list[0], true, nil
	default:
		return Agent{}, false, &Bounce{
			Kind:    mail.KindAmbiguous,
			Reason:  name + " is nobody in this office, and several agents at other stations: " + names(list, ", "),
			Hint:    "say which: " + names(list, " or "),
			Suggest: strings.Split(names(list[:min(len(list), 3)], " "), " "),
		}
	}
}

// unknownFar says why agent@station is nobody.
func (p *planner) unknownFar(addr mail.Address) Bounce {
	b := Bounce{Kind: mail.KindUnknown, Suggest: p.suggest(addr.String())}
	b.Suggest = slices.DeleteFunc(b.Suggest, func(s string) bool { return s == addr.String() })
	there := slices.ContainsFunc(p.w.Directory.Active(), func(a Agent) bool { return a.Station == addr.Station })
	switch {
	case p.s.Station == "":
		b.Reason = addr.String() + " is at another station, and this office is not linked to any"
		b.Hint = "name an agent of this office: post agents"
		b.Suggest = p.suggest(addr.Name)
		return b
	case there:
		b.Reason = "station " + addr.Station + " has no agent " + addr.Name
		b.Hint = "see who is there: post agents"
	default:
		b.Reason = "there is no station " + addr.Station + " on the link that this office knows"
		b.Hint = "see which there are: post link status"
	}
	if len(b.Suggest) > 0 {
		b.Hint = "did you mean " + strings.Join(b.Suggest, " or ") + "?"
	}
	return b
}

// routeFar finds the recipients of what another station's agent wrote: those of
// its envelope and nobody else, since `to` and `cc` are as they read there.
// Names in them that mean nobody here are labels. A station is no relay: nothing
// goes on to a third one.
func (p *planner) routeFar() (*route, *Bounce) {
	addr, err := mail.ParseAddress(p.m.To)
	if err != nil {
		_, fault := p.parse(p.m.To)
		return nil, fault
	}
	addr = p.ours(addr)
	r := &route{as: AsTo, label: addr.String()}
	if addr.Kind == mail.AddrBroadcast {
		r.as, r.label = AsAll, mail.NameAll
	}
	e := p.m.Envelope
	if e == nil {
		e = &mail.Envelope{}
	}
	switch {
	case addr.Kind == mail.AddrHuman && addr.Station == "", p.m.NeedsHuman && p.from == byAgent && !p.farPerson():
		r.person, r.label = true, mail.NameHuman
	default:
		r.to = p.ourOwn(r, e.Recipients)
		sortByName(r.to)
	}
	for _, a := range p.ourOwn(r, e.CC) {
		if !hasAgent(r.to, a.AID) {
			r.cc = addAgent(r.cc, a)
		}
	}
	for _, s := range p.m.CC {
		if a, err := mail.ParseAddress(s); err == nil && a.Kind == mail.AddrHuman && p.ours(a).Station == "" {
			r.ccPerson = !r.person
		}
	}
	return r, p.nobodyHere(r)
}

// ourOwn lists those of aids that are agents of this office; each other one
// becomes a bounce of its own.
func (p *planner) ourOwn(r *route, aids []string) []Agent {
	var list []Agent
	for _, a := range p.known(r, nil, aids) {
		if !a.Far() {
			list = append(list, a)
			continue
		}
		r.dropped = append(r.dropped, Bounce{
			Kind: mail.KindRule, Recipient: a.Name,
			Reason: a.Name + " is at a third station, and this one passes nothing on",
			Hint:   "write to it directly",
		})
	}
	return list
}

// nobodyHere bounces as a whole what reaches nobody of this office.
func (p *planner) nobodyHere(r *route) *Bounce {
	switch {
	case r.person || r.ccPerson || len(r.to)+len(r.cc) > 0:
		return nil
	case len(r.dropped) > 0:
		b := r.dropped[0]
		b.Recipient = ""
		return &b
	}
	return &Bounce{
		Kind:   mail.KindUnknown,
		Reason: "the message to " + quote(p.m.To) + " is for nobody of this office",
		Hint:   "see who is there: post agents",
	}
}

// farPerson reports whether another station's person wrote the message.
func (p *planner) farPerson() bool {
	name, station := mail.SplitStation(p.name)
	return p.w.Sender.Far() && station != "" && name == mail.NameHuman
}

// waived settles what another station's office lets agents of this one off: what
// they owe that station's own people and agents, and nothing else. Its notice to
// them says so.
func (p *planner) waived(r *route) (out []Action) {
	q := p.parent()
	if p.from != byOffice || !p.w.Sender.Far() || q == nil || !q.Obliges || !p.m.Waives() {
		return nil
	}
	if _, station := mail.SplitStation(q.From); station != p.w.Sender.Station {
		return nil
	}
	for _, a := range r.to {
		out = append(out, Settle{Parent: q.ID, Debtor: a.AID, By: p.m.Act})
	}
	return out
}

// hops counts the replies up to the message. A far office has counted those that
// this one never saw.
func (p *planner) hops() int {
	n := Hops(p.parent())
	if p.w.Sender.Far() {
		n = max(n, p.m.Hops)
	}
	return n
}

// standsFor reports whether a far agent is no agent but its station's person or
// what its office says: neither is in a broadcast.
func (a Agent) standsFor() bool {
	name, _ := mail.SplitStation(a.Name)
	return a.Far() && mail.Reserved(name)
}

// officeName reports whether a name is what an office says, this one or another.
func officeName(name string) bool {
	name, _ = mail.SplitStation(name)
	return name == mail.NamePostroom
}
