package acp

import (
	"context"
	"fmt"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/presence"
)

// turn is one prompt and what came of it. Its fields belong to the worker's mu.
type turn struct {
	ids      map[mail.ID]bool // what it was told of
	count    int
	began    time.Time // the prompt was written
	signs    int64     // of the talk, before it
	seen     time.Time // something showed that it runs
	lively   time.Time // the last sign
	told     bool      // somebody was told that it began
	evidence string    // of the session
	ended    time.Time
	err      string // it ended badly
}

// covers reports whether the turn was told of all of these.
func (t *turn) covers(ids []mail.ID) bool {
	for _, id := range ids {
		if t == nil || !t.ids[id] {
			return false
		}
	}
	return t != nil
}

// sign is called when the child showed that it does something.
func (w *worker) sign() {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.turn
	if t == nil || w.talk == nil || w.talk.signs.Load() <= t.signs {
		return
	}
	if t.lively = w.Now(); t.seen.IsZero() {
		t.seen = t.lively
		w.news()
	}
}

// begin makes a turn of a pointer; the caller holds mu, and the worker is idle.
func (w *worker) begin(p notify.Pointer) *turn {
	t := &turn{ids: map[mail.ID]bool{}, count: p.Count, began: w.Now(), lively: w.Now(), signs: w.talk.signs.Load(), evidence: w.note}
	for _, id := range p.IDs {
		t.ids[id] = true
	}
	w.turn, w.note = t, ""
	w.set(busy, "", "")
	talk, text := w.talk, notify.Announcement(p)
	talk.log("prompt: it is told of %s", messages(p.Count))
	go func() {
		reason, err := talk.prompt(context.Background(), text)
		w.mu.Lock()
		defer w.mu.Unlock()
		t.ended = w.Now()
		switch {
		case err != nil:
			t.err = err.Error()
		case reason == sdk.StopReasonRefusal:
			t.err = "the model refused to go on"
		case t.seen.IsZero():
			t.seen = t.ended // it ended well, so it began
		}
		talk.log("turn ended after %s: %s", t.ended.Sub(t.began).Round(time.Millisecond), orElse(t.err, string(reason)))
		w.news()
	}()
	return t
}

// through waits until a turn has ended. over says that the child has, too, or is
// to end, and why.
func (w *worker) through(ctx context.Context, a Agent, t *talk, turn *turn) (why string, over bool) {
	w.show(a, t, presence.Busy, "acp: prompt")
	asked := time.Time{} // it was asked to end the turn
	for {
		w.mu.Lock()
		ended, lively, changed := turn.ended, turn.lively, w.changed
		w.mu.Unlock()
		select {
		case <-t.child.Ended():
			return "in the middle of a turn it ended: " + t.child.How(), true
		case err := <-t.broken:
			return "in the middle of a turn its output ended: " + w.ending(t, err), true
		default:
		}
		switch now := w.Now(); {
		case !ended.IsZero():
			w.after(a, t, turn)
			return "", false
		case asked.IsZero() && now.Sub(lively) > w.stall():
			t.log("no sign of life for %s: it is asked to end the turn", w.stall())
			t.cancel()
			asked = now
		case !asked.IsZero() && now.Sub(asked) > w.patience():
			return "a turn did not end when it was asked to", true
		}
		timer := time.NewTimer(w.tick())
		select {
		case <-changed:
		case <-timer.C:
		case <-t.child.Ended():
		case <-ctx.Done():
			timer.Stop()
			t.cancel()
			return "", true
		}
		timer.Stop()
	}
}

// after makes the worker idle again, and has the arbiter look at what is unread
// now.
func (w *worker) after(a Agent, t *talk, turn *turn) {
	w.mu.Lock()
	w.turn, w.last = nil, turn
	w.set(idle, "", "")
	w.mu.Unlock()
	event := "acp: turn ended"
	if turn.err == "" {
		w.well()
	} else {
		event = "acp: turn failed"
		w.Log.Warn("a worker's turn failed", "agent", a.Name, "cause", turn.err)
	}
	w.show(a, t, presence.Idle, event)
	w.Nudge(w.aid, false)
}

// margin is left for the answer to come back before the caller's time is up.
const margin = 100 * time.Millisecond

// notify tells the agent of its mail if it can be told now (Keeper.Notify).
func (w *worker) notify(ctx context.Context, p notify.Pointer) (notify.Outcome, error) {
	start := time.Now()
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-min(margin, time.Until(end)/4)))
		defer cancel()
	}
	if ctx.Err() != nil {
		return notify.Outcome{State: notify.Pending, Evidence: "acp: cancelled before it was tried"}, nil
	}
	var own *turn
	for {
		w.mu.Lock()
		out, final := w.answer(p, &own)
		changed := w.changed
		w.mu.Unlock()
		if final {
			if out.State == notify.Failed {
				return notify.Fail(notify.KindACP, notify.Agent{Name: p.Agent}, out.Evidence, "")
			}
			return out, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			out.State = notify.Pending
			if ctx.Err() == context.DeadlineExceeded {
				out.Evidence += fmt.Sprintf(" (took longer than %s)", time.Since(start).Round(100*time.Millisecond))
			}
			return out, nil
		}
	}
}

// answer is what can be said now; final is false if a moment later may know
// more. The caller holds mu. own is the turn that this call began.
func (w *worker) answer(p notify.Pointer, own **turn) (out notify.Outcome, final bool) {
	say := func(s notify.State, format string, args ...any) notify.Outcome {
		return notify.Outcome{State: s, Evidence: "acp: " + fmt.Sprintf(format, args...)}
	}
	if t := *own; t != nil {
		switch {
		case !t.seen.IsZero() && t.err == "" && !t.told:
			t.told = true
			return say(notify.Notified, "prompt accepted, turn began after %s%s", t.seen.Sub(t.began).Round(10*time.Millisecond), bracket(t.evidence)), true
		case t.err != "":
			return say(notify.Failed, "the turn failed: %s", t.err), true
		case w.turn != t && w.last != t:
			return say(notify.Failed, "its worker ended before a turn began; %s", orElse(w.why, "it is started again")), true
		}
		return say(notify.Pending, "the prompt was written, and no turn has begun yet"), false
	}
	switch w.state {
	case off:
		return say(notify.Pending, "%s; %s", w.why, w.hint), true
	case crashed:
		return say(notify.Failed, "its worker ended (%s), %s in a row; %s", w.why, times(w.crashes), w.hint), true
	case starting:
		return say(notify.Pending, "its worker is starting, since %s", clock(w.since)), false
	}
	for _, t := range []*turn{w.turn, w.last} { // somebody was told before that it had not begun yet
		if t.covers(p.IDs) && !t.told && t.err == "" && !t.seen.IsZero() {
			t.told = true
			return say(notify.Notified, "prompt accepted at %s, turn began after %s%s", clock(t.began), t.seen.Sub(t.began).Round(10*time.Millisecond), bracket(t.evidence)), true
		}
	}
	if w.turn != nil || w.state == busy {
		return say(notify.Held, "a turn runs since %s; when it ends the next one begins", clock(w.since)), true
	}
	*own = w.begin(p)
	return say(notify.Pending, "the prompt was written, and no turn has begun yet"), false
}

func messages(n int) string {
	if n == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", n)
}

func bracket(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }
