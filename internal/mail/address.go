package mail

import (
	"errors"
	"fmt"
	"strings"
)

// AddressKind says what sort of recipient (or sender) an address names.
type AddressKind string

// The kinds of address.
const (
	// AddrAgent is an agent, an alias of one, or a channel: only the directory
	// knows which.
	AddrAgent     AddressKind = "agent"
	AddrHuman     AddressKind = "human"
	AddrBroadcast AddressKind = "broadcast"
	// AddrGod is the office's orchestrator, if it has one.
	AddrGod AddressKind = "god"
	// AddrPostroom is the office itself. It writes bounces; nobody writes to it.
	AddrPostroom AddressKind = "postroom"
)

// The reserved names (design §4).
const (
	NameHuman     = "human"
	NameBroadcast = "broadcast"
	NameAll       = "all" // alias of NameBroadcast
	NamePostroom  = "postroom"
	NameGod       = "god"
)

const (
	nameMax     = 64
	agentPrefix = "agent."
)

// Address is one parsed recipient or sender.
type Address struct {
	Kind    AddressKind
	Name    string // the agent or channel; for other kinds their reserved name
	Station string // "" is this station
}

// String returns the canonical text: "coder", "coder@lab", "broadcast".
func (a Address) String() string {
	if a.Station != "" {
		return a.Name + "@" + a.Station
	}
	return a.Name
}

// AgentAlias returns NAME when the address was written agent.NAME. The
// directory looks up the whole name first, and NAME only if that is nobody
// (design §4).
func (a Address) AgentAlias() (string, bool) {
	name, ok := strings.CutPrefix(a.Name, agentPrefix)
	if a.Kind != AddrAgent || !ok || nameFault(name) != "" {
		return "", false
	}
	return name, true
}

// Reserved reports whether s, also as agent.s, is a name that no agent, channel
// or station may have: human, broadcast, all, postroom, god.
func Reserved(s string) bool {
	switch strings.TrimPrefix(s, agentPrefix) {
	case NameHuman, NameBroadcast, NameAll, NamePostroom, NameGod:
		return true
	}
	return false
}

// ParseName checks the name of an agent, channel or station: ASCII
// [a-z0-9]([a-z0-9.-]{0,62}[a-z0-9])?, compared whole, and safe as a file name
// everywhere: no "..", no Windows device name, no ".tmp-". Reserved names are
// refused. The error is KindInvalid and proposes a name.
func ParseName(s string) (string, error) {
	fault := nameFault(s)
	if fault == "" {
		return s, nil
	}
	return "", nameError("parse name", s, fault)
}

// ParseAddress parses a recipient: a name, human, broadcast (or all), god, or
// with @station behind an agent or human. It does not look anybody up. The
// error is KindInvalid.
func ParseAddress(s string) (Address, error) {
	a, err := parseAddress("parse address", s)
	if err == nil && a.Kind == AddrPostroom {
		return Address{}, &Error{
			Op: "parse address", Kind: KindInvalid, Addr: quoteShort(s),
			Err:  errors.New("is the office itself and takes no mail"),
			Hint: "write to the agent or person concerned",
		}
	}
	return a, err
}

// ParseSender parses the `from` of a message: an agent, human or postroom,
// perhaps at a station. The error is KindInvalid.
func ParseSender(s string) (Address, error) {
	a, err := parseAddress("parse sender", s)
	if err == nil && (a.Kind == AddrBroadcast || a.Kind == AddrGod) {
		return Address{}, &Error{
			Op: "parse sender", Kind: KindInvalid, Addr: quoteShort(s),
			Err: errors.New("is nobody who could write"),
		}
	}
	return a, err
}

func parseAddress(op, s string) (Address, error) {
	name, station, linked := strings.Cut(s, "@")
	if linked {
		if fault := nameFault(station); fault != "" {
			e := nameError(op, s, "station "+quoteShort(station)+" "+fault)
			e.Hint = "write agent@station, both in lower case"
			return Address{}, e
		}
	}
	a := Address{Kind: AddrAgent, Name: name, Station: station}
	switch name {
	case NameHuman:
		a.Kind = AddrHuman
	case NamePostroom:
		a.Kind = AddrPostroom
	case NameBroadcast, NameAll:
		a.Kind, a.Name = AddrBroadcast, NameBroadcast
	case NameGod:
		a.Kind = AddrGod
	default:
		if fault := nameFault(name); fault != "" {
			return Address{}, nameError(op, s, fault)
		}
	}
	if linked && (a.Kind == AddrBroadcast || a.Kind == AddrGod) {
		return Address{}, &Error{
			Op: op, Kind: KindInvalid, Addr: quoteShort(s),
			Err:  fmt.Errorf("%s does not reach other stations", name),
			Hint: "name the agents there: agent@" + station,
		}
	}
	return a, nil
}

// nameFault says in words that follow the name what is wrong with it; "" if
// nothing is.
func nameFault(s string) string {
	switch {
	case s == "":
		return "is empty"
	case len(s) > nameMax:
		return fmt.Sprintf("is longer than %d characters", nameMax)
	case Reserved(s):
		return "is a reserved name"
	}
	for _, r := range s {
		switch {
		case r >= 'A' && r <= 'Z':
			return "has an upper-case letter"
		case !nameByte(r):
			return fmt.Sprintf("has %s, where a name has a-z, 0-9, dot and hyphen", quoteRune(r))
		}
	}
	switch {
	case !alnum(s[0]) || !alnum(s[len(s)-1]):
		return "does not begin and end with a letter or digit"
	case strings.Contains(s, ".."):
		return "has two dots in a row"
	case strings.Contains(s, ".tmp-"):
		return "has .tmp-, which marks temporary files"
	case device(s):
		return "is a device name on Windows"
	}
	return ""
}

func nameError(op, s, fault string) *Error {
	e := &Error{Op: op, Kind: KindInvalid, Addr: quoteShort(s), Err: errors.New(fault)}
	if fix := sanitise(s); fix != "" && fix != s {
		e.Hint = fmt.Sprintf("write %q", fix)
	} else {
		e.Hint = "choose another name, such as coder-2"
	}
	return e
}

// sanitise returns the valid name nearest to s, or "" if there is none.
func sanitise(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(s) {
		switch {
		case r < 0x80 && alnum(byte(r)):
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
		case r == '.' && !gap && b.Len() > 0:
			b.WriteRune(r)
			gap = false
		default:
			gap = true
		}
		if b.Len() >= nameMax {
			break
		}
	}
	fix := strings.ReplaceAll(b.String(), ".-", "-")
	for strings.Contains(fix, "..") {
		fix = strings.ReplaceAll(fix, "..", ".")
	}
	fix = strings.Trim(fix[:min(len(fix), nameMax)], ".-")
	if nameFault(fix) != "" {
		return ""
	}
	return fix
}

// device reports whether Windows takes a file of this name for a device,
// whatever its extension.
func device(s string) bool {
	base, _, _ := strings.Cut(s, ".")
	switch base {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(base) == 4 && (base[:3] == "com" || base[:3] == "lpt") && base[3] >= '0' && base[3] <= '9'
}

func alnum(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

func nameByte(r rune) bool { return r == '.' || r == '-' || r < 0x80 && alnum(byte(r)) }
