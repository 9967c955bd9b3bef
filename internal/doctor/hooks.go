package doctor

import (
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// hooksSince is how far back the doctor looks at what went wrong in hooks.
const hooksSince = 24 * time.Hour

// checkHooks tells of what went wrong in hooks, which have nobody else to tell.
func (x *exam) checkHooks() {
	if x.Host.HookFaults == nil {
		return
	}
	where, lines := x.Host.HookFaults(x.Sys.Now().Add(-hooksSince))
	if len(lines) == 0 {
		return
	}
	x.add(Finding{Check: "hooks", Severity: Warning, Where: where,
		What: "hooks failed " + count(len(lines), "time", "times") + " in the last 24 hours, at last: " + mail.Neutralise(lines[len(lines)-1], false),
		Why:  "a hook that fails says nothing, so a session may not have heard of its mail at that moment; it is told at the next",
		Fix:  "read " + quote(where) + "; it begins anew by itself"})
}

// Fault is one thing that is wrong with an installation, and what mends it.
type Fault struct{ Where, What, Fix string }

// checkInstalled looks whether the coding CLIs of the agents call post.
func (x *exam) checkInstalled() {
	if x.Host.Installed == nil {
		return
	}
	said := map[Fault]bool{}
	for _, r := range x.reg.Entries() {
		if r.Archived || r.Runtime == "" || r.Workspace == "" {
			continue
		}
		is, wrong := x.Host.Installed(r.Runtime, r.Workspace)
		severity := Warning
		if !is {
			severity = Note
			wrong = []Fault{{What: r.Runtime + " does not call post, so " + r.Name + " hears of its mail only when it looks", Fix: "post install " + r.Runtime}}
		}
		for _, f := range wrong {
			if said[f] {
				continue
			}
			said[f] = true
			x.add(Finding{Check: "install", Severity: severity, Where: f.Where, What: mail.Neutralise(f.What, false),
				Why: "mail comes into a session by the hooks of its coding CLI", Fix: f.Fix})
		}
	}
}
