package demooffice_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/postroom/postroom/e2e/demooffice"
	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/debt"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/verify"
)

// few is enough for every story that is told once, and some of the others.
const few = 160

// end is where the office's time ends: a Friday afternoon.
func end() time.Time { return time.Date(2026, 5, 29, 15, 0, 0, 0, time.UTC) }

func fill(t *testing.T, seed uint64) (*office.Office, demooffice.Made) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "office")
	made, err := demooffice.Fill(demooffice.Options{Dir: dir, Messages: few, Seed: seed, Version: "test", Now: end()})
	if err != nil {
		t.Fatal(err)
	}
	o, err := office.Open(dir, cli.SystemEnv("test").System)
	if err != nil {
		t.Fatal(err)
	}
	return o, made
}

// TestFill: the office is sound, and everything that a page shows is there.
func TestFill(t *testing.T) {
	t.Parallel()
	o, made := fill(t, 1)
	if made.Agents != 12 || made.Sent < few-20 || made.Sent > few+20 {
		t.Errorf("made %+v", made)
	}
	var faults []verify.Finding
	if _, err := verify.Run(context.Background(), o, verify.Options{Found: func(f verify.Finding) { faults = append(faults, f) }}); err != nil || len(faults) > 0 {
		t.Errorf("post verify finds %v %v", faults, err)
	}
	open, err := approval.Open(o.FS)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[policy.AskKind]int{}
	options := 0
	for _, a := range open {
		kinds[a.Kind]++
		options += len(a.Options)
	}
	if options < 4 {
		t.Errorf("%d options to choose from", options)
	}
	if kinds[policy.Question] < 3 || kinds[policy.Notice] < 2 || kinds[policy.Release] != 1 {
		t.Errorf("open approvals: %v", kinds)
	}
	book, err := debt.Load(o.FS)
	if err != nil {
		t.Fatal(err)
	}
	late, early := 0, 0
	for _, d := range book.Open(o.Settings()) {
		if d.Due.Before(end()) {
			late++
		} else {
			early++
		}
	}
	if late < 2 || early < 2 || late > 12 {
		t.Errorf("%d debts are overdue, %d are not", late, early)
	}
	events := map[string]int{}
	if err := journal.Each(o.FS, time.Time{}, time.Time{}, func(r journal.Record) error { events[r.Event]++; return nil }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{journal.Joined, journal.Delivered, journal.Escalated, journal.Decided, journal.Bounced, journal.Reminded} {
		if events[want] == 0 {
			t.Errorf("the journal has no %s", want)
		}
	}
}

// TestSeed: the same seed tells the same stories, another one others.
func TestSeed(t *testing.T) {
	t.Parallel()
	said := func(seed uint64) (out []string) {
		o, _ := fill(t, seed)
		err := journal.Each(o.FS, time.Time{}, time.Time{}, func(r journal.Record) error {
			if r.Event == journal.Delivered {
				out = append(out, string(r.ID)+r.From+r.Agent+r.Act)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	one, again, other := said(7), said(7), said(8)
	if !slices.Equal(one, again) {
		t.Error("the same seed made another office")
	}
	if slices.Equal(one, other) {
		t.Error("another seed made the same office")
	}
}
