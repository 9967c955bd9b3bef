//go:build e2e && linux

package links

import (
	"fmt"
	"slices"
	"strings"
)

// claim is what a sender was told.
type claim struct {
	station, author, to string
	id, body            string // body is nobody else's
	exit                int
}

// verdict is what the checker found of all offices at rest.
type verdict struct {
	wrong []string
	// messages are those of all offices' authors; crossings are their deliveries
	// on other stations, and refused those that a far station would not take.
	messages, crossings, refused, local, asked int
	read, done                                 int // receipts that came back
	repeated                                   int // receipts of arrival or refusal that were written down again
}

func (v *verdict) bad(format string, args ...any) {
	v.wrong = append(v.wrong, fmt.Sprintf(format, args...))
}

func (v *verdict) String() string {
	return fmt.Sprintf("%d messages: %d deliveries on other stations, %d refused there, %d deliveries at home, %d put before a person; %d read and %d done receipts came back, %d of arrival were repeated",
		v.messages, v.crossings, v.refused, v.local, v.asked, v.read, v.done, v.repeated)
}

// judge reads what all offices have, at rest, and what senders were told.
//
// Each accepted message is exactly once in each recipient's mailbox; what one
// author sent to one recipient stands there in the order in which it was sent; a
// sender's office says "arrived" of exactly what is there, and "refused", with
// one bounce, of exactly what is not; read and done receipts are those of the
// far office; both offices say the same of every debt; and nothing came from
// nowhere.
func judge(all map[string]*books, claims []claim) *verdict {
	v := &verdict{}
	for _, b := range all {
		v.wrong = append(v.wrong, b.wrong...)
		for _, a := range b.agents {
			v.box(b, a)
		}
	}
	for _, c := range claims {
		v.claim(all[c.station], c)
	}
	for _, a := range all {
		for id, m := range a.messages {
			v.message(all, a, id, m)
		}
		for _, r := range a.agents {
			v.order(all, a, r)
		}
		v.origin(all, a)
	}
	v.claimOrder(all, claims)
	return v
}

// box: nothing waits, and the index has what the mailbox has, once.
func (v *verdict) box(b *books, a *agent) {
	for name := range a.outbox {
		v.bad("%s: %s is still in the outbox of %s", b.station, name, a.name)
	}
	if a.station != "" {
		for id := range a.inbox {
			v.bad("%s: %s for %s is not settled", b.station, id, a.name)
		}
	}
	times, last := map[string]int{}, 0
	for _, l := range a.index {
		times[l.ID]++
		if l.Seq <= last {
			v.bad("%s: index of %s: sequence %d after %d", b.station, a.name, l.Seq, last)
		}
		last = l.Seq
	}
	for id, l := range a.has() {
		if times[id] != 1 {
			v.bad("%s: index of %s has %s %d times", b.station, a.name, id, times[id])
		}
		if b.messages[id].raw != l.raw {
			v.bad("%s: %s at %s is not what the office has", b.station, id, a.name)
		}
		delete(times, id)
	}
	for id := range times {
		v.bad("%s: index of %s has %s, its mailbox does not", b.station, a.name, id)
	}
}

// claim: what a sender was told is true.
func (v *verdict) claim(b *books, c claim) {
	var found []string
	for id, m := range b.messages {
		if m.Body == c.body && m.From == c.author {
			found = append(found, id)
		}
	}
	if c.exit == 5 || c.exit == 1 {
		if len(found) > 0 && c.id == "" {
			v.bad("%s told %s that nothing was stored, and %v is", c.station, c.author, found)
		}
		return
	}
	author := b.agents[c.author]
	_, sent := author.sent[c.id]
	_, failed := author.failed[c.id]
	switch {
	case sent == failed:
		v.bad("%s of %s to %s (exit %d): in .sent %v, in .failed %v", c.id, c.author, c.to, c.exit, sent, failed)
	case failed && v.bounces(b, author, c.id) != 1:
		v.bad("%s of %s to %s failed with %d bounces", c.id, c.author, c.to, v.bounces(b, author, c.id))
	case c.exit == 0 && b.refusals(c.id) > 0:
		v.bad("%s of %s to %s was said to be delivered, and is refused", c.id, c.author, c.to)
	case sent && !slices.Equal(found, []string{c.id}):
		v.bad("%s of %s to %s: the office has it as %v", c.id, c.author, c.to, found)
	}
}

// bounces counts what an author was told of a message by an office.
func (v *verdict) bounces(b *books, author *agent, id string) int {
	n := 0
	for _, l := range author.has() {
		if l.InReplyTo == id && (l.From == "postroom" || strings.HasPrefix(l.From, "postroom@")) {
			n++
		}
	}
	return n
}

// message: every recipient's copy of what somebody of this office wrote.
func (v *verdict) message(all map[string]*books, a *books, id string, m letter) {
	author := a.agents[m.From]
	if author == nil || m.Envelope == nil || m.ID != id {
		v.bad("%s: %s is from %q, and no stamped message of anybody here", a.station, id, m.From)
		return
	}
	if _, failed := author.failed[id]; failed || author.station != "" {
		return // told by a bounce; or it came from elsewhere and is looked at there
	}
	v.messages++
	v.asked += a.asked[id]
	refused := 0
	for _, aid := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(m.Envelope.Recipients, m.Envelope.CC)))) {
		r := a.byAID[aid]
		switch {
		case r == nil:
			v.bad("%s: recipient %s of %s is nobody", a.station, aid, id)
		case r.station == "":
			if _, ok := r.has()[id]; !ok && a.asked[id] == 0 {
				v.bad("%s: %s is not in the mailbox of %s", a.station, id, r.name)
			}
			v.local++
		case a.asked[id] > 0 && len(r.index) == 0:
			// held here by a person
		case v.crossing(all, a, id, m, r):
			refused++
		}
	}
	if got := v.bounces(a, author, id); refused > 0 && m.From != "postroom" && got != refused {
		v.bad("%s: %s was refused %d times, and %s has %d bounces", a.station, id, refused, m.From, got)
	}
}

