package hub

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/postroom/postroom/internal/link/natslink"
	"github.com/postroom/postroom/internal/mail"
)

// Revoke throws a station out: on disk, then at the door, then in what it left.
func (h *Hub) Revoke(ctx context.Context, station string) error {
	h.state.mu.Lock()
	defer h.state.mu.Unlock()
	return h.throwOut(ctx, station, true)
}

// throwOut removes a station. Of one that was revoked, what it has sent and
// nobody has fetched yet goes with it; of one that left, that is delivered.
func (h *Hub) throwOut(ctx context.Context, station string, revoked bool) error {
	m, known := h.state.ledger.Stations[station]
	if !known {
		if slices.ContainsFunc(h.state.ledger.Revoked, func(o outcast) bool { return o.Station == station && o.Mark != "" }) {
			return nil
		}
		return refuse(mail.KindNotFound, "there is no station "+station, `see "post hub status"`)
	}
	key, err := h.state.keys.private()
	if err != nil {
		return err
	}
	now := h.o.Now().UTC()
	mark, err := natslink.Revoke(h.state.team(), station, m.Key, now, key)
	if err != nil {
		return err
	}
	out := outcast{Station: station, Key: m.Key, At: now, Mark: mark, Purge: revoked}
	h.state.ledger.Revoked = append(h.state.ledger.Revoked, out)
	if m.Next != "" {
		h.state.ledger.Revoked = append(h.state.ledger.Revoked, outcast{Station: station, Key: m.Next, At: now})
	}
	delete(h.state.ledger.Stations, station)
	if err := h.state.save(); err != nil {
		return err
	}
	if err := h.engine.expel(h.state.ledger.revokedKeys()); err != nil {
		return err
	}
	h.o.log().Info("hub: a station is out", "station", station, "revoked", revoked)
	return h.clear(ctx, out)
}

// clear takes away what a station leaves: its consumer, mail for it that nobody
// will ever read (its senders still have it, as not arrived), and marks its card.
func (h *Hub) clear(ctx context.Context, out outcast) error {
	team := h.state.team()
	if err := h.js.DeleteConsumer(ctx, team.Stream(), out.Station); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return err
	}
	stream, err := h.js.Stream(ctx, team.Stream())
	if err != nil {
		return err
	}
	gone := []string{team.Inbound(out.Station)}
	if out.Purge {
		gone = append(gone, team.Subject(out.Station, "*", "*"))
	}
	for _, subject := range gone {
		if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return err
		}
	}
	return h.mark(ctx, out)
}

// mark puts the revocation beside the card that the station had.
func (h *Hub) mark(ctx context.Context, out outcast) error {
	subject := h.state.team().CardSubject(out.Station)
	cards, err := h.js.Stream(ctx, h.state.team().CardStream())
	if err != nil {
		return err
	}
	m := nats.NewMsg(subject)
	m.Header.Set(natslink.RevokedHeader, out.Mark)
	switch last, err := cards.GetLastMsgForSubject(ctx, subject); {
	case errors.Is(err, jetstream.ErrMsgNotFound):
	case err != nil:
		return err
	case last.Header.Get(natslink.RevokedHeader) == out.Mark:
		return nil
	default:
		m.Data = last.Data
	}
	_, err = h.js.PublishMsg(ctx, m)
	return err
}

// Status is how a hub is.
type Status struct {
	Team     string    `json:"team"`
	Addrs    []string  `json:"addrs"`
	Pin      string    `json:"pin"`
	Stations []Station `json:"stations"`
	Revoked  []string  `json:"revoked,omitempty"` // stations
	Invites  int       `json:"invites"`           // join lines that are still good
	Waiting  uint64    `json:"waiting"`           // envelopes on their way
	Bytes    uint64    `json:"bytes"`             // of these
}

// Station is one station as the hub sees it.
type Station struct {
	Name      string    `json:"name"`
	Key       string    `json:"key"`
	Joined    time.Time `json:"joined"`
	Connected bool      `json:"connected"`
	Waiting   uint64    `json:"waiting"` // envelopes for it
}

// Status says how the hub is.
func (h *Hub) Status(ctx context.Context) *Status {
	h.state.mu.Lock()
	defer h.state.mu.Unlock()
	return h.status(ctx)
}
