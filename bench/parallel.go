package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// perRound is how many messages a round of parallel senders sends.
const perRound = 64

// parallel measures many processes at once, each of another agent, against as
// many reference senders, each with a directory of its own.
func parallel(b *bench) error {
	file, err := b.bodyFile()
	if err != nil {
		return err
	}
	for _, n := range []int{8, 32} {
		dir, names, err := b.makeOffice(fmt.Sprintf("parallel-%d", n), n+1)
		if err != nil {
			return err
		}
		root := filepath.Join(b.dir, fmt.Sprintf("parallel-ref-%d", n))
		for w := range n {
			if err := os.MkdirAll(filepath.Join(root, fmt.Sprint(w)), 0o700); err != nil {
				return err
			}
		}
		ref := b.senders(n, b.sender, func(w, nth int) []string {
			return []string{filepath.Join(root, fmt.Sprint(w)), fmt.Sprint(nth)}
		})
		toOne := b.senders(n, b.post, func(w, _ int) []string { return sendArgs(dir, names[w], names[n], file) })
		around := b.senders(n, b.post, func(w, _ int) []string { return sendArgs(dir, names[w], names[(w+1)%n], file) })
		if err := interleave(b.rounds, ref, toOne, around); err != nil {
			return err
		}
		rate := func(s *side) float64 { return perRound / s.median().Seconds() }
		for _, s := range []struct {
			what string
			*side
		}{{"all to one", toOne}, {"each to the next", around}} {
			b.atLeast(fmt.Sprintf("%d post send at once, %s", n, s.what), fmt.Sprintf("%.0f/s", rate(s.side)),
				fmt.Sprintf("reference senders %.0f/s", rate(ref)), rate(s.side)/rate(ref), 0.8)
		}
	}
	return nil
}

// senders is a side of n processes at a time, perRound of them a round.
func (b *bench) senders(n int, program string, args func(worker, nth int) []string) *side {
	each := perRound / n
	return &side{do: func(round int) (time.Duration, error) {
		return inParallel(n, func(w int) error {
			for i := range each {
				if _, err := b.timed(nil, program, args(w, round*each+i)...); err != nil {
					return err
				}
			}
			return nil
		})
	}}
}
