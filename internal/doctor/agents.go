package doctor

import (
	"slices"
	"strconv"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/spool"
)

// checkAgents tells of agents that cannot be started as they are registered,
// and of sessions whose process is gone.
func (x *exam) checkAgents() {
	for _, b := range x.boxes {
		if b.entry.Archived {
			continue
		}
		x.checkLaunch(b)
		switch {
		case len(b.entry.Notify) > 0 && b.entry.Notify[0] == notify.KindACP:
			x.checkWorker(b)
		case b.ok:
			x.checkSession(b)
		}
	}
}

func (x *exam) checkLaunch(b *box) {
	e := b.entry
	if len(e.Launch) == 0 || x.Host.Launches == nil {
		return
	}
	if err := x.Host.Launches(e.Launch[0], e.Workspace); err != nil {
		x.add(Finding{Check: "launch", Severity: Warning, Where: e.Name, What: e.Name + " cannot be started: its program " + mail.Neutralise(e.Launch[0], false) + " " + err.Error(),
			Why: "post up fails for it", Fix: "install it, or name another: post agent set " + e.Name + " --launch PROGRAM; or --no-launch"})
	}
}

// checkSession compares what a session said last with the processes there are.
func (x *exam) checkSession(b *box) {
	p, known, err := presence.ReadIn(b.FS, b.Dir)
	if err != nil {
		x.trouble("session", b.dir, err)
		return
	}
	if !known || p.State == presence.Ended || p.PID == 0 || p.Start == "" || x.Host.Started == nil {
		return
	}
	start, ok := x.Host.Started(p.PID)
	if ok && start == p.Start {
		return
	}
	name := b.entry.Name
	f := Finding{Check: "session", Severity: Note, Where: name, What: "the session of " + name + " ended without a word: it was " + string(p.State) + ", and process " + strconv.Itoa(p.PID) + " is gone",
		Why: "nothing wakes " + name + " until it runs again", Fix: "start it in " + quote(b.entry.Workspace)}
	if len(b.entry.Launch) > 0 {
		f.Fix = "post start " + name
	}
	if x.waits(b) {
		f.Severity, f.Why = Warning, "mail waits in its inbox, and nothing wakes it until it runs again"
	}
	x.add(f)
}

// waits reports whether mail stands in the inbox.
func (x *exam) waits(b *box) bool {
	return b.ok && slices.ContainsFunc(x.names(b.FS, b.Path(spool.Inbox)), func(n string) bool { return !spool.Hidden(n) })
}

// manyCrashes in a row are no accident.
const manyCrashes = 3

// checkWorker looks at a headless worker: who keeps it, and whether it runs.
func (x *exam) checkWorker(b *box) {
	if x.Host.Worker == nil {
		return
	}
	name, w := b.entry.Name, x.Host.Worker(b.entry.AID)
	waiting := x.waits(b)
	f := Finding{Check: "worker", Severity: Note, Where: name, Why: "nothing wakes " + name + " until then"}
	if waiting {
		f.Severity, f.Why = Warning, "mail waits in its inbox, and nothing wakes it until then"
	}
	switch {
	case w.Stopped:
		f.What, f.Fix = "the worker of "+name+" was stopped", "post start "+name
	case !w.Kept:
		f.What, f.Fix = "nobody keeps the worker of "+name+": no post serve runs for this office", "post serve"
	case w.Crashes >= manyCrashes:
		f.Severity = Warning
		f.What = "the worker of " + name + " keeps ending, " + count(w.Crashes, "time", "times") + " in a row, at last: " + mail.Neutralise(w.Why, false)
		f.Why, f.Fix = "it is started again more and more rarely, and its mail waits", "post logs "+name+"; when that is mended: post restart "+name
	default:
		return
	}
	x.add(f)
}
