//go:build e2e && linux

package e2e

import (
	"slices"
	"strings"
)

// whole checks that an office at rest is whole: every message exactly once
// wherever it belongs, and all records of it agree. It returns what it saw.
func (d *desk) whole() *snapshot {
	d.t.Helper()
	d.post("route") // files what senders have parked (docs/adr/0025)
	s := d.look()
	for _, c := range s.boxes {
		s.checkBox(c)
	}
	for id, m := range s.messages {
		s.checkMessage(id, m)
	}
	s.checkJournal()
	s.checkTranscripts()
	verify := d.post("verify") // what the program itself thinks
	if len(s.wrong) > 0 || verify.exit != 0 {
		d.t.Fatalf("the office is not whole:\n  %s\n%v", strings.Join(s.wrong[:min(len(s.wrong), 20)], "\n  "), verify)
	}
	return s
}

// checkBox: nothing waits, nothing is there twice, and the index knows it all.
func (s *snapshot) checkBox(c *correspondent) {
	for name := range c.outbox {
		s.bad("%s is still in the outbox of %s", name, c.name)
	}
	indexed := map[string]int{}
	last := 0
	for _, l := range c.index {
		indexed[l.ID]++
		if l.Seq <= last {
			s.bad("index of %s: sequence %d after %d", c.name, l.Seq, last)
		}
		last = l.Seq
		if m, ok := s.messages[l.ID]; !ok || digest(m.raw) != l.Digest {
			s.bad("index of %s: %s is not what the office has", c.name, l.ID)
		}
	}
	for id, m := range mailbox(c) {
		if s.messages[id].raw != m.raw {
			s.bad("%s is not what the office has", m.path)
		}
		if indexed[id] != 1 {
			s.bad("index of %s has %s %d times", c.name, id, indexed[id])
		}
		delete(indexed, id)
	}
	for id := range indexed {
		s.bad("index of %s has %s, its mailbox does not", c.name, id)
	}
}

// mailbox is what an agent has, handled or not. A message that is in both places
// was being put away when a process died: it counts as handled, and the next
// post done takes the other name off.
func mailbox(c *correspondent) map[string]message {
	out := map[string]message{}
	for _, dir := range []map[string]message{c.inbox, c.done} {
		for id, m := range dir {
			out[id] = m
		}
	}
	return out
}

// checkMessage: its author's copy and its recipients' copies.
func (s *snapshot) checkMessage(id string, m message) {
	if m.ID != id || m.Envelope == nil {
		s.bad("messages/%s is no stamped message", id)
		return
	}
	author := s.boxes[m.From]
	if author == nil {
		s.bad("%s is from %q, whom nobody knows", id, m.From)
		return
	}
	sent, isSent := author.sent[id]
	failed, isFailed := author.failed[id]
	if isSent == isFailed {
		s.bad("%s of %s: in .sent %v, in .failed %v", id, m.From, isSent, isFailed)
	}
	if kept := sent.raw + failed.raw; kept != m.raw && isSent != isFailed {
		s.bad("%s of %s: its author's copy is another", id, m.From)
	}
	if isFailed {
		return // told by a bounce
	}
	held := len(s.asked[id]) > 0
	if m.To == "human" && len(s.asked[id]) != 1 {
		s.bad("%s to a person: %d approvals", id, len(s.asked[id]))
	}
	for _, aid := range slices.Concat(m.Envelope.Recipients, m.Envelope.CC) {
		c := s.byAID[aid]
		if c == nil {
			s.bad("%s: recipient %s is not registered", id, aid)
			continue
		}
		_, in := c.inbox[id]
		_, done := c.done[id]
		if !in && !done && !held {
			s.bad("%s is not in the mailbox of %s", id, c.name)
		}
	}
}

// checkJournal: one record of each delivery, none of what is not there.
func (s *snapshot) checkJournal() {
	delivered := map[string]int{}
	for _, r := range s.journal {
		if r.Event == "delivered" {
			delivered[r.ID+" "+r.AID]++
		}
	}
	for _, c := range s.boxes {
		for _, l := range c.index {
			key := l.ID + " " + c.aid
			if delivered[key] != 1 {
				s.bad("the journal has the delivery of %s to %s %d times", l.ID, c.name, delivered[key])
			}
			delete(delivered, key)
		}
	}
	for key := range delivered {
		s.bad("the journal has a delivery that is in no index: %s", key)
	}
}

// checkTranscripts: each section once, and in the order of the deliveries.
func (s *snapshot) checkTranscripts() {
	for file, ids := range s.sections {
		once := map[string]bool{}
		for _, id := range ids {
			if once[id] {
				s.bad("%s has %s twice", file, id)
			}
			once[id] = true
		}
	}
	for _, c := range s.boxes {
		var order []string
		for _, l := range c.index {
			if l.As != "cc" && slices.Contains(s.sections[c.transcript], l.ID) {
				order = append(order, l.ID)
			}
			if l.As == "to" && !slices.Contains(s.sections[c.transcript], l.ID) && !strings.Contains(strings.Join(keys(s.sections), " "), "_channel_") {
				s.bad("%s lacks %s", c.transcript, l.ID)
			}
		}
		if got := filter(s.sections[c.transcript], order); !s.desk.torn {
			s.checkOrder(c.transcript, got, order)
		}
	}
}

func (s *snapshot) checkOrder(file string, got, want []string) {
	for i, id := range want {
		if i >= len(got) || got[i] != id {
			s.bad("%s is not in the order of the deliveries: section %d is %v, want %s", file, i+1, got[i:min(i+1, len(got))], id)
			return
		}
	}
}

func keys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func filter(list, keep []string) []string {
	set := map[string]bool{}
	for _, k := range keep {
		set[k] = true
	}
	var out []string
	for _, v := range list {
		if set[v] {
			out = append(out, v)
		}
	}
	return out
}

// holding lists the ids of the messages with this body, among all messages.
func (s *snapshot) holding(body string) []string {
	var out []string
	for id, m := range s.messages {
		if m.Body == body {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// has reports whether an agent has a message, handled or not.
func (s *snapshot) has(agent, id string) bool {
	c := s.boxes[agent]
	_, in := c.inbox[id]
	_, done := c.done[id]
	return in || done
}
