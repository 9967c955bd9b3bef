package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/station"
)

// Mail for an agent of another station is delivered when that station has signed
// for it, and not before: that it lies in the agent's mailbox here, from where
// the link takes it, is no more than stored (docs/adr/0035).

// downPatience is how long a sender waits for a link that is known to be down;
// who names a --wait of its own is taken at its word.
const downPatience = time.Second

// crossed is how far messages have come on their way to far agents.
type crossed struct {
	legs map[mailbox.Leg]mailbox.Crossing
	why  func(policy.Agent, mailbox.Crossing) string
}

// cross waits, within ctx, until the far stations have answered for what was
// sent to their agents.
func (d *desk) cross(ctx context.Context, wait time.Duration, results []router.Result) crossed {
	var legs []mailbox.Leg
	for _, res := range results {
		for _, f := range res.Fates {
			if f.State == router.Delivered && f.Agent.Far() {
				legs = append(legs, mailbox.Leg{To: f.Agent, ID: res.ID})
			}
		}
	}
	if len(legs) == 0 {
		return crossed{}
	}
	link := d.e.linkOf(d.Mailbox)
	if link.down != "" && wait == waitDefault {
		short, cancel := context.WithTimeout(ctx, downPatience)
		defer cancel()
		ctx = short
	}
	over := crossed{legs: d.AwaitCrossings(ctx, legs)}
	over.why = d.e.linkOf(d.Mailbox).why
	return over
}

// tell puts what is known of the far recipients into the outcomes of one message.
func (c crossed) tell(list []outcome, res router.Result) {
	if len(c.legs) == 0 {
		return
	}
	for i := range list {
		for _, f := range res.Fates {
			if o := &list[i]; f.Agent.Far() && o.To == f.Agent.Name && o.Station != "" {
				at := c.legs[mailbox.Leg{To: f.Agent, ID: res.ID}]
				o.crossing(f.Agent, at, c.why(f.Agent, at))
			}
		}
	}
}

// crossing says of a message in a far agent's mailbox here what is true of it.
func (o *outcome) crossing(a policy.Agent, c mailbox.Crossing, why string) {
	o.Station = a.Station
	switch {
	case c.Arrived:
		o.State, o.Reason, o.Exit = stateDelivered, "", mail.ExitOK
		o.There = thereOf(a.Station, c.Evidence)
	case c.Refused:
		reason := c.Evidence
		if reason == "" {
			reason = "no reason was given"
		}
		b := failed(a.Name, &mail.Error{Op: "send", Kind: mail.KindRule, Addr: a.Name, ID: o.ID,
			Err: errors.New(a.Station + " refused it: " + mail.Neutralise(reason, false)), Hint: "post trace " + string(o.ID) + " tells more"})
		b.ID, b.CC, b.Conversation, b.Station, b.Duplicate, b.Exit = o.ID, o.CC, o.Conversation, o.Station, o.Duplicate, mail.ExitRefused
		*o = b
	default:
		o.State, o.Reason, o.Exit = stateStored, why, mail.ExitNotDelivered
	}
}

// thereOf is evidence such as "lab inbox 12" without the station, which the line
// names.
func thereOf(name, evidence string) string {
	if there := strings.TrimPrefix(evidence, name+" "); there != "" && there != name {
		return there
	}
	return "inbox"
}

// link is how the office's link stands, for who waits for it.
type link struct {
	down  string // why nothing can leave now; "" if it can
	peers map[string]station.Peer
}

// linkOf reads how the link stands, as postd said last.
func (e *Env) linkOf(m *mailbox.Mailbox) link {
	s, ok, err := station.Read(m.Office.FS)
	const serve = "no postd serves this office: post serve"
	switch {
	case m.Office.Station() == "":
		return link{down: "this office is not linked any more: post link join"}
	case err != nil || !ok || !e.serves(s):
		return link{down: serve}
	}
	l := link{peers: map[string]station.Peer{}}
	for _, p := range s.Peers {
		l.peers[p.Station] = p
	}
	if !s.Up {
		l.down = "link down since " + since(s.Since, m.Office.Sys.Now())
	}
	return l
}

// serves reports whether the process that runs the link still does.
func (e *Env) serves(s station.Status) bool {
	if e.Procs == nil {
		return true
	}
	p, ok := e.Procs.Process(s.PID)
	return ok && (s.Start == "" || p.Start == s.Start)
}

// since is a time of today by its hour, else with its date.
func since(t, now time.Time) string {
	t = t.UTC()
	if now.UTC().Format(time.DateOnly) == t.Format(time.DateOnly) {
		return t.Format("15:04 UTC")
	}
	return t.Format("2006-01-02 15:04 UTC")
}

// why says in a few words why a message has not arrived at a far agent's.
func (l link) why(a policy.Agent, c mailbox.Crossing) string {
	peer := l.peers[a.Station]
	switch {
	case l.down != "":
		return l.down
	case peer.Revoked:
		return "station " + a.Station + " was revoked, or has left"
	case peer.Trouble != "":
		return a.Station + ": " + peer.Trouble
	case c.Sent:
		return a.Station + " has not answered yet"
	}
	return "it has not left for " + a.Station + " yet"
}
