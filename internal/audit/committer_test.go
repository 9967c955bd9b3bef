package audit

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 5, 30, 14, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	few := func() uint64 { return 3 }
	many := func() uint64 { return enough }
	p := plan{every: 30 * time.Second}
	if !p.due(at(0), true, few) {
		t.Fatal("the first look does not wait")
	}
	p.tried(at(0), time.Millisecond, nil)
	for _, c := range []struct {
		at      int
		changed bool
		behind  func() uint64
		want    bool
	}{
		{5, true, few, false},
		{29, true, many, false}, // never sooner than every 30 s
		{31, true, few, false},  // since 5 s: company may come
		{31, true, many, true},  // enough came
		{35, true, few, true},
		{36, false, many, false},
		{40, true, few, false},
		{69, true, few, false},
		{70, true, few, true},
	} {
		if got := p.due(at(c.at), c.changed, c.behind); got != c.want {
			t.Fatalf("at %d s: %v", c.at, got)
		}
	}
	p.tried(at(70), 10*time.Second, nil)
	if p.next != at(70+share*10) {
		t.Fatal("a slow commit is not followed by a pause of its measure: ", p.next)
	}
	bad := errors.New("no space left")
	var last time.Duration
	for range 20 {
		p.tried(at(100), 0, bad)
		if pause := p.next.Sub(at(100)); pause < last || pause > maxPause {
			t.Fatal(pause)
		} else {
			last = pause
		}
	}
	if last != maxPause {
		t.Fatal(last)
	}
	was := p
	p.tried(at(200), 0, &mail.Error{Kind: mail.KindBusy})
	if p != was {
		t.Fatal("another committer is no failure")
	}
}

func TestCommitterRuns(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := NewCommitter(d.Audit, slog.New(slog.NewTextHandler(io.Discard, nil)))
	c.Every, c.Check = time.Millisecond, time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Run(ctx)
	}()
	settled := func() {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(2 * time.Millisecond) {
			s, err := d.Status()
			if err == nil && s.Last != nil && s.Behind == 0 {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%+v %v", s, err)
			}
		}
	}
	settled()
	d.journal(journal.Delivered, journal.Settled, journal.Read, journal.Settled)
	settled()
	cancel()
	<-done
	if _, ok := c.State().(Status); !ok {
		t.Fatalf("%+v", c.State())
	}
}
