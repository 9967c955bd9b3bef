package policy

import (
	"slices"

	"github.com/postroom/postroom/internal/mail"
)

// routeEnvelope takes the recipients that were resolved when the message was
// stamped, whatever the registry says by now, but not those that `to` cannot
// have meant: the envelope comes from the sender's mailbox (design §3, §7.10).
func (p *planner) routeEnvelope(addr mail.Address, aids []string) (*route, *Bounce) {
	if addr.Kind == mail.AddrBroadcast {
		return p.listed(&route{as: AsAll, label: mail.NameAll}, aids)
	}
	if meant := p.meant(addr); len(meant) > 0 && len(aids) == 1 && hasAgent(meant, aids[0]) {
		return p.one(aids[0])
	} else if ch, ok := p.w.Directory.Channel(addr.Name); ok && addr.Kind == mail.AddrAgent && addr.Station == "" {
		if fault := p.memberFault(ch); fault != nil {
			return nil, fault
		}
		return p.listed(&route{as: AsTo, channel: p.members(ch)}, aids)
	} else if len(meant) > 0 && addr.Kind != mail.AddrGod {
		return nil, &Bounce{
			Kind:   mail.KindRule,
			Reason: "the envelope names another mailbox than " + addr.String(),
			Hint:   "send it again with post send, without an envelope of your own",
		}
	}
	// The name is gone, or god is somebody else by now.
	if len(aids) == 1 {
		return p.one(aids[0])
	}
	r, fault := p.listed(&route{as: AsTo}, aids)
	if fault != nil {
		return nil, fault
	}
	r.channel = slices.Clone(r.to)
	if p.from == byAgent {
		r.channel = addAgent(r.channel, p.w.Sender)
	}
	sortByName(r.channel)
	return r, nil
}

// meant lists the agents that a single-agent address may have named. An
// agent.NAME may have got a namesake of its whole name since it was resolved.
func (p *planner) meant(addr mail.Address) []Agent {
	var list []Agent
	add := func(name string) {
		if a, ok := p.w.Directory.Agent(name); ok {
			list = addAgent(list, a)
		}
	}
	if addr.Kind == mail.AddrGod {
		add(p.s.Orchestrator)
		return list
	}
	if addr.Station != "" {
		add(addr.String())
		return list
	}
	plain, ok := addr.AgentAlias()
	add(addr.Name)
	if ok {
		add(plain)
	} else {
		plain = addr.Name
	}
	for _, a := range p.namesakes(plain) {
		list = addAgent(list, a)
	}
	return list
}

func (p *planner) one(aid string) (*route, *Bounce) {
	a, ok := p.w.Directory.ByAID(aid)
	if !ok {
		return nil, &Bounce{
			Kind:    mail.KindUnknown,
			Reason:  "the mailbox of " + quote(p.m.To) + " is not in the registry any more",
			Hint:    "see who is there: post agents",
			Suggest: p.suggest(p.m.To),
		}
	}
	return p.direct(a)
}

// listed fills r with the agents of a resolved broadcast or channel.
func (p *planner) listed(r *route, aids []string) (*route, *Bounce) {
	r.to = p.known(r, r.to, aids)
	if len(r.to) == 0 {
		return nil, &Bounce{
			Kind:   mail.KindUnknown,
			Reason: "nobody in the envelope of this message to " + quote(p.m.To) + " exists",
			Hint:   "send it again with post send, without an envelope of your own",
		}
	}
	sortByName(r.to)
	if r.label == "" {
		r.label = names(r.to, ",")
	}
	return r, nil
}

// known appends those of aids that exist and are not the author; each other one
// becomes a bounce of its own.
func (p *planner) known(r *route, list []Agent, aids []string) []Agent {
	for _, aid := range aids {
		a, ok := p.w.Directory.ByAID(aid)
		switch {
		case !ok:
			r.dropped = append(r.dropped, Bounce{
				Kind: mail.KindUnknown, Recipient: quote(aid), // never "", the whole message
				Reason: "the mailbox " + quote(aid) + " is not in the registry",
				Hint:   "see who is there: post agents",
			})
		case p.sender(a):
			r.dropped = append(r.dropped, Bounce{
				Kind: mail.KindRule, Recipient: a.Name,
				Reason: "an agent does not write to itself",
				Hint:   "nothing to do: the others are not affected",
			})
		default:
			list = addAgent(list, a)
		}
	}
	return list
}

