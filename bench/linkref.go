package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/link/hub"
	"github.com/postroom/postroom/internal/link/natslink"
)

// linkReference is the least that carries a message from disk to disk over the
// same hub with the same promise: a durable file, published and acknowledged; a
// durable file there, then a receipt durable there, then the double ack; the
// receipt published and acknowledged, and durable here. No rules, no names, no
// signatures, no journal. It is two more stations of the hub, in this process.
type linkReference struct {
	a, z *endpoint

	mu    sync.Mutex
	moved sync.Cond
	there map[string]time.Time
	back  map[string]time.Time
	next  int
	err   error
}

// endpoint is one station's connection and where its files are.
type endpoint struct {
	team    natslink.Team
	station string
	dir     string
	nc      *nats.Conn
	js      jetstream.JetStream
}

func (b *bench) makeReference(t *linkTeam) (*linkReference, error) {
	ref := &linkReference{there: map[string]time.Time{}, back: map[string]time.Time{}}
	ref.moved.L = &ref.mu
	var err error
	if ref.a, err = b.endpoint(t, "ref-a"); err != nil {
		return nil, err
	}
	if ref.z, err = b.endpoint(t, "ref-b"); err != nil {
		return nil, err
	}
	return ref, errors.Join(ref.z.receive(ref.arrive), ref.a.receive(ref.receipts))
}

func (b *bench) endpoint(t *linkTeam, station string) (*endpoint, error) {
	text, err := t.invite()
	if err != nil {
		return nil, err
	}
	line, err := hub.ParseLine(text)
	if err != nil {
		return nil, err
	}
	key, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	seed, err := key.Seed()
	if err != nil {
		return nil, err
	}
	m, err := hub.Join(context.Background(), line, station, string(seed))
	if err != nil {
		return nil, err
	}
	e := &endpoint{team: m.Team, station: station, dir: filepath.Join(b.dir, station)}
	for _, dir := range []string{"in", "out", "receipts"} {
		if err := os.MkdirAll(filepath.Join(e.dir, dir), 0o700); err != nil {
			return nil, err
		}
	}
	if e.nc, err = nats.Connect(strings.Join(m.URLs, ","), append(natslink.Dialing(m.Pin), nats.UserJWTAndSeed(m.User.JWT, m.User.Seed),
		nats.CustomInboxPrefix(natslink.InboxPrefix(station)))...); err != nil {
		return nil, err
	}
	e.js, err = jetstream.New(e.nc)
	return e, err
}

func (r *linkReference) close() {
	r.a.nc.Close()
	r.z.nc.Close()
}

// receive takes what comes in, at most 64 at once.
func (e *endpoint) receive(take func([]jetstream.Msg) error) error {
	c, err := e.js.Consumer(context.Background(), e.team.Stream(), e.station)
	if err != nil {
		return err
	}
	queue := make(chan jetstream.Msg, 256)
	if _, err := c.Consume(func(m jetstream.Msg) { queue <- m }, jetstream.PullMaxMessages(128)); err != nil {
		return err
	}
	go func() {
		for m := range queue {
			batch := []jetstream.Msg{m}
			for more := true; more && len(batch) < 64; {
				select {
				case m := <-queue:
					batch = append(batch, m)
				default:
					more = false
				}
			}
			if take(batch) != nil {
				return
			}
		}
	}()
	return nil
}

// arrive is the far end.
func (r *linkReference) arrive(batch []jetstream.Msg) error {
	names := make([]string, len(batch))
	for i, m := range batch {
		names[i] = nameIn(m)
	}
	err := durably(filepath.Join(r.z.dir, "in"), names, body)
	r.note(r.there, names, err)
	if err == nil {
		err = durably(filepath.Join(r.z.dir, "receipts"), names, "arrived")
	}
	return r.finish(batch, err, func(i int) error { return r.z.publish(r.a.station, link.Receipt, "r-"+names[i], names[i]) })
}

// receipts is the near end.
func (r *linkReference) receipts(batch []jetstream.Msg) error {
	names := make([]string, len(batch))
	for i, m := range batch {
		names[i] = nameIn(m)
	}
	err := durably(filepath.Join(r.a.dir, "receipts"), names, "arrived")
	r.note(r.back, names, err)
	return r.finish(batch, err, func(int) error { return nil })
}

// finish acknowledges and answers, all side by side.
func (r *linkReference) finish(batch []jetstream.Msg, err error, answer func(i int) error) error {
	if err == nil {
		_, err = inParallel(len(batch), func(i int) error { return errors.Join(batch[i].DoubleAck(context.Background()), answer(i)) })
	}
	if err != nil {
		r.note(nil, nil, err)
	}
	return err
}

func (r *linkReference) note(in map[string]time.Time, names []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for _, n := range names {
		if err == nil {
			in[n] = now
		}
	}
	if err != nil && r.err == nil {
		r.err = err
	}
	r.moved.Broadcast()
}

func nameIn(m jetstream.Msg) string {
	name, _, _ := bytes.Cut(m.Data(), []byte("\n"))
	return string(name)
}

// durably writes files of one text and syncs them in parallel, their directory
// once.
func durably(dir string, names []string, text string) error {
	if _, err := inParallel(len(names), func(i int) error {
		f, err := os.OpenFile(filepath.Join(dir, ".tmp-"+names[i]), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Sync(), f.Close())
		return errors.Join(err, os.Rename(f.Name(), filepath.Join(dir, names[i])))
	}); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// publish waits for the hub's acknowledgement.
func (e *endpoint) publish(to string, kind link.Kind, dedup, text string) error {
	_, err := e.js.PublishMsg(context.Background(), &nats.Msg{Subject: e.team.Subject(e.station, to, kind), Data: []byte(text)}, jetstream.WithMsgID(dedup))
	return err
}

// send is one message: durable here, then with the hub.
func (r *linkReference) send() (journey, error) {
	r.mu.Lock()
	r.next++
	name := fmt.Sprint("m-", r.next)
	r.mu.Unlock()
	began := time.Now()
	if err := rawFile(filepath.Join(r.a.dir, "out"), name); err != nil {
		return journey{}, err
	}
	if err := r.a.publish(r.z.station, link.Mail, name, name+"\n"+body); err != nil {
		return journey{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.back[name].IsZero() && r.err == nil {
		r.moved.Wait()
	}
	return journey{r.there[name].Sub(began), r.back[name].Sub(began)}, r.err
}

func (r *linkReference) oneByOne(n int) ([]journey, error) {
	var out []journey
	for range n {
		j, err := r.send()
		if err != nil {
			return nil, err
		}
		out = append(out, j)
	}
	return out, nil
}

func (r *linkReference) many(senders, each int) (time.Duration, error) {
	return inParallel(senders, func(int) error {
		_, err := r.oneByOne(each)
		return err
	})
}

// publishes is JetStream alone: messages of the same size, acknowledged by the
// same stream. They are for nobody, a subject a round, since a subject is bounded.
func (r *linkReference) publishes(round, senders, each int) ([]time.Duration, error) {
	took := make([]time.Duration, senders*each)
	_, err := inParallel(senders, func(s int) error {
		for i := range each {
			began := time.Now()
			if err := r.a.publish(fmt.Sprint("nobody-", round), link.Mail, fmt.Sprint("p-", round, "-", s, "-", i), body); err != nil {
				return err
			}
			took[s*each+i] = time.Since(began)
		}
		return nil
	})
	return took, err
}
