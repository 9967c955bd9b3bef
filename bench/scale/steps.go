package main

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/postroom/postroom/internal/link/hub"
)

// join makes the stations members, each with a join line of its own.
func (s *sim) join(ctx context.Context) error {
	before, began := s.hub.usage(), time.Now()
	control := hub.Control{Dir: s.hubDir(), Now: time.Now}
	next := make(chan int)
	var wg sync.WaitGroup
	errs := make(chan error, s.n)
	s.stations = make([]*station, s.n)
	for range 4 {
		wg.Go(func() {
			for i := range next {
				st, err := newStation(s, i)
				var line hub.Line
				if err == nil {
					line, err = control.Invite(ctx, time.Hour)
				}
				if err == nil {
					err = st.join(ctx, line)
				}
				if s.stations[i] = st; err != nil {
					errs <- err
				}
			}
		})
	}
	for i := range s.n {
		next <- i
	}
	close(next)
	wg.Wait()
	d := time.Since(began)
	say("join: %.1f s, %.1f ms each; %s", d.Seconds(), 1000*d.Seconds()/float64(s.n), during(before, s.hub.usage(), d))
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

// each runs fn for all stations, many at once.
func (s *sim) each(fn func(*station) error) error {
	var mu sync.Mutex
	var failed error
	var wg sync.WaitGroup
	slots := make(chan struct{}, 64)
	for _, st := range s.stations {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := fn(st); err != nil {
				mu.Lock()
				failed = err
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return failed
}

func (s *sim) connect(ctx context.Context) error {
	before, began := s.hub.usage(), time.Now()
	err := s.each(func(st *station) error { return st.open(ctx) })
	d := time.Since(began)
	say("connect: %.1f s; %s", d.Seconds(), during(before, s.hub.usage(), d))
	for _, st := range s.stations {
		if st.wire != nil && !s.offices {
			go st.follow(ctx)
		}
	}
	return err
}

// publish puts everybody's card.
func (s *sim) publish(ctx context.Context) error {
	return s.each(func(st *station) error {
		card, err := st.card(s.agents, time.Now())
		if err != nil {
			return err
		}
		s.cardSize.Store(int64(len(card)))
		for end := time.Now().Add(2 * time.Minute); ; {
			if err = st.wire.PutCard(ctx, card); err == nil || time.Now().After(end) {
				return err
			}
			s.notPut.Add(1)
		}
	})
}

func (s *sim) close() {
	for _, st := range s.stations {
		if st != nil && st.wire != nil {
			go st.wire.Close() // it waits for Receive, which ends with the run
		}
	}
}

// until polls; false: it did not become so in time.
func until(ctx context.Context, most time.Duration, is func() bool) bool {
	for end := time.Now().Add(most); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) || ctx.Err() != nil {
			return false
		}
	}
	return true
}

// introduce has all publish their cards at once, and waits until all know all.
func (s *sim) introduce(ctx context.Context) error {
	before, began := s.hub.usage(), time.Now()
	if err := s.publish(ctx); err != nil {
		return err
	}
	put := time.Since(began)
	all := until(ctx, 3*time.Minute, func() bool {
		return !slices.ContainsFunc(s.stations, func(st *station) bool { return st.known.Load() < int64(s.n) })
	})
	d := time.Since(began)
	least, reads := int64(s.n), int64(0)
	for _, st := range s.stations {
		least, reads = min(least, st.known.Load()), reads+st.read.Load()
	}
	say("cards: %d bytes each, all published after %.1f s; everybody knew everybody after %.1f s (%v; who knew least knew %d), put in vain %d times, asked for %d times, %d times in vain; %s",
		s.cardSize.Load(), put.Seconds(), d.Seconds(), all, least, s.notPut.Load(), reads, s.failures.Load(), during(before, s.hub.usage(), d))
	return nil
}

// change has one station publish another card.
func (s *sim) change(ctx context.Context) error {
	time.Sleep(3 * time.Second)
	before, began := s.hub.usage(), time.Now()
	at := time.Now()
	card, err := s.stations[0].card(s.agents+1, at)
	if err != nil {
		return err
	}
	if err := s.stations[0].wire.PutCard(ctx, card); err != nil {
		return err
	}
	all := until(ctx, time.Minute, func() bool {
		return !slices.ContainsFunc(s.stations, func(st *station) bool { return st.newest.Load() < at.UnixNano() })
	})
	d := time.Since(began)
	time.Sleep(2 * time.Second)
	say("one card changed: everybody knew it after %.2f s (%v); %s", d.Seconds(), all, during(before, s.hub.usage(), time.Since(began)))
	return nil
}

func (s *sim) idle(ctx context.Context) error {
	before, began, own := s.hub.usage(), time.Now(), usageOf(os.Getpid())
	time.Sleep(s.span)
	d := time.Since(began)
	say("idle: %s; all stations together %s, %s", during(before, s.hub.usage(), d), (usageOf(os.Getpid()).cpu - own.cpu).Round(tick), mb(usageOf(os.Getpid()).rss))
	return nil
}

// traffic sends between random pairs, so many at a time, each until its receipt
// is back.
func (s *sim) traffic(ctx context.Context) error {
	for _, inFlight := range []int{1, s.inFlight} {
		before, began := s.hub.usage(), time.Now()
		end := began.Add(s.span)
		var took []time.Duration
		var failed []error
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range inFlight {
			wg.Go(func() {
				for time.Now().Before(end) {
					a, b := s.stations[rand.IntN(s.n)], s.stations[rand.IntN(s.n)]
					at := time.Now()
					err := a.send(ctx, b.name)
					mu.Lock()
					if err == nil {
						took = append(took, time.Since(at))
					} else {
						failed = append(failed, err)
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if len(failed) > 0 {
			say("traffic, %d under way: %d failed, such as: %v", inFlight, len(failed), failed[0])
		}
		d := time.Since(began)
		slices.Sort(took)
		if len(took) == 0 {
			continue
		}
		say("traffic, %d under way: %.0f messages/s with their receipts (%.0f envelopes/s), p50 %.2f ms, p99 %.2f ms; %s", inFlight, float64(len(took))/d.Seconds(),
			2*float64(len(took))/d.Seconds(), took[len(took)/2].Seconds()*1000, took[len(took)*99/100].Seconds()*1000, during(before, s.hub.usage(), d))
	}
	return nil
}

// restart kills the hub, starts it again and waits for all.
func (s *sim) restart(ctx context.Context) error {
	say("hub's disk: %s", sizeOf(s.hubDir()))
	s.hub.cmd.Process.Signal(syscall.SIGKILL)
	s.hub.cmd.Wait()
	until(ctx, 10*time.Second, func() bool {
		return !slices.ContainsFunc(s.stations, func(st *station) bool { return st.wire.State().Up })
	})
	failures := s.failures.Load()
	began := time.Now()
	if err := s.startHub(); err != nil {
		return err
	}
	up := time.Since(began)
	before := usage{}
	all := until(ctx, 2*time.Minute, func() bool {
		return !slices.ContainsFunc(s.stations, func(st *station) bool { return !st.wire.State().Up })
	})
	back := time.Since(began)
	var unreached atomic.Int64
	s.each(func(st *station) error {
		if err := s.stations[rand.IntN(s.n)].send(ctx, st.name); err != nil {
			unreached.Add(1)
		}
		return nil
	})
	d := time.Since(began)
	say("restart after kill -9: listens after %.1f s; all connected after %.1f s (%v); mail reached each of them after %.1f s (%d not within a minute); cards asked for in vain %d times; %s",
		up.Seconds(), back.Seconds(), all, d.Seconds(), unreached.Load(), s.failures.Load()-failures, during(before, s.hub.usage(), d))
	time.Sleep(s.span)
	say("… and %s later: cards in vain %d times; %s", s.span, s.failures.Load()-failures, during(before, s.hub.usage(), time.Since(began)))
	return nil
}

// sizeOf says how much a directory holds.
func sizeOf(dir string) string {
	var files, bytes int64
	filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		files++
		if fi, err := e.Info(); err == nil {
			bytes += blocks(fi)
		}
		return nil
	})
	return fmt.Sprintf("%d files and directories, %s", files, mb(bytes))
}
