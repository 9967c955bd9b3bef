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
	out, err := h.strike(station, revoked)
	if err != nil {
		return err
	}
	return h.enforce(ctx, *out)
}

// leave is throwOut for the station itself, which has its answer before it is
// disconnected.
func (h *Hub) leave(station string) error {
	out, err := h.strike(station, false)
	if err != nil {
		return err
	}
	time.AfterFunc(answered, func() {
		h.state.mu.Lock()
		defer h.state.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), readyIn)
		defer cancel()
		if err := h.enforce(ctx, *out); err != nil && !h.nc.IsClosed() {
			h.o.log().Error("hub: what a station left could not be cleared; it is when the hub starts again", "station", station, "because", err)
		}
	})
	return nil
}

const answered = 300 * time.Millisecond // an answer is with who asked by then

// strike takes a station off the list, durably. It may be repeated.
func (h *Hub) strike(station string, revoked bool) (*outcast, error) {
	m, known := h.state.ledger.Stations[station]
	if !known {
		for _, out := range slices.Backward(h.state.ledger.Revoked) {
			if out.Station == station && out.Mark != "" { // asked again: perhaps because not all of it was done
				return &out, h.state.save()
			}
		}
		return nil, refuse(mail.KindNotFound, "there is no station "+station, `see "post hub status"`)
	}
	key, err := h.state.keys.private()
	if err != nil {
		return nil, err
	}
	now := h.o.Now().UTC()
	mark, err := natslink.Revoke(h.state.team(), station, m.Key, now, key)
	if err != nil {
		return nil, err
	}
	out := &outcast{Station: station, Key: m.Key, At: now, Mark: mark, Purge: revoked}
	h.state.ledger.Revoked = append(h.state.ledger.Revoked, *out)
	if m.Next != "" {
		h.state.ledger.Revoked = append(h.state.ledger.Revoked, outcast{Station: station, Key: m.Next, At: now})
	}
	delete(h.state.ledger.Stations, station)
	h.o.log().Info("hub: a station is out", "station", station, "revoked", revoked)
	return out, h.state.save()
}

// enforce ends the connections of who is out, and clears up behind them.
func (h *Hub) enforce(ctx context.Context, out outcast) error {
	if err := h.engine.expel(h.state.ledger.revokedKeys()); err != nil {
		return err
	}
	if h.state.ledger.Stations[out.Station] != nil {
		return nil // another one has the name by now
	}
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
