package policy

import (
	"errors"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/mail"
)

// route says where a message goes.
type route struct {
	as       As
	to       []Agent
	label    string  // `to` in headers: "coder", "all", "b,c", "human"
	channel  []Agent // the channel's members, for its transcript; nil if none
	person   bool    // a person gets it in place of `to`
	cc       []Agent
	ccPerson bool
	ccChosen bool     // cc has somebody whom the author chose, not only CopyAll
	dropped  []Bounce // recipients of a resolved envelope that do not exist
}

// route finds the recipients, or says why the message has none. An envelope
// that is resolved counts; otherwise the directory does (design §7.1).
func (p *planner) route() (*route, *Bounce) {
	r, fault := p.routeAll()
	if fault != nil {
		return nil, fault
	}
	p.copyAll(r)
	return r, nil
}

func (p *planner) routeAll() (*route, *Bounce) {
	if p.w.Sender.Far() {
		return p.routeFar()
	}
	r, fault := p.routeTo()
	if fault == nil {
		fault = p.routeCC(r)
	}
	return r, fault
}

func (p *planner) routeTo() (*route, *Bounce) {
	addr, fault := p.parse(p.m.To)
	if fault != nil {
		return nil, fault
	}
	farPerson := addr.Kind == mail.AddrHuman && addr.Station != ""
	if !farPerson && (addr.Kind == mail.AddrHuman || p.m.NeedsHuman && p.from != byHuman) {
		return p.routePerson(addr)
	}
	if e := p.m.Envelope; e != nil && len(e.Recipients) > 0 {
		return p.routeEnvelope(addr, e.Recipients)
	}
	return p.resolve(addr)
}

// routePerson puts a message before a person, from everyone (design §7.5). The
// address of needs_human mail must exist all the same, or nobody could say
// whom it concerns.
func (p *planner) routePerson(addr mail.Address) (*route, *Bounce) {
	if p.from == byHuman {
		return nil, &Bounce{
			Kind:   mail.KindRule,
			Reason: "a person does not write to a person here",
			Hint:   "name an agent, a channel or broadcast",
		}
	}
	if addr.Kind != mail.AddrHuman && p.m.Envelope == nil {
		if _, fault := p.resolve(addr); fault != nil {
			return nil, fault
		}
	}
	return &route{person: true, label: mail.NameHuman}, nil
}

// parse reads an address without looking anybody up.
func (p *planner) parse(s string) (mail.Address, *Bounce) {
	addr, err := mail.ParseAddress(s)
	if err != nil {
		b := &Bounce{Kind: mail.KindInvalid, Reason: "the address " + quote(s) + " is not valid"}
		var e *mail.Error
		if errors.As(err, &e) {
			b.Kind, b.Hint = e.Kind, e.Hint
			if e.Err != nil {
				b.Reason = "the address " + quote(s) + " " + e.Err.Error()
			}
		}
		b.Suggest = p.suggest(s)
		return addr, b
	}
	return p.ours(addr), nil
}

func (p *planner) suggest(name string) []string {
	names := p.w.Directory.Suggest(name)
	return slices.Clone(names[:min(len(names), 3)])
}

// resolve looks an address up in the directory.
func (p *planner) resolve(addr mail.Address) (*route, *Bounce) {
	switch addr.Kind {
	case mail.AddrBroadcast:
		return p.resolveBroadcast()
	case mail.AddrAgent:
		if addr.Station != "" {
			break
		}
		_, agent := p.w.Directory.Agent(addr.Name)
		ch, channel := p.w.Directory.Channel(addr.Name)
		if agent && channel {
			return nil, &Bounce{
				Kind:   mail.KindAmbiguous,
				Reason: addr.Name + " is both an agent and a channel",
				Hint:   "ask a person to rename one of them",
			}
		}
		if channel {
			return p.resolveChannel(ch)
		}
	}
	a, fault := p.lookUp(addr)
	if fault != nil {
		return nil, fault
	}
	return p.direct(a)
}

