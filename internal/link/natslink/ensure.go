package natslink

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const tryTimeout = 3 * time.Second // a request that isn't permitted is never answered

// Ensure makes the team's streams and this station's consumer where they are
// missing, on a server that is not a hub of ours. What is there stays as it is:
// its admin may have reasons. It returns what is missing and could not be made, as
// the commands by which an admin makes it; an error is of the connection.
func (w *Wire) Ensure(ctx context.Context) (missing []string, err error) {
	if !w.State().Up {
		return nil, w.down(nil)
	}
	if err := soon(ctx, func(ctx context.Context) error {
		_, err := w.js.Consumer(ctx, w.o.Team.Stream(), w.o.Station)
		return err
	}); err != nil {
		there := errors.Is(err, jetstream.ErrConsumerNotFound) // the stream, then
		if err := w.makeStream(ctx, w.o.Team.Mail(w.o.Replicas)); err != nil && !there {
			missing = append(missing, streamCommand(w.o.Team.Mail(w.o.Replicas), err))
		}
		if err := w.makeConsumer(ctx); err != nil {
			missing = append(missing, w.consumerCommand(err))
		}
	}
	if err := soon(ctx, func(ctx context.Context) error { _, err := w.Cards(ctx); return err }); err != nil {
		if err := w.makeStream(ctx, w.o.Team.Directory(w.o.Replicas)); err != nil {
			missing = append(missing, streamCommand(w.o.Team.Directory(w.o.Replicas), err))
		}
	}
	if len(missing) > 0 && !w.State().Up {
		return nil, w.down(nil)
	}
	return missing, nil
}

// soon bounds one request.
func soon(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	return ask(ctx)
}

func (w *Wire) makeStream(ctx context.Context, c jetstream.StreamConfig) error {
	err := soon(ctx, func(ctx context.Context) error { _, err := w.js.CreateStream(ctx, c); return err })
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return nil
	}
	return err
}

func (w *Wire) makeConsumer(ctx context.Context) error {
	err := soon(ctx, func(ctx context.Context) error {
		_, err := w.js.CreateConsumer(ctx, w.o.Team.Stream(), w.o.Team.Consumer(w.o.Station))
		return err
	})
	if errors.Is(err, jetstream.ErrConsumerExists) {
		return nil
	}
	return err
}

// streamCommand is how the admin's own tool makes a stream.
func streamCommand(c jetstream.StreamConfig, err error) string {
	words := []string{"nats stream add", c.Name, "--subjects='" + c.Subjects[0] + "'", "--storage=file", fmt.Sprintf("--replicas=%d", c.Replicas),
		fmt.Sprintf("--max-msgs-per-subject=%d", c.MaxMsgsPerSubject), fmt.Sprintf("--max-msg-size=%d", c.MaxMsgSize)}
	if c.Retention == jetstream.WorkQueuePolicy {
		words = append(words, "--retention=work", "--discard=new", "--discard-per-subject", "--max-age="+c.MaxAge.String(), "--dupe-window="+c.Duplicates.String())
	} else {
		words = append(words, "--retention=limits", "--discard=old", "--allow-direct")
	}
	return "# stream " + c.Name + ": " + reason(err) + "\n" + strings.Join(append(words, "--defaults"), " ")
}

func (w *Wire) consumerCommand(err error) string {
	c := w.o.Team.Consumer(w.o.Station)
	return fmt.Sprintf("# consumer %s: %s\nnats consumer add %s %s --pull --filter='%s' --ack=explicit --wait=%s --max-pending=%d --max-deliver=-1 --deliver=all --replay=instant --defaults",
		c.Durable, reason(err), w.o.Team.Stream(), c.Durable, c.FilterSubject, c.AckWait, c.MaxAckPending)
}

func reason(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "not there, and making it is not permitted"
	}
	return Why(err)
}
