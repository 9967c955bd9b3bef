package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/router"
)

// body is what each message carries.
var body = string(bytes.Repeat([]byte("0123456789abcde\n"), 64))

// throughput measures outbox to inbox, durable in both, with a router draining,
// against as many writers of plain durable files.
func throughput(b *bench) error {
	for _, senders := range []int{1, 8, most} {
		each := 1600 / senders
		var raw, mailed []time.Duration
		var lat []time.Duration
		for r := range b.rounds {
			d, err := b.rawRound(fmt.Sprintf("raw-%d-%d", senders, r), senders, each)
			if err != nil {
				return err
			}
			raw = append(raw, d/time.Duration(senders*each))
			d, l, err := b.mailRound(fmt.Sprintf("mail-%d-%d", senders, r), senders, each, false)
			if err != nil {
				return err
			}
			mailed, lat = append(mailed, d/time.Duration(senders*each)), append(lat, l...)
		}
		goal := 0.75
		if senders > 1 {
			goal = 0.70
		}
		rawRate, mailRate := 1/median(raw).Seconds(), 1/median(mailed).Seconds()
		b.atLeast(fmt.Sprintf("outbox → inbox, durable, %d senders", senders), fmt.Sprintf("%.0f/s", mailRate), fmt.Sprintf("raw file %.0f/s", rawRate), mailRate/rawRate, goal)
		if senders == most {
			if err := b.latency(lat); err != nil {
				return err
			}
		}
	}
	return nil
}

// most is at how many senders latency is measured.
const most = 32

// latency measures how long a message takes where each sender waits until its
// message is delivered before it writes the next, as post send does; open has
// the times of senders that wait for nothing and only pile up a backlog.
func (b *bench) latency(open []time.Duration) error {
	var waited []time.Duration
	for r := range b.rounds {
		_, l, err := b.mailRound(fmt.Sprintf("waiting-%d", r), most, 640/most, true)
		if err != nil {
			return err
		}
		waited = append(waited, l...)
	}
	const goal = 40 * time.Millisecond
	row := func(add func(what, figure string, ratio float64), what string, d time.Duration) {
		add(fmt.Sprintf("end to end at %d senders, %s", most, what), ms(d), d.Seconds()/goal.Seconds())
	}
	judge := func(what, figure string, ratio float64) { b.atMost(what, figure, "40 ms", ratio, 1) }
	tell := func(what, figure string, ratio float64) { b.note(what, figure, "40 ms", ratio) }
	row(judge, "p50", median(waited))
	row(tell, "p99", quantile(waited, 0.99))
	row(tell, "that don't wait, p50", median(open))
	return nil
}

// rawRound is the physical limit: new file, sync, rename, sync of the directory.
func (b *bench) rawRound(name string, writers, each int) (time.Duration, error) {
	root := filepath.Join(b.dir, name)
	for w := range writers {
		if err := os.MkdirAll(filepath.Join(root, strconv.Itoa(w)), 0o700); err != nil {
			return 0, err
		}
	}
	return inParallel(writers, func(w int) error {
		dir := filepath.Join(root, strconv.Itoa(w))
		for i := range each {
			if err := rawFile(dir, strconv.Itoa(i)); err != nil {
				return err
			}
		}
		return nil
	})
}

func rawFile(dir, name string) error {
	tmp := filepath.Join(dir, ".tmp-"+name)
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteString(body); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(tmp, filepath.Join(dir, name)); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func inParallel(n int, do func(int) error) (time.Duration, error) {
	var wg sync.WaitGroup
	errs := make([]error, n)
	start := time.Now()
	for i := range n {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	d := time.Since(start)
	for _, err := range errs {
		if err != nil {
			return d, err
		}
	}
	return d, nil
}

// linger is how long a draining router waits for more before it does the
// trailing work.
const linger = 40 * time.Millisecond

// mailRound sends each*senders messages from as many mailboxes to one, in a new
// office.
func (b *bench) mailRound(name string, senders, each int, wait bool) (time.Duration, []time.Duration, error) {
	dir, names, err := b.makeOffice(name, senders+1)
	if err != nil {
		return 0, nil, err
	}
	return b.deliver(dir, names[0], names[1:], each, wait, router.Options{All: true, Linger: linger})
}

// deliver sends each messages from every sender to one agent while a router
// drains. It ends when the last is durably in the inbox. With wait, a sender
// writes its next message when the last one is delivered.
func (b *bench) deliver(dir, to string, senders []string, each int, wait bool, opt router.Options) (time.Duration, []time.Duration, error) {
	total := len(senders) * each
	rec := &arrivals{sent: map[mail.ID]letter{}, early: map[mail.ID]time.Time{}, left: total, done: make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	var routing sync.WaitGroup
	o, err := office.Open(dir, cli.SystemEnv("bench").System)
	if err != nil {
		stop()
		return 0, nil, err
	}
	var routeErr error
	opt.Delivered = rec.arrived
	routing.Go(func() { routeErr = rec.route(ctx, o, opt) })
	start := time.Now()
	_, err = inParallel(len(senders), func(w int) error { return rec.send(dir, senders[w], to, each, wait) })
	if err == nil {
		select {
		case <-rec.done:
		case <-time.After(time.Minute):
			err = errors.New("not every message arrived")
		}
	}
	d := time.Since(start)
	stop()
	routing.Wait()
	if err == nil {
		err = routeErr
	}
	return d, rec.latency, err
}

// arrivals keeps when each message was sent and how long it took.
type arrivals struct {
	mu      sync.Mutex
	sent    map[mail.ID]letter
	early   map[mail.ID]time.Time // arrived before its sender could write it down
	latency []time.Duration
	left    int
	done    chan struct{}
}

// letter is a message under way: when its sender began, and what tells it that
// the message is delivered.
type letter struct {
	begin time.Time
	there chan struct{}
}

func (a *arrivals) send(dir, from, to string, n int, wait bool) error {
	o, err := office.Open(dir, cli.SystemEnv("bench").System)
	if err != nil {
		return err
	}
	m, err := mailbox.Open(o, from)
	if err != nil {
		return err
	}
	for i := range n {
		begin := time.Now()
		sent, err := m.Send(mailbox.Draft{To: []string{to}, Subject: "bench " + strconv.Itoa(i), Body: body, Again: true})
		if err != nil {
			return err
		}
		if sent[0].Err != nil {
			return sent[0].Err
		}
		id := sent[0].Msg.ID
		l := letter{begin, make(chan struct{})}
		a.mu.Lock()
		a.sent[id] = l
		if at, ok := a.early[id]; ok {
			a.latency = append(a.latency, at.Sub(begin))
			close(l.there)
		}
		a.mu.Unlock()
		if wait {
			<-l.there
		}
	}
	return nil
}

func (a *arrivals) route(ctx context.Context, o *office.Office, opt router.Options) error {
	r := &router.Router{Office: o}
	for ctx.Err() == nil {
		_, err := r.Pass(ctx, opt)
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func (a *arrivals) arrived(res router.Result) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if l, ok := a.sent[res.ID]; ok {
		a.latency = append(a.latency, now.Sub(l.begin))
		close(l.there)
	} else {
		a.early[res.ID] = now
	}
	if a.left--; a.left == 0 {
		close(a.done)
	}
}
