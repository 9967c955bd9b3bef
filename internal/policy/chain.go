package policy

import "time"

// chainSpan is how long a chain of turns is counted before it starts anew.
const chainSpan = time.Hour

// Chain is how long the chain of turns is that the mailbox's next message
// continues, whatever the conversation: one more than the longest that reached
// it, among those that began within the last hour; 0, beginning now, if none
// did. It catches loops that take a new conversation each time. A burst counts
// once, so does a fan-out that is answered once; work at a person's pace never
// adds up, because each chain ends an hour after it began. The result is
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
