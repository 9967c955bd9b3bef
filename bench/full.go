package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/spool"
)

const (
	smallAgents, smallMail = 10, 1000
	// backlogMail is how much an inbox held that was drained, unless -full is less.
	backlogMail = 100_000
	// perMessage is what an archived message takes on a disk with blocks of 4 KB:
	// its file, and its share of journal, index, transcript and directories.
	perMessage = 8 << 10
	// deliveries are the messages of one round of throughput.
	deliveries = 400
)

// grown are the offices that are compared: what is small, what has many agents,
// what has much mail besides, and one whose mailbox of a0 was very full once.
type grown struct{ small, agents, full, drained string }

// full measures whether a full office costs more than a small one.
func full(b *bench) error {
	g, err := b.grow()
	if err != nil {
		return err
	}
	for _, m := range []func(*grown) error{b.fullChecks, b.fullSends, b.fullDelivery, b.fullArchive} {
		if err := m(g); err != nil {
			return err
		}
	}
	return b.routerMemory(g.full, b.fullOffice())
}

func (b *bench) fullOffice() string {
	return fmt.Sprintf(", %d agents, %d archived", b.agents, b.full)
}

// grow makes the offices.
func (b *bench) grow() (*grown, error) {
	backlog := min(backlogMail, b.full)
	if err := b.fits(b.full + backlog + 2*smallMail + 8*b.agents); err != nil {
		return nil, err
	}
	var g grown
	for _, o := range []struct {
		dir          *string
		name         string
		agents, mail int
		fill         func(*filler) error
	}{
		{&g.small, "small", smallAgents, smallMail, (*filler).archive},
		{&g.agents, "agents", b.agents, smallMail, (*filler).archive},
		{&g.drained, "drained", smallAgents, backlog, func(f *filler) error { return f.backlog(1, 0) }},
		{&g.full, "full", b.agents, b.full, (*filler).archive},
	} {
		dir, names, err := b.makeOffice(o.name, o.agents)
		if err != nil {
			return nil, err
		}
		*o.dir = dir
		f, err := newFiller(dir, names, o.mail)
		if err != nil {
			return nil, err
		}
		begin := time.Now()
		if err := o.fill(f); err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "  office %s: %d agents, %d messages in %.0f s\n", o.name, o.agents, o.mail, time.Since(begin).Seconds())
		if b.verify {
			if _, err := b.command(b.post, "verify", "--office", dir); err != nil {
				return nil, err
			}
		}
	}
	return &g, nil
}

// fits refuses what the disk has no room for.
func (b *bench) fits(messages int) error {
	free, files, known := room(b.dir)
	need := uint64(messages) * perMessage
	switch {
	case !known:
		return nil
	case free < need:
		return fmt.Errorf("%d messages need %d MB and %s has %d MB: use a smaller -full, or -dir elsewhere", messages, need>>20, b.dir, free>>20)
	case files > 0 && files < uint64(messages):
		return fmt.Errorf("%d messages are as many files and %s has room for %d: use a smaller -full, or -dir elsewhere", messages, b.dir, files)
	}
	return nil
}

// compare adds the rows of one measurement in the small office, in one with
// many agents, and in the full one.
func (b *bench) compare(what string, goal float64, small, agents, full *side, show func(*side) string) {
	where := b.fullOffice()
	b.atMost(what+where, show(full), "small office "+show(small), over(full, small), goal)
	b.note(what+where, show(full), fmt.Sprintf("%d agents, %d archived %s", b.agents, smallMail, show(agents)), over(full, agents))
}

func millis(s *side) string { return ms(s.median()) }

func (b *bench) fullChecks(g *grown) error {
	check := func(dir string) *side { return b.process(b.post, always("inbox", "-q", "--as", "a0", "--office", dir)) }
	small, agents, full, drained := check(g.small), check(g.agents), check(g.full), check(g.drained)
	if err := interleave(max(b.rounds, 2*cheap), small, agents, full, drained); err != nil {
		return err
	}
	b.compare("inbox check", 1.10, small, agents, full, millis)
	b.atMost(fmt.Sprintf("inbox check after a backlog of %d was drained", min(backlogMail, b.full)), millis(drained), "small office "+millis(small), over(drained, small), 1.2)
	return nil
}

func (b *bench) fullSends(g *grown) error {
	file, err := b.bodyFile()
	if err != nil {
		return err
	}
	send := func(dir string) *side { return b.process(b.post, always(sendArgs(dir, "a2", "a1", file)...)) }
	small, agents, full := send(g.small), send(g.agents), send(g.full)
	if err := interleave(max(b.rounds, cheap), small, agents, full); err != nil {
		return err
	}
	b.compare("post send", 1.10, small, agents, full, millis)
	return nil
}

func (b *bench) fullDelivery(g *grown) error {
	deliver := func(dir string) *side {
		return &side{do: func(int) (time.Duration, error) {
			d, _, err := b.deliver(dir, "a4", []string{"a3"}, deliveries, false, router.Options{Own: aid(3), Linger: linger})
			return d, err
		}}
	}
	small, agents, full := deliver(g.small), deliver(g.agents), deliver(g.full)
	if err := interleave(b.rounds, small, agents, full); err != nil {
		return err
	}
	b.compare("outbox → inbox, 1 sender, time", 1.10, small, agents, full, func(s *side) string {
		return fmt.Sprintf("%.0f/s", deliveries/s.median().Seconds())
	})
	return nil
}

// fullArchive measures post done of one message.
func (b *bench) fullArchive(g *grown) error {
	rounds := max(b.rounds, cheap)
	done := func(dir string) (*side, error) {
		if _, err := b.timed(bytes.NewReader(batchInput("a0", rounds+1)), b.post, "send", "--batch", "--again", "--as", "a5", "--office", dir); err != nil {
			return nil, err
		}
		entries, err := os.ReadDir(filepath.Join(dir, "agents", "a0", spool.Inbox))
		if err != nil {
			return nil, err
		}
		var ids []string
		for _, e := range entries {
			if id, ok := strings.CutSuffix(e.Name(), ".json"); ok {
				ids = append(ids, id)
			}
		}
		if len(ids) <= rounds {
			return nil, fmt.Errorf("%d of %d messages arrived", len(ids), rounds+1)
		}
		return b.process(b.post, func(r int) []string { return []string{"done", ids[r], "--as", "a0", "--office", dir} }), nil
	}
	var sides [3]*side
	for i, dir := range []string{g.small, g.agents, g.full} {
		var err error
		if sides[i], err = done(dir); err != nil {
			return err
		}
	}
	if err := interleave(rounds, sides[:]...); err != nil {
		return err
	}
	b.compare("archive (post done)", 1.3, sides[0], sides[1], sides[2], millis)
	return nil
}
