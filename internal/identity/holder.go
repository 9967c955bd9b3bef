package identity

import (
	"strconv"
	"strings"
)

// Holder is the session that speaks as an agent, and the process that runs it.
type Holder struct {
	Key   string // SessionKey
	PID   int    // of the runtime; 0 where one process runs many sessions, or is not known
	Start string // when that process started
}

// CurrentHolder describes this session; false if it is no agent's, or cannot be
// told apart from others of its runtime.
func CurrentHolder(getenv func(string) string, procs ProcessTree) (Holder, bool) {
	h := Holder{Key: SessionKey(getenv, procs)}
	runtime, _ := Surroundings(getenv, procs)
	if h.Key == "" || strings.HasPrefix(h.Key, terminalPrefix) || runtime == "" {
		return Holder{}, false
	}
	if p, shared, ok := RuntimeProcess(runtime, getenv, procs); ok && !shared {
		h.PID, h.Start = p.PID, p.Start
	}
	return h, true
}

// ProcessHolder is what runs the session that this process belongs to, by the
// process tree alone: what the environment says, a command may have changed. Key
// is empty. It is false where no runtime is above, or a daemon of many sessions.
func ProcessHolder(procs ProcessTree) (Holder, bool) {
	nothing := func(string) string { return "" }
	runtime, _ := Surroundings(nothing, procs)
	if runtime == "" {
		return Holder{}, false
	}
	p, shared, ok := RuntimeProcess(runtime, nothing, procs)
	return Holder{PID: p.PID, Start: p.Start}, ok && !shared
}

// Runs reports whether both are run by the same process.
func (h Holder) Runs(other Holder) bool {
	return h.PID != 0 && h.PID == other.PID && h.Start == other.Start
}

// Blocks reports whether the agent that h holds is taken for the session now:
// h is another session, and its process still runs. A session that was cleared
// or resumed has another key in the same process; it follows.
func (h Holder) Blocks(now Holder, procs ProcessTree) bool {
	if h.Key == "" || h.Key == now.Key || h.PID == 0 || procs == nil {
		return false
	}
	if h.Runs(now) {
		return false
	}
	p, alive := procs.Process(h.PID)
	return alive && p.Start == h.Start
}

// Text is the form in which a holder is stored.
func (h Holder) Text() string {
	return strconv.Itoa(h.PID) + " " + h.Start + " " + h.Key
}

// ParseHolder reads Text; what it cannot read blocks nobody.
func ParseHolder(s string) Holder {
	pid, rest, _ := strings.Cut(s, " ")
	start, key, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(pid)
	if err != nil {
		return Holder{}
	}
	return Holder{Key: key, PID: n, Start: start}
}
