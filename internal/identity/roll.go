package identity

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/postroom/postroom/internal/config"
)

// guest begins the name in the binding of a session that is nobody here. No
// agent has it: it is no valid name. What it was before may follow.
const guest = "(guest)"

// Roll keeps, for one office, which session speaks as which agent. It is part
// of the user's state, not of the office: a session of another user is not ours
// to judge.
type Roll struct {
	User     config.User
	Office   string // absolute directory
	OfficeID string
}

// holderKey is where the user's state keeps who holds an agent.
func (r Roll) holderKey(aid string) string { return "holder:" + r.OfficeID + ":" + aid }

// Holder returns the session that speaks, or last spoke, as the agent.
func (r Roll) Holder(aid string) (Holder, bool) {
	b, ok := r.User.Session(r.holderKey(aid))
	if !ok {
		return Holder{}, false
	}
	h := ParseHolder(b.Name)
	return h, h.Key != ""
}

// Hold binds the session h to the agent and makes it the one that speaks as it.
func (r Roll) Hold(h Holder, aid, name string) error {
	b := config.Binding{Office: r.Office, Agent: aid, Name: name}
	if err := r.User.BindSession(h.Key, b); err != nil {
		return err
	}
	b.Name = h.Text()
	return r.User.BindSession(r.holderKey(aid), b)
}

// Leave records that the session that speaks as the agent has ended. It stays
// bound, so that it may be resumed.
func (r Roll) Leave(aid string) error {
	return r.User.BindSession(r.holderKey(aid), config.Binding{Office: r.Office, Agent: aid})
}

// Release takes the agent away from the session that speaks as it, which is a
// guest from now on.
func (r Roll) Release(aid, name string) error {
	if h, ok := r.Holder(aid); ok {
		if err := r.BindGuest(h.Key, name); err != nil {
			return err
		}
	}
	return r.Leave(aid)
}

// BindGuest records that the session is nobody in this office until it joins.
// was is the agent that it was, if it has not been told yet that it is no more.
func (r Roll) BindGuest(key, was string) error {
	return r.User.BindSession(key, config.Binding{Office: r.Office, Name: guest + was})
}

// Guest reports whether a binding is BindGuest's, and what the session was.
func Guest(b config.Binding) (was string, yes bool) {
	was, yes = strings.CutPrefix(b.Name, guest)
	return was, yes && b.Agent == ""
}

// RuntimeProcess finds the process that runs the sessions of a runtime of which
// this process is a hook or a tool. shared: it is a daemon that runs sessions of
// several terminals, so it tells none of them apart.
func RuntimeProcess(runtime string, getenv func(string) string, procs ProcessTree) (p Process, shared, ok bool) {
	if procs == nil {
		return Process{}, false, false
	}
	if pid, err := strconv.Atoi(getenv("CLAUDE_PID")); err == nil && runtime == "claude" && pid > 1 {
		p, ok = procs.Process(pid)
		return p, false, ok
	}
	for up := range Parents(procs) {
		r := runtimeOf(up)
		switch {
		case r == "" && !ok:
			continue
		case r != runtime:
			return p, shared, ok
		case !ok || runtime == "codex" || runtime == "copilot": // which run tools and extensions in helpers of their own name
			p, ok = up, true
		default:
			return p, shared, ok
		}
		shared = shared || daemon(up)
	}
	return p, shared, ok
}

// daemon reports whether a process runs sessions of several terminals.
func daemon(p Process) bool { return runtimeOf(p) == "codex" && hasWord(p.Args, "app-server") }

// OneShot reports whether a process of a runtime runs one prompt and ends.
func OneShot(runtime string, p Process) bool { return oneShotArgs(runtime, p.Args) }

func hasWord(args []string, word string) bool {
	for i, a := range args {
		if i > 0 && a == word {
			return true
		}
	}
	return false
}

// Census is a ProcessTree that can also list what runs.
type Census interface {
	// In yields the processes whose working directory is dir, absolute and
	// without symlinks, as far as this user may know.
	In(dir string) []Process
}

// Terminals counts the terminals in dir that run a runtime whose sessions live
// in a shared daemon; ok is false where the system cannot tell.
func Terminals(procs ProcessTree, runtime, dir string) (n int, ok bool) {
	c, ok := procs.(Census)
	if !ok {
		return 0, false
	}
	of := map[int]Process{}
	for _, p := range c.In(dir) {
		if runtimeOf(p) == runtime && !daemon(p) && !oneShotArgs(runtime, p.Args) && !hasWord(p.Args, "mcp-server") {
			of[p.PID] = p
		}
	}
	for _, p := range of { // a wrapper and what it started are one
		if _, also := of[p.PPID]; !also {
			n++
		}
	}
	return n, true
}

// nearest tells which runtime runs this process, by the processes above it.
func nearest(procs ProcessTree) string {
	for p := range Parents(procs) {
		if r := runtimeOf(p); r != "" {
			return r
		}
	}
	return ""
}

// sessionIDs are the keys of the sessions that the environment names, the
// runtimes' own words only, in a fixed order.
func sessionIDs(getenv func(string) string) (keys []string) {
	for _, m := range markers() {
		if id := getenv(m.env); m.session && id != "" {
			keys = append(keys, SessionKeyOf(m.runtime, id))
		}
	}
	return keys
}

// saidKey decides between what a hook exported and what the runtimes say of
// themselves. They differ where one agent started another: what the outer one
// exported is inherited, and the inner one is another session.
func saidKey(getenv func(string) string, procs ProcessTree) string {
	said, ids := getenv(SessionEnv), sessionIDs(getenv)
	if said == "" && len(ids) == 1 {
		return ids[0]
	}
	saidBy, _, _ := strings.Cut(said, ":")
	if said != "" && !slices.Contains(Runtimes(), saidBy) {
		return said // a script's own
	}
	differ := said == ""
	for _, key := range ids {
		if key != said && strings.HasPrefix(key, saidBy+":") {
			return key // the same runtime, another session: the variable is its own
		}
		differ = differ || key != said
	}
	if !differ || len(ids) == 0 {
		return said
	}
	if near := nearest(procs); near != "" && near != saidBy {
		for _, key := range ids {
			if strings.HasPrefix(key, near+":") {
				return key
			}
		}
	}
	return cmp.Or(said, ids[0])
}
