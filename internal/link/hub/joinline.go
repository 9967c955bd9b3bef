package hub

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net"
	"strings"

	"github.com/postroom/postroom/internal/link/natslink"
	"github.com/postroom/postroom/internal/mail"
)

const linePrefix = "postroom-join:"

// Line is a join line: all that a station needs to join a team once. Whoever
// has it first is in, until it has been used or is too old.
type Line struct {
	Addrs  []string // HOST:PORT
	Pin    string   // of the hub's key
	Team   natslink.Team
	Invite []byte // the secret
}

type wireLine struct {
	V      int      `json:"v"`
	Addrs  []string `json:"a"`
	Pin    []byte   `json:"p"`
	Team   string   `json:"t"`
	Invite []byte   `json:"i"`
}

func (l Line) String() string {
	pin, _ := hex.DecodeString(l.Pin)
	data, _ := json.Marshal(wireLine{1, l.Addrs, pin, string(l.Team), l.Invite})
	return linePrefix + base64.RawURLEncoding.EncodeToString(data)
}

// URLs are the addresses as a station keeps them.
func (l Line) URLs() []string { return urls(l.Addrs) }

func urls(addrs []string) []string {
	var out []string
	for _, a := range addrs {
		out = append(out, "tls://"+a)
	}
	return out
}

// ParseLine reads a join line, which a terminal or a chat may have broken. The
// error is KindInvalid and never holds what was pasted.
func ParseLine(s string) (Line, error) {
	bad := func(why string) (Line, error) {
		return Line{}, &mail.Error{Op: "link join", Kind: mail.KindInvalid, Addr: "the join line", Err: errors.New(why),
			Hint: `copy the whole line that "post hub" or "post hub invite" printed`}
	}
	rest, ok := strings.CutPrefix(strings.Join(strings.Fields(s), ""), linePrefix)
	if !ok {
		return bad("does not begin with " + linePrefix)
	}
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(rest, "="))
	var w wireLine
	if err != nil || json.Unmarshal(data, &w) != nil {
		return bad("is cut off or was changed")
	}
	if w.V != 1 {
		return bad("is of another version of postd")
	}
	if _, err := mail.ParseStation(w.Team); err != nil || len(w.Pin) != 32 || len(w.Invite) != inviteBytes || len(w.Addrs) == 0 || len(w.Addrs) > 32 {
		return bad("is cut off or was changed")
	}
	for _, a := range w.Addrs {
		if _, _, err := net.SplitHostPort(a); err != nil || strings.ContainsAny(a, "@/?#,") {
			return bad("has an address that is none")
		}
	}
	return Line{w.Addrs, hex.EncodeToString(w.Pin), natslink.Team(w.Team), w.Invite}, nil
}
