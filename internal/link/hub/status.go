package hub

import (
	"context"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

func (h *Hub) status(ctx context.Context) *Status {
	l := h.state.ledger
	s := &Status{Team: l.Team, Addrs: h.addrs, Pin: h.pin, Stations: []Station{}}
	on := h.connected()
	for name, m := range l.Stations {
		st := Station{Name: name, Key: m.Key, Joined: m.Joined, Connected: on[m.Key] || on[m.Next]}
		if c, err := h.js.Consumer(ctx, h.state.team().Stream(), name); err == nil {
			info := c.CachedInfo()
			st.Waiting = info.NumPending + uint64(info.NumAckPending)
		}
		s.Stations = append(s.Stations, st)
	}
	slices.SortFunc(s.Stations, func(a, b Station) int { return strings.Compare(a.Name, b.Name) })
	for _, o := range l.Revoked {
		if o.Mark != "" && l.Stations[o.Station] == nil && !slices.Contains(s.Revoked, o.Station) {
			s.Revoked = append(s.Revoked, o.Station)
		}
	}
	for _, i := range l.Invites {
		if i.Station == "" && h.o.Now().Before(i.Expires) {
			s.Invites++
		}
	}
	if stream, err := h.js.Stream(ctx, h.state.team().Stream()); err == nil {
		s.Waiting, s.Bytes = stream.CachedInfo().State.Msgs, stream.CachedInfo().State.Bytes
	}
	return s
}

// connected are the keys of all who are connected.
func (h *Hub) connected() map[string]bool {
	on := map[string]bool{}
	z, err := h.engine.srv.Connz(&server.ConnzOptions{Username: true, Limit: 1 << 16})
	if err != nil {
		return on
	}
	for _, c := range z.Conns {
		on[c.AuthorizedUser] = true
	}
	return on
}
