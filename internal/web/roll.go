package web

import (
	"context"
	"sync"
	"time"

	"github.com/postroom/postroom/internal/standing"
)

// roll is all agents as they stand, looked at for every browser together. What
// it gives is never older than the question; under a storm of questions a look
// begins only when as much time has passed as spare looks took.
type roll struct {
	mu    sync.Mutex
	began time.Time // of the last look
	took  time.Duration
	list  []standing.Agent
}

const (
	spare = 3 // a quarter of the time, at most, goes into looking
	// patient is how long a question waits for that.
	patient = 500 * time.Millisecond
)

func (c *roll) call(ctx context.Context, look func() ([]standing.Agent, error)) ([]standing.Agent, error) {
	asked := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.began.After(asked) {
		return c.list, nil
	}
	if wait := min(spare*c.took-time.Since(c.began), patient); wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	began := time.Now()
	list, err := look()
	if err != nil {
		return nil, err
	}
	c.began, c.took, c.list = began, time.Since(began), list
	return list, nil
}

// presenceView is how an agent's presence is shown.
type presenceView struct {
	Word string
	Tone string // class: "good", "accent", "warn", "bad" or "dim"
	Seen time.Time
}

func presenceOf(a standing.Agent) presenceView {
	v := presenceView{Word: a.Presence, Tone: "dim"}
	if a.LastSeen != nil {
		v.Seen = *a.LastSeen
	}
	switch a.Presence {
	case standing.Elsewhere:
		v.Word = "at " + a.Station
	case standing.AtDialog:
		v.Word, v.Tone = "at a dialog", "warn"
	case standing.Busy:
		v.Tone = "accent"
	case standing.Active, standing.Idle:
		v.Tone = "good"
	case standing.Down:
		if a.Unread > 0 || a.Owes > 0 {
			v.Tone = "bad"
		}
	}
	if a.Problem != "" {
		v.Tone = "bad"
	}
	return v
}
