package natslink

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/postroom/postroom/internal/link"
)

const (
	batchMax   = 64
	ackTimeout = 5 * time.Second // after a hub's crash some acks are never answered
	giveBack   = 2 * time.Second // how long an end waits for what was fetched
)

// Receive is link.Wire's. The consumer is looked up again after any error: a
// restarted hub may have made it anew.
func (w *Wire) Receive(ctx context.Context, take func([]link.Parcel)) error {
	w.busy.Add(1)
	defer w.busy.Done()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(w.closing, stop)()
	in := &intake{queue: make(chan jetstream.Msg, unacked), failed: make(chan error, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.fetch(ctx, in)
	}()
	w.hand(ctx, in, take)
	<-done
	in.giveBack()
	w.flush()
	return ctx.Err()
}

// intake is what was fetched and not yet handed on.
type intake struct {
	queue  chan jetstream.Msg
	failed chan error
	ended  atomic.Bool
}

// put takes one message from nats.go, whose goroutine must not wait at an end.
func (in *intake) put(m jetstream.Msg) {
	if !in.ended.Load() {
		select {
		case in.queue <- m:
			return
		case <-time.After(ackWait): // it comes again by now
			return
		}
	}
	m.Nak()
}

func (in *intake) fail(_ jetstream.ConsumeContext, err error) {
	select {
	case in.failed <- err:
	default:
	}
}

// fetch keeps the consumer at work until ctx ends.
func (w *Wire) fetch(ctx context.Context, in *intake) {
	for wait := time.Duration(0); ctx.Err() == nil; {
		pause(ctx, wait)
		wait = min(max(2*wait, 100*time.Millisecond), slowest)
		from, err := w.consumer(ctx)
		if err != nil {
			w.missing(err)
			continue
		}
		run, err := from.Consume(in.put, jetstream.PullMaxMessages(2*batchMax), jetstream.PullExpiry(30*time.Second),
			jetstream.PullHeartbeat(5*time.Second), jetstream.ConsumeErrHandler(in.fail))
		if err != nil {
			continue
		}
		began := time.Now()
		select {
		case err := <-in.failed:
			w.o.Log.Debug("link: the consumer is looked up again", "because", err)
			run.Stop()
		case <-ctx.Done():
			in.ended.Store(true)
			run.Drain()
		}
		select {
		case <-run.Closed():
		case <-time.After(giveBack):
		}
		if time.Since(began) > slowest {
			wait = 0
		}
	}
}

// consumer looks this station's consumer up, and makes it where that is ours to do.
func (w *Wire) consumer(ctx context.Context) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	c, err := w.js.Consumer(ctx, w.o.Team.Stream(), w.o.Station)
	if err == nil || !w.o.Manage || !errors.Is(err, jetstream.ErrConsumerNotFound) && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return c, err
	}
	if _, err := w.Ensure(ctx); err != nil {
		return nil, err
	}
	return w.js.Consumer(ctx, w.o.Team.Stream(), w.o.Station)
}

// missing: it is up, and yet nothing comes in.
func (w *Wire) missing(err error) {
	if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		w.o.Log.Warn("link: the hub keeps no mail for this station", "stream", w.o.Team.Stream(), "consumer", w.o.Station)
	}
}

func pause(ctx context.Context, d time.Duration) {
	if d == 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// hand calls take with what has come in, until ctx ends.
func (w *Wire) hand(ctx context.Context, in *intake, take func([]link.Parcel)) {
	for {
		var batch []link.Parcel
		select {
		case <-ctx.Done():
			return
		case m := <-in.queue:
			batch = append(batch, w.give(m))
		}
		for more := true; more && len(batch) < batchMax; {
			select {
			case m := <-in.queue:
				batch = append(batch, w.give(m))
			default:
				more = false
			}
		}
		take(batch)
	}
}

func (in *intake) giveBack() {
	for {
		select {
		case m := <-in.queue:
			m.Nak()
		default:
			return
		}
	}
}

// parcel is a link.Parcel.
type parcel struct {
	m jetstream.Msg
	w *Wire
}

func (p *parcel) Data() []byte { return p.m.Data() }

func (p *parcel) From() string { return sender(p.m.Subject()) }

func (p *parcel) Ack(ctx context.Context) error {
	p.w.answered(p)
	ctx, cancel := context.WithTimeout(ctx, ackTimeout)
	defer cancel()
	return p.m.DoubleAck(ctx)
}

func (p *parcel) Nak(delay time.Duration) {
	p.w.answered(p)
	p.m.NakWithDelay(delay)
}

func (p *parcel) Term(reason string) {
	p.w.answered(p)
	p.m.TermWithReason(reason)
}

// give makes a parcel that Close gives back if nobody has answered it by then.
func (w *Wire) give(m jetstream.Msg) *parcel {
	p := &parcel{m, w}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.given[p] = true
	return p
}

func (w *Wire) answered(p *parcel) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.given, p)
}

func (w *Wire) giveBack() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.given {
		p.m.Nak()
	}
	clear(w.given)
}