// routeCC finds who gets a copy: never twice into one mailbox, never the author
// (design §7.6). Any address in cc that is nobody refuses the whole message.
func (p *planner) routeCC(r *route) *Bounce {
	resolved := p.m.Envelope != nil && len(p.m.Envelope.Recipients)+len(p.m.Envelope.CC) > 0
	var copies []Agent
	if resolved {
		copies = p.known(r, nil, p.m.Envelope.CC)
	}
	for _, s := range p.m.CC {
		list, fault := p.ccOne(r, copies, s, resolved)
		switch {
		case fault == nil:
			copies = list
		case p.from == byOffice:
			fault.Recipient = quote(s)
			r.dropped = append(r.dropped, *fault)
		default:
			return fault
		}
	}
	for _, a := range copies {
		if !p.sender(a) && !hasAgent(r.to, a.AID) {
			r.cc = addAgent(r.cc, a)
		}
	}
	return nil
}

// ccOne adds what one address in cc means.
func (p *planner) ccOne(r *route, copies []Agent, s string, resolved bool) ([]Agent, *Bounce) {
	addr, fault := p.parse(s)
	if fault != nil {
		return nil, fault
	}
	switch addr.Kind {
	case mail.AddrHuman:
		if addr.Station == "" {
			r.ccPerson = !r.person && p.from != byHuman
			return copies, nil
		}
	case mail.AddrBroadcast:
		return nil, ccFault("a broadcast")
	}
	return p.ccAgent(r, copies, addr, resolved)
}

// ccAgent adds the agent in cc. A resolved envelope must have it already,
// unless the name means somebody else by now.
func (p *planner) ccAgent(r *route, copies []Agent, addr mail.Address, resolved bool) ([]Agent, *Bounce) {
	if resolved && p.from != byOffice { // the office has to say each time whom it cannot tell
		meant := p.meant(addr)
		listed := func(a Agent) bool { return p.sender(a) || hasAgent(copies, a.AID) || hasAgent(r.to, a.AID) }
		if len(meant) == 0 || addr.Kind == mail.AddrGod || slices.ContainsFunc(meant, listed) {
			return copies, nil
		}
		return nil, &Bounce{
			Kind:   mail.KindRule,
			Reason: "the envelope leaves out " + addr.String() + ", who is in cc",
			Hint:   "send it again with post send, without an envelope of your own",
		}
	}
	a, fault := p.lookUp(addr)
	if fault != nil {
		if _, ok := p.w.Directory.Channel(addr.Name); ok {
			return nil, ccFault("the channel " + addr.Name)
		}
		return nil, fault
	}
	return addAgent(copies, a), nil
}

func ccFault(what string) *Bounce {
	return &Bounce{
		Kind:   mail.KindRule,
		Reason: "cc takes agents and human, not " + what,
		Hint:   "name the agents in cc, or put it into to",
	}
}

// copyAll adds the agent that is copied on everything but the office's own
// bounces and notices (design §7.6). The setting counts even where an envelope
// is resolved: its owner could have left the copy out.
func (p *planner) copyAll(r *route) {
	a, ok := Agent{}, false
	if p.s.CopyAll != "" {
		a, ok = p.w.Directory.Agent(p.s.CopyAll)
	}
	r.ccChosen = slices.ContainsFunc(r.cc, func(c Agent) bool { return !ok || c.AID != a.AID })
	relay := p.w.Sender.Far() && a.Far()
	if ok && p.from != byOffice && !relay && !p.sender(a) && !hasAgent(r.to, a.AID) {
		r.cc = addAgent(r.cc, a)
	}
}
