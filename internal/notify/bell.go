package notify

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// KindBell is the kind of people at whose terminals a bell rings.
const KindBell = "bell"

// Bell rings the terminals that its arguments name: "bell:/dev/pts/3". It writes
// one byte, the bell, to a device that is a terminal and belongs to this user;
// nothing else is opened, and no word is written. Terminals that are gone are
// passed over, and said; it is Notified if one rang.
type Bell struct{}

// Kind returns KindBell.
func (Bell) Kind() string { return KindBell }

// Check wants the paths of terminals.
func (Bell) Check(args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, usage(KindBell, "no terminal", `name one, as "tty" shows it: bell:/dev/pts/3`)
	}
	for _, a := range args {
		if !terminalName(a) {
			return nil, usage(KindBell, "is no terminal: "+line(a, 80), `name one, as "tty" shows it: bell:/dev/pts/3`)
		}
	}
	return args, nil
}

// terminalName reports whether s can be a terminal's path.
func terminalName(s string) bool {
	return strings.HasPrefix(s, "/dev/") && path.Clean(s) == s && clean(s) && len(s) < 80 && filepath.IsAbs(s)
}

// Notify implements Adapter.
func (Bell) Notify(ctx context.Context, agent Agent, p Pointer) (Outcome, error) {
	if err := p.Check(); err != nil {
		return Fail(KindBell, agent, err.Error(), "")
	}
	if _, err := (Bell{}).Check(agent.Args()); err != nil {
		return Fail(KindBell, agent, err.Error(), "")
	}
	var rang, not []string
	for _, tty := range agent.Args() {
		if err := ctx.Err(); err != nil {
			not = append(not, tty+": "+err.Error())
			continue
		}
		if err := ring(tty); err != nil {
			not = append(not, tty+": "+err.Error())
			continue
		}
		rang = append(rang, tty)
	}
	if len(rang) == 0 {
		return Fail(KindBell, agent, strings.Join(not, "; "), `name a terminal that is open: "tty" shows its path`)
	}
	said := "bell: rang " + strings.Join(rang, ", ")
	if len(not) > 0 {
		said += fmt.Sprintf("; not %s", strings.Join(not, "; "))
	}
	return Outcome{Notified, line(said, evidenceMax)}, nil
}
