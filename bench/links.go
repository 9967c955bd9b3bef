package main

import (
	"fmt"
	"runtime"
	"time"
)

const (
	inFlight  = 64 // messages under way at once, each of another agent
	oneByOne  = 30 // messages of a round with one under way
	together  = 10 // messages of each agent in a round with inFlight
	linkedSet = 500
	linkWait  = 30 * time.Second
	sinkAgent = "sink" // of the far office
)

// links measures mail between two offices over a hub on the loopback: two postd
// serve and a postd hub, as processes, all on one disk.
func links(b *bench) error {
	t, err := b.makeTeam("links", inFlight)
	if err != nil {
		return err
	}
	defer t.stop()
	ref, err := b.makeReference(t)
	if err != nil {
		return err
	}
	defer ref.close()
	for _, measure := range []func(*linkTeam, *linkReference) error{b.linkLatency, b.linkMany, b.linkBatch, b.linkSend} {
		if err := measure(t, ref); err != nil {
			return err
		}
	}
	return nil
}

// linkLatency has one message under way at a time.
func (b *bench) linkLatency(t *linkTeam, ref *linkReference) error {
	var there, back, refThere, refBack, raw []time.Duration
	for r := range b.rounds + 1 {
		ours, err := t.oneByOne(oneByOne)
		if err != nil {
			return err
		}
		theirs, err := ref.oneByOne(oneByOne)
		if err != nil {
			return err
		}
		plain, err := ref.publishes(r, 1, oneByOne)
		if err != nil {
			return err
		}
		if r == 0 { // it warmed the caches
			continue
		}
		for i := range ours {
			there, back = append(there, ours[i].there), append(back, ours[i].back)
			refThere, refBack = append(refThere, theirs[i].there), append(refBack, theirs[i].back)
		}
		raw = append(raw, plain...)
	}
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50", 0.5}, {"p99", 0.99}} {
		judge := func(what string, d, ref time.Duration, goal float64) {
			of := "file → JetStream → file " + ms(ref)
			if q.at == 0.5 {
				b.atMost(what+", "+q.name, ms(d), of, d.Seconds()/ref.Seconds(), goal)
			} else {
				b.note(what+", "+q.name, ms(d), of, d.Seconds()/ref.Seconds())
			}
		}
		judge("A → B, one under way, until in the far inbox", quantile(there, q.at), quantile(refThere, q.at), thereGoal)
		judge("A → B, one under way, until its receipt is back", quantile(back, q.at), quantile(refBack, q.at), backGoal)
		b.note("A → B, one under way, until in the far inbox, "+q.name, ms(quantile(there, q.at)), "JetStream publish "+ms(quantile(raw, q.at)),
			quantile(there, q.at).Seconds()/quantile(raw, q.at).Seconds())
	}
	return nil
}

// The goals: how many times the minimal program's time, and which part of its
// rate (docs/bench.md).
const (
	thereGoal = 3.0
	backGoal  = 3.0
	manyGoal  = 0.33
	batchGoal = 0.50
)

// linkMany has inFlight messages under way, each of another agent, that writes
// the next when the receipt is back.
func (b *bench) linkMany(t *linkTeam, ref *linkReference) error {
	var ours, theirs, raw []time.Duration
	var spent [3]time.Duration
	for r := range b.rounds + 1 {
		before, _ := t.spent()
		d, err := t.many(inFlight, together)
		if err != nil {
			return err
		}
		after, _ := t.spent()
		for i := range spent {
			spent[i] += after[i] - before[i]
		}
		e, err := ref.many(inFlight, together)
		if err != nil {
			return err
		}
		began := time.Now()
		if _, err := ref.publishes(100+r, inFlight, together); err != nil {
			return err
		}
		if r > 0 {
			ours, theirs, raw = append(ours, d), append(theirs, e), append(raw, time.Since(began))
		}
	}
	b.linkRates(fmt.Sprintf("A → B, %d under way, until their receipts are back", inFlight), inFlight*together, median(ours), median(theirs), median(raw), manyGoal)
	return b.linkCosts(t, spent, (b.rounds+1)*inFlight*together)
}

// linkCosts is what a message costs the processes between the two agents, and
// what they keep in memory.
func (b *bench) linkCosts(t *linkTeam, spent [3]time.Duration, messages int) error {
	if runtime.GOOS != "linux" {
		return nil
	}
	for i, who := range []string{"hub", "A's postd serve", "B's postd serve"} {
		rss, peak, err := resident(t.running[i].Process.Pid)
		if err != nil {
			return err
		}
		each := spent[i] / time.Duration(messages)
		b.note("processor time a message, its receipt too: "+who, ms(each), "all three "+ms((spent[0]+spent[1]+spent[2])/time.Duration(messages)),
			spent[i].Seconds()/(spent[0]+spent[1]+spent[2]).Seconds())
		b.note("memory now: "+who, fmt.Sprintf("%.1f MB", float64(rss)/mib), fmt.Sprintf("at most %.1f MB", float64(peak)/mib), float64(rss)/float64(peak))
	}
	return nil
}

// linkBatch is one process that sends many messages to one far agent.
func (b *bench) linkBatch(t *linkTeam, ref *linkReference) error {
	var ours, theirs, raw []time.Duration
	for r := range b.rounds + 1 {
		d, err := t.batch(linkedSet)
		if err != nil {
			return err
		}
		e, err := ref.many(linkedSet, 1)
		if err != nil {
			return err
		}
		began := time.Now()
		if _, err := ref.publishes(200+r, linkedSet, 1); err != nil {
			return err
		}
		if r > 0 {
			ours, theirs, raw = append(ours, d), append(theirs, e), append(raw, time.Since(began))
		}
	}
	b.linkRates(fmt.Sprintf("A → B, send --batch of %d, until their receipts are back", linkedSet), linkedSet, median(ours), median(theirs), median(raw), batchGoal)
	return nil
}

func (b *bench) linkRates(what string, n int, ours, theirs, raw time.Duration, goal float64) {
	rate := func(d time.Duration) float64 { return float64(n) / d.Seconds() }
	show := func(d time.Duration) string { return fmt.Sprintf("%.0f/s", rate(d)) }
	b.atLeast(what, show(ours), "file → JetStream → file "+show(theirs), rate(ours)/rate(theirs), goal)
	b.note(what, show(ours), "JetStream publish "+show(raw), rate(ours)/rate(raw))
}

// linkSend is what a person or an agent waits for: the process, to "delivered".
func (b *bench) linkSend(t *linkTeam, _ *linkReference) error {
	near, far := b.process(b.post, always(sendArgs(t.a, "a0", "a1", t.file)...)), b.process(b.post, always(sendArgs(t.a, "a0", t.sink(), t.file)...))
	if err := interleave(max(cheap, b.rounds), near, far); err != nil {
		return err
	}
	b.note("post send to a far agent, until it says delivered, p50", ms(far.median()), "post send to one here "+ms(near.median()), far.median().Seconds()/near.median().Seconds())
	b.note("post send to a far agent, until it says delivered, p99", ms(quantile(far.took, 0.99)), "post send to one here "+ms(quantile(near.took, 0.99)),
		quantile(far.took, 0.99).Seconds()/quantile(near.took, 0.99).Seconds())
	return nil
}
