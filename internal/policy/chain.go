package policy

import "time"

// chainSpan is how long a chain of turns is counted before it starts anew.
const chainSpan = 24 * time.Hour

// slowChain is how many times the hourly cap a chain older than an hour may
// have: a loop that takes its time is a loop.
const slowChain = 4

// Chain is how long the chain of turns is that the mailbox's next message
// continues, whatever the conversation: one more than the longest that reached
// it, among those that began within the last day; 0, beginning now, if none
// did. It catches loops that take a new conversation each time. A burst counts
// once, so does a fan-out that is answered once; work at a person's pace never
// adds up, because each chain ends a day after it began. The result is
// World.TurnsHour, and goes with its beginning into the recipients' indexes,
// which their owners do not write.
func Chain(traffic []Seen, now time.Time) (turns int, since time.Time) {
	since = now
	for _, s := range traffic {
		if s.Sent || s.FromAID == "" || now.Sub(s.Since).Abs() >= chainSpan {
			continue
		}
		if s.Chain+1 > turns {
			turns, since = s.Chain+1, s.Since
		}
	}
	return turns, since
}

// chainCap is how long a chain that began at since may be now.
func chainCap(perHour int, since, now time.Time) int {
	if since.IsZero() || now.Sub(since) < time.Hour {
		return perHour
	}
	return slowChain * perHour
}