// crossing: one recipient's copy on another station, and what is said of it here.
// It returns true if it was refused there.
func (v *verdict) crossing(all map[string]*books, a *books, id string, m letter, r *agent) (refused bool) {
	b := all[r.station]
	if b == nil {
		v.bad("%s: %s is of station %s, which nobody read", a.station, r.name, r.station)
		return false
	}
	key := id + " " + r.aid
	arrived, not := a.said("arrived")[key], a.said("refused")[key]
	there := 0
	if far := b.byAID[r.aid]; far != nil {
		for copyID, l := range far.has() {
			if copyID == id || l.Body == m.Body && l.From == m.From+"@"+a.station && m.From != "postroom" {
				there++
			}
		}
	} else if strings.HasPrefix(r.name, "human@") {
		there = b.asked[id]
	}
	where := fmt.Sprintf("%s from %s@%s to %s", id, m.From, a.station, r.name)
	held := b.asked[id] > 0
	switch {
	case (arrived > 0) == (not > 0):
		v.bad("%s: %d records of its arrival, %d of a refusal", where, arrived, not)
	case arrived > 0 && there == 0 && !held:
		v.bad("%s: said to have arrived, and is not there", where)
	case not > 0 && there > 0:
		v.bad("%s: said to be refused, and is there", where)
	}
	if there > 1 {
		v.bad("%s: there %d times", where, there)
	}
	if there > 0 {
		v.crossings++
		v.receipts(a, b, key, where)
	}
	if not > 0 {
		v.refused++
	}
	v.repeated += max(arrived+not-1, 0)
	return not > 0
}

// said counts the journal's records of an event, once for an office.
func (b *books) said(event string) map[string]int {
	if b.counts == nil {
		b.counts = map[string]map[string]int{}
	}
	if b.counts[event] == nil {
		b.counts[event] = b.events(event)
	}
	return b.counts[event]
}

// refusals counts the recipients of a message that would not take it.
func (b *books) refusals(id string) int {
	n := 0
	for key := range b.said("refused") {
		if strings.HasPrefix(key, id+" ") {
			n++
		}
	}
	return n
}

// receipts: both offices say the same of what became of it.
func (v *verdict) receipts(a, b *books, key, where string) {
	for _, event := range []string{"read", "done"} {
		here, there := a.said(event)[key], b.said(event)[key]
		if (here > 0) != (there > 0) {
			v.bad("%s: %s %d times by the far office, %d by this one", where, event, there, here)
		}
		if there > 0 && event == "read" {
			v.read++
		} else if there > 0 {
			v.done++
		}
	}
	_, owedHere := a.open[key]
	_, owedThere := b.open[key]
	if owedHere != owedThere {
		v.bad("%s: an answer is owed here %v, there %v", where, owedHere, owedThere)
	}
}

// order: what one author sent to one far agent stands there in that order.
func (v *verdict) order(all map[string]*books, a *books, r *agent) {
	b := all[r.station]
	if r.station == "" || b == nil || b.byAID[r.aid] == nil {
		return
	}
	sent, came := map[string][]string{}, map[string][]string{}
	for _, l := range r.index {
		if a.said("arrived")[l.ID+" "+r.aid] > 0 {
			sent[l.From] = append(sent[l.From], l.ID)
		}
	}
	for _, l := range b.byAID[r.aid].index {
		if from, ok := strings.CutSuffix(l.From, "@"+a.station); ok {
			came[from] = append(came[from], l.ID)
		}
	}
	for from, want := range sent {
		for i, id := range want {
			if got := came[from]; i >= len(got) || got[i] != id {
				v.bad("from %s@%s to %s: number %d is %v, not %s", from, a.station, r.name, i+1, got[min(i, len(got)):min(i+1, len(got))], id)
				break
			}
		}
	}
}

// origin: what came from another station is known there, to the word.
func (v *verdict) origin(all map[string]*books, b *books) {
	for id, m := range b.messages {
		from, station, far := strings.Cut(m.From, "@")
		if !far {
			continue
		}
		a := all[station]
		if a == nil {
			v.bad("%s has %s from %s, whom nobody read", b.station, id, m.From)
			continue
		}
		if was, ok := a.messages[id]; !ok || was.From != from || was.Body != m.Body || was.Act != m.Act {
			v.bad("%s has %s from %s, who never wrote that", b.station, id, m.From)
		}
	}
}

// claimOrder: an author who sends one after the other has it delivered so.
func (v *verdict) claimOrder(all map[string]*books, claims []claim) {
	place := map[string]int{}
	for i, c := range claims {
		place[c.id] = i + 1
	}
	for _, b := range all {
		for _, r := range b.agents {
			last := map[string]int{}
			for _, l := range r.index {
				at := place[l.ID]
				if at == 0 {
					continue
				}
				if author := claims[at-1].station + " " + claims[at-1].author; at < last[author] {
					v.bad("%s: %s of %s came to %s after what was sent later", b.station, l.ID, author, r.name)
				} else {
					last[author] = at
				}
			}
		}
	}
}
