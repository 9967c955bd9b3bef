package natslink

import (
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/mail"
)

const (
	maxInFlight    = 4096             // more than many stations have under way: a call may not wait
	publishTimeout = 10 * time.Second // for the hub's answer
)

// Publish is link.Wire's. What is on its way shares the connection; each answer
// comes by itself.
func (w *Wire) Publish(to string, kind link.Kind, dedup string, data []byte) <-chan error {
	out := make(chan error, 1)
	if _, err := mail.ParseStation(to); err != nil {
		out <- err
		return out
	}
	if !w.State().Up {
		out <- w.down(nil)
		return out
	}
	ack, err := w.js.PublishMsgAsync(&nats.Msg{Subject: w.o.Team.Subject(w.o.Station, to, kind), Data: data}, jetstream.WithMsgID(w.name(to, dedup)))
	if err != nil {
		out <- w.refused(err)
		return out
	}
	go func() {
		select {
		case <-ack.Ok():
			out <- nil
		case err := <-ack.Err():
			out <- w.refused(err)
		case <-time.After(publishTimeout + time.Second): // it should have said so itself
			out <- w.down(jetstream.ErrAsyncPublishTimeout)
		}
	}()
	return out
}

// name is what JetStream tells duplicates by. It does so for the whole stream: one
// message for two stations has two names, and one that another station could
// guess would let it have ours swallowed.
func (w *Wire) name(to, dedup string) string { return w.nonce + " " + to + " " + dedup }

// Codes of JetStream that nats.go does not name (nats-server's errors.json).
const (
	codeNoResources   jetstream.ErrorCode = 10023 // the server's limits, the disk
	codeStoreFailed   jetstream.ErrorCode = 10077 // the stream's limits, too: told apart by the text
	codeNoStorageLeft jetstream.ErrorCode = 10047
)

// refused turns what JetStream says into what link.Wire promises.
func (w *Wire) refused(err error) error {
	var api *jetstream.APIError
	switch {
	case errors.As(err, &api):
		full := api.ErrorCode == codeStoreFailed && strings.Contains(api.Description, "maximum")
		if full || api.ErrorCode == codeNoResources || api.ErrorCode == codeNoStorageLeft {
			return link.ErrFull
		}
	case errors.Is(err, nats.ErrDisconnected), errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, nats.ErrConnectionClosed),
		errors.Is(err, nats.ErrConnectionReconnecting), errors.Is(err, nats.ErrStaleConnection), errors.Is(err, jetstream.ErrAsyncPublishTimeout):
		return w.down(err)
	}
	return err
}
