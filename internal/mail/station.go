package mail

import (
	"encoding/json"
	"errors"
	"strings"
)

// stationMax keeps agent@station within a file name.
const stationMax = 32

// ParseStation checks a station's name: a name (ParseName) of at most 32
// characters without dots, which subjects on the wire are parted by. The error
// is KindInvalid.
func ParseStation(s string) (string, error) {
	if _, err := ParseName(s); err != nil {
		return "", err
	}
	if len(s) > stationMax || strings.Contains(s, ".") {
		return "", &Error{Op: "parse station", Kind: KindInvalid, Addr: quoteShort(s),
			Err: errors.New("is no station's name: at most 32 of a-z, 0-9 and hyphen"), Hint: "choose one such as ann-laptop"}
	}
	return s, nil
}

// SplitStation parts a name from its station, which is "" for a name of this
// office. It checks neither.
func SplitStation(name string) (local, station string) {
	local, station, _ = strings.Cut(name, "@")
	return local, station
}

// ParseFarName checks the full name of an agent of another station,
// agent@station. That station's person and what its office says stand beside
// its agents as human@station and postroom@station. The error is KindInvalid.
func ParseFarName(s string) (local, station string, err error) {
	local, station = SplitStation(s)
	if _, err := ParseStation(station); err != nil {
		return "", "", err
	}
	if local != NameHuman && local != NamePostroom {
		if _, err := ParseName(local); err != nil {
			return "", "", err
		}
	}
	return local, station, nil
}

const farAIDPrefix = "far-"

// FarAID is the aid that the person, or the office itself, of another station
// has here: neither has one at home. name is NameHuman or NamePostroom.
func FarAID(name, station string) string { return farAIDPrefix + name + "-" + station }

// ReservedAID reports whether no agent may have such an aid.
func ReservedAID(aid string) bool { return strings.HasPrefix(aid, farAIDPrefix) }

// extraWaives marks the notice by which an office lets an agent of another
// station off a debt: the answer to the message in in_reply_to is owed no more.
const extraWaives = "waives"

// SetWaives marks m as such a notice.
func (m *Message) SetWaives() {
	if m.Extra == nil {
		m.Extra = map[string]json.RawMessage{}
	}
	m.Extra[extraWaives] = json.RawMessage("true")
}

// Waives reports whether m is marked so. It says nothing about who may.
func (m *Message) Waives() bool { return string(m.Extra[extraWaives]) == "true" }
