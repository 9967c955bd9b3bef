package natslink

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
)

// Ensure makes the team's streams and this station's consumer where they are
// missing, on a server that is not a hub of ours. What is there stays as it is:
// its admin may have his reasons.
func (w *Wire) Ensure(ctx context.Context) error {
	for _, c := range []jetstream.StreamConfig{w.o.Team.Mail(w.o.Replicas, -1), w.o.Team.Directory(w.o.Replicas)} {
		if err := ensureStream(ctx, w.js, c); err != nil {
			return err
		}
	}
	_, err := w.js.CreateConsumer(ctx, w.o.Team.Stream(), w.o.Team.Consumer(w.o.Station))
	if errors.Is(err, jetstream.ErrConsumerExists) {
		return nil
	}
	return err
}

func ensureStream(ctx context.Context, js jetstream.JetStream, c jetstream.StreamConfig) error {
	_, err := js.CreateStream(ctx, c)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return nil
	}
	return err
}
