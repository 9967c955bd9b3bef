package cli

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify"
)

// parseNotify turns KIND[:ARG] and further :ARG into kind and arguments.
func parseNotify(flags []string) ([]string, error) {
	var list []string
	for i, f := range flags {
		kind, arg, has := strings.Cut(f, ":")
		switch {
		case i == 0 && !plainWord(kind):
			return nil, usageError("join", "--notify cannot be "+quote(f), "say KIND or KIND:ARG, such as none or tmux:team:0.1")
		case i == 0:
			list = append(list, kind)
		case kind != "" || !has:
			return nil, usageError("join", "a second --notify begins with a colon: it is a further argument", "say --notify :"+f)
		}
		if has {
			list = append(list, arg)
		}
	}
	if len(list) == 1 && list[0] == "exec" {
		return nil, usageError("join", "--notify exec wants a program", "say --notify exec:/path/to/program")
	}
	return list, nil
}

// wokenBy is parseNotify, looked at by the adapter itself: programs are found,
// and what nobody carries is refused.
func (e *Env) wokenBy(flags []string) ([]string, error) {
	list, err := parseNotify(flags)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	if notify.PersonOnly(list[0]) {
		return nil, usageError(e.name, "--notify "+list[0]+" tells a person, and wakes no agent", "a person is told by: post person set --notify "+list[0])
	}
	wakers := e.adapters()
	maps.DeleteFunc(wakers, func(kind string, _ notify.Adapter) bool { return notify.PersonOnly(kind) })
	list, err = wakers.Check(list)
	if m := (*mail.Error)(nil); errors.As(err, &m) {
		m.Op = e.name
	}
	return list, err
}

// ownWake is how a runtime's session is woken if nobody says otherwise: by the
// runtime's own adapter if that needs no arguments, else by nothing.
func (e *Env) ownWake(runtime string) []string {
	if slices.Contains(identity.Runtimes(), runtime) {
		if list, err := e.adapters().Check([]string{runtime}); err == nil {
			return list
		}
	}
	return []string{notify.KindNone}
}

func plainWord(s string) bool {
	ok := s != ""
	for _, c := range s {
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-')
	}
	return ok
}
