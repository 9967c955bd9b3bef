package notify

import (
	"fmt"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/presence"
)

// asleep reports whether the agent's session is known, and gave no sign since
// the last wake.
func (rd *round) asleep(wake time.Time) bool {
	if rd.Session == nil {
		return false
	}
	s := rd.Session(rd.r.Agent)
	return s != nil && s.State != presence.Ended && s.At.Before(wake)
}

// rested reports whether the agent's session came to its prompt since the last
// wake: what that one failed of, or was held for, is over.
func (rd *round) rested(wake time.Time) bool {
	if rd.Session == nil {
		return false
	}
	s := rd.Session(rd.r.Agent)
	return s != nil && s.State == presence.Idle && s.Since.After(wake)
}

// untouchable says why nobody may push the session now, "" if one may: a
// question is open that a key could answer, or its person stopped it.
func untouchable(s *presence.Session) string {
	if s == nil {
		return ""
	}
	switch s.State {
	case presence.Dialog:
		return "a permission question is open" + since(s.Since)
	case presence.Interrupted:
		return "its person stopped it" + since(s.Since) + "; its next turn is shown the mail"
	}
	return ""
}

// busyFor is how long a turn is believed to run without any sign of it: a
// session that was killed in the middle of one leaves no other trace.
const busyFor = 15 * time.Minute

// turn says that a turn runs, "" if none does as far as presence knows.
func turn(s *presence.Session, now time.Time) string {
	if s.State != presence.Busy || now.Sub(s.At) > busyFor {
		return ""
	}
	return "a turn runs" + since(s.Since) + "; its hooks show the mail before it ends"
}

func since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " since " + clock(t)
}

// fewIDs is how many ids a wake names; the command shows all.
const fewIDs = 3

// announcement is what an agent is told in its own conversation: our words and
// validated fields (design §12). The ids make each one another text.
func announcement(p Pointer) string {
	var b strings.Builder
	b.WriteString("Postroom: " + p.Text)
	for i, id := range p.IDs[max(0, len(p.IDs)-fewIDs):] {
		b.WriteString([]string{" [", ", "}[min(i, 1)] + string(id))
	}
	if more := p.Count - min(len(p.IDs), fewIDs); more > 0 {
		fmt.Fprintf(&b, ", and %d more", more)
	}
	b.WriteString("]")
	return b.String()
}

// unmarked takes away what could close or open a tag around the text: a path
// in the command may hold anything.
func unmarked(text string) string {
	return strings.NewReplacer("<", "(", ">", ")", "&", "+").Replace(text)
}

// notLive says why there is no session of the runtime to wake, "" if there is.
func notLive(runtime string, s *presence.Session) string {
	switch {
	case s == nil:
		return "not seen yet: no session of it ran its hooks"
	case s.Runtime != runtime:
		return "its session is one of " + line(s.Runtime, 20)
	case s.State == presence.Ended:
		return "no live session: the last one ended" + since(s.Since)
	case s.OneShot:
		return "its session runs one prompt and ends; its hooks show the mail"
	}
	return ""
}

func noArguments(kind string, args []string) ([]string, error) {
	if len(args) > 0 {
		return nil, usage(kind, "takes no arguments", "write "+kind)
	}
	return nil, nil
}
