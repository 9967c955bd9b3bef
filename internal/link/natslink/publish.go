package natslink

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/mail"
)

const (
	maxInFlight    = 512
	publishTimeout = 10 * time.Second // for the hub's answer
)

// Publish is link.Wire's. Many calls at once share the connection, each waits
// for its own acknowledgement.
func (w *Wire) Publish(ctx context.Context, to string, kind link.Kind, dedup string, data []byte) error {
	if _, err := mail.ParseStation(to); err != nil {
		return err
	}
	if !w.State().Up {
		return w.down(nil)
	}
	ack, err := w.js.PublishMsgAsync(&nats.Msg{Subject: w.o.Team.Subject(w.o.Station, to, kind), Data: data}, jetstream.WithMsgID(dedup))
	if err != nil {
		return w.refused(err)
	}
	select {
	case <-ack.Ok():
		return nil
	case err := <-ack.Err():
		return w.refused(err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

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
