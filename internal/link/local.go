package link

import (
	"errors"
	"fmt"

	"github.com/postroom/postroom/internal/mail"
)

// thePerson stands among aids for a station's person, who has none.
const thePerson = mail.NameHuman

// home is what making a far message local has to know of this office.
type home struct {
	station, office string
	nameOf          func(aid string) (string, bool) // of this office's agents
}

// localise gives a far station's message the form that it has here: names as
// they read here, recipients of this office only (docs/adr/0035-links.md). It
// does not check what the router checks anyway. An error is the reason why the
// message is refused.
func (h home) localise(m *mail.Message, c Cargo, them string) (*mail.Message, error) {
	from, err := mail.ParseSender(m.From)
	if err != nil || from.Station != "" {
		return nil, fmt.Errorf("its sender %q is no correspondent of %s", mail.Neutralise(m.From, false), them)
	}
	out := *m
	out.From = from.Name + "@" + them
	out.Office, out.Station = h.office, them
	out.Envelope = &mail.Envelope{Recipients: h.ours(c.Recipients), CC: h.ours(c.CC)}
	if m.Envelope != nil { // no office sees the whole of a circle over three
		out.Envelope.Turns = m.Envelope.Turns
	}
	if out.To, err = h.to(m.To, c, them); err != nil {
		return nil, err
	}
	out.CC = nil
	for _, s := range m.CC {
		a, err := mail.ParseAddress(s)
		if err != nil {
			return nil, fmt.Errorf("its cc %q is no address", mail.Neutralise(s, false))
		}
		out.CC = append(out.CC, h.name(a, them))
	}
	return &out, nil
}

// ours is the list without this office's person, who has no mailbox.
func (h home) ours(aids []string) []string {
	out := []string{}
	for _, aid := range aids {
		if aid != thePerson {
			out = append(out, aid)
		}
	}
	return out
}

func (h home) to(to string, c Cargo, them string) (string, error) {
	if c.Channel != "" {
		if _, err := mail.ParseName(c.Channel); err != nil {
			return "", errors.New("its channel has no valid name")
		}
		return c.Channel + "@" + them, nil
	}
	a, err := mail.ParseAddress(to)
	if err != nil {
		return "", fmt.Errorf("its recipient %q is no address", mail.Neutralise(to, false))
	}
	if a.Kind == mail.AddrBroadcast {
		return mail.NameBroadcast, nil
	}
	if len(c.Recipients) == 1 { // whatever name it was called by there
		if c.Recipients[0] == thePerson {
			return mail.NameHuman, nil
		}
		if name, ok := h.nameOf(c.Recipients[0]); ok {
			return name, nil
		}
	}
	if a.Kind == mail.AddrGod {
		return "", errors.New("god is nobody here")
	}
	return h.name(a, them), nil
}

// name is how an address of theirs reads here.
func (h home) name(a mail.Address, them string) string {
	switch a.Station {
	case "":
		a.Station = them
	case h.station:
		a.Station = ""
	}
	return a.String()
}