// lookUp finds the one agent that addr names: by name or alias, as god, or,
// where that is nobody, as agent.NAME (design §4).
func (p *planner) lookUp(addr mail.Address) (Agent, *Bounce) {
	if addr.Station != "" {
		if a, ok := p.w.Directory.Agent(addr.String()); ok {
			return a, nil
		}
		b := p.unknownFar(addr)
		return Agent{}, &b
	}
	name := addr.Name
	if addr.Kind == mail.AddrGod {
		name = p.s.Orchestrator
	}
	if name != "" {
		if a, ok := p.w.Directory.Agent(name); ok {
			return a, nil
		}
	}
	if plain, ok := addr.AgentAlias(); ok {
		if a, ok := p.w.Directory.Agent(plain); ok {
			return a, nil
		}
		name = plain
	}
	if a, ok, fault := p.lookUpFar(name); ok || fault != nil {
		return a, fault
	}
	if addr.Kind == mail.AddrGod {
		return Agent{}, &Bounce{
			Kind:   mail.KindUnknown,
			Reason: "this office has no orchestrator, so nobody answers to god",
			Hint:   "name the agent: post agents",
		}
	}
	b := &Bounce{
		Kind:    mail.KindUnknown,
		Reason:  addr.Name + " is nobody in this office",
		Hint:    "see who is there: post agents",
		Suggest: p.suggest(name),
	}
	if len(b.Suggest) > 0 {
		b.Hint = "did you mean " + strings.Join(b.Suggest, " or ") + "?"
	}
	return Agent{}, b
}

func (p *planner) direct(a Agent) (*route, *Bounce) {
	if p.sender(a) {
		return nil, &Bounce{
			Kind:   mail.KindRule,
			Reason: "an agent does not write to itself",
			Hint:   "keep notes in a file, or name somebody else",
		}
	}
	return &route{as: AsTo, to: []Agent{a}, label: a.Name}, nil
}

// resolveBroadcast finds every active agent but the sender (design §7.4).
func (p *planner) resolveBroadcast() (*route, *Bounce) {
	r := &route{as: AsAll, label: mail.NameAll}
	for _, a := range p.w.Directory.Active() {
		if !p.sender(a) && !a.Archived && !a.standsFor() {
			r.to = addAgent(r.to, a)
		}
	}
	if len(r.to) == 0 {
		return nil, &Bounce{
			Kind:   mail.KindRule,
			Reason: "there is no other active agent, so the broadcast would reach nobody",
			Hint:   "see who is there: post agents",
		}
	}
	sortByName(r.to)
	return r, nil
}

// resolveChannel finds the channel's active members but the sender. Archived
// members get nothing, as with a broadcast.
func (p *planner) resolveChannel(ch Channel) (*route, *Bounce) {
	if fault := p.memberFault(ch); fault != nil {
		return nil, fault
	}
	r := &route{as: AsTo, channel: p.members(ch)}
	for _, a := range r.channel {
		if !p.sender(a) && !a.Archived {
			r.to = append(r.to, a)
		}
	}
	if len(r.to) == 0 {
		return nil, &Bounce{
			Kind:   mail.KindRule,
			Reason: "the channel " + ch.Name + " has no other active member",
			Hint:   "ask a person to add somebody: post channel add " + ch.Name + " NAME",
		}
	}
	r.label = names(r.to, ",")
	return r, nil
}

// memberFault refuses an agent that is not in the channel. A person is in all
// of them.
func (p *planner) memberFault(ch Channel) *Bounce {
	if p.from != byAgent || p.w.Begun || slices.Contains(ch.Members, p.w.Sender.AID) {
		return nil
	}
	return &Bounce{
		Kind:   mail.KindRule,
		Reason: p.name + " is no member of the channel " + ch.Name,
		Hint:   "ask a person to add you: post channel add " + ch.Name + " " + p.name,
	}
}

// members lists the channel's members that the directory knows, by name.
func (p *planner) members(ch Channel) []Agent {
	var list []Agent
	for _, aid := range ch.Members {
		if a, ok := p.w.Directory.ByAID(aid); ok {
			list = addAgent(list, a)
		}
	}
	sortByName(list)
	return list
}

// sender reports whether a is the author.
func (p *planner) sender(a Agent) bool { return p.from == byAgent && a.AID == p.w.Sender.AID }

// addAgent appends a unless its mailbox is already in the list.
func addAgent(list []Agent, a Agent) []Agent {
	if hasAgent(list, a.AID) {
		return list
	}
	return append(list, a)
}

func hasAgent(list []Agent, aid string) bool {
	return slices.ContainsFunc(list, func(a Agent) bool { return a.AID == aid })
}

func sortByName(list []Agent) {
	slices.SortFunc(list, func(a, b Agent) int { return strings.Compare(a.Name, b.Name) })
}

func names(list []Agent, sep string) string {
	s := make([]string, len(list))
	for i, a := range list {
		s[i] = a.Name
	}
	return strings.Join(s, sep)
}
