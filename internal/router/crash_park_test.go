//go:build !race

package router_test

import (
	"testing"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/router"
)

// The files that messages from researcher to coder are parked in.
const (
	parkedIndex   = "office/agents/coder/index.jsonl"
	parkedSection = "office/transcripts/_inbox_coder.md"
	parkedJournal = "office/journal/2026-05-30.jsonl"
	parkedCopies  = "office/messages/2026-05"
)

// parking is a scenario in which messages are parked. Beside what decides
// nothing, what sending leaves (TestCrashDirect) is held still.
func parking(t *testing.T, messages int, still ...string) *crash {
	c := newCrash(t, "researcher", "coder")
	c.still = append(c.still, "office/agents/researcher/.clock", "office/agents/researcher/outbox/.keys")
	c.still = append(c.still, still...)
	c.after = wrote(messages, 0)
	return c
}

// TestCrashParked: one message is parked; the next pass makes it durable.
func TestCrashParked(t *testing.T) {
	t.Parallel()
	c := parking(t, 1)
	c.watch(c.send("researcher", item("1")), c.park, c.pass)
}

// TestCrashParkedTwo: the second is parked behind the first, and nothing that
// was written for either is synced but the first one's record. All files at once
// are more states than can be tried; each two of them are tried together.
func TestCrashParkedTwo(t *testing.T) {
	t.Parallel()
	for name, still := range map[string][]string{
		"index":    {parkedSection, parkedCopies},
		"sections": {parkedIndex, parkedCopies},
		"trails":   {parkedJournal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := parking(t, 2, still...)
			c.watch(c.send("researcher", item("1")), c.park, c.send("researcher", item("2")), c.park)
		})
	}
}

// TestCrashParkedThenSender: after the crash a sender is first, who parks again.
func TestCrashParkedThenSender(t *testing.T) {
	t.Parallel()
	c := parking(t, 2, parkedCopies)
	c.between = func(d *officetest.Desk) {
		d.Send("coder", mailbox.Draft{To: []string{"researcher"}, Act: mail.Inform, Subject: "Late", Body: "I am."})
	}
	c.first = &router.Options{Own: "a-coder", Park: true}
	c.watch(c.send("researcher", item("1")), c.park)
}

// TestCrashParkedThree: of three lines that nobody synced the last may be whole
// and one before it torn, which no reader of the last line would see.
func TestCrashParkedThree(t *testing.T) {
	t.Parallel()
	c := parking(t, 3, parkedSection, parkedCopies, parkedJournal)
	c.watch(c.send("researcher", item("1")), c.park, c.send("researcher", item("2")), c.park, c.send("researcher", item("3")), c.park)
}
