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
