package serve

import (
	"context"
	"errors"
	"time"

	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/spool"
)

// run is a Server at work. It belongs to the goroutine of loop, but for pulse
// and wakes.
type run struct {
	*Server
	office   *office.Office
	dispatch *dispatch.Dispatcher
	watch    *watch
	wakes    *wakes
	pulse    *pulse

	settings settings
	todo     todo
	pace     pace
	waiting  int       // hand-written files that do not parse yet
	lastFull time.Time // when the last pass over all began
	fullTook time.Duration
	said     string // the error that was logged last
	saidAt   time.Time
	told     map[mail.ID]bool // deferrals that were logged
	worked   bool             // since the heap was last given back
	calm     int              // how many looks go on with giving memory back
}

// loop routes until ctx ends. ready is called after the first pass.
func (r *run) loop(ctx context.Context, ready func()) error {
	every := r.Rescan
	if every <= 0 {
		every = rescan
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	r.todo.all, r.worked = true, true // what the start needed is given back, too
	for ctx.Err() == nil {
		if !r.todo.empty() {
			if pause := time.Until(r.pace.from); pause <= 0 {
				if err := r.pass(ctx); err != nil {
					return err
				}
				if ready != nil && r.pulse.passed() {
					ready()
					ready = nil
				}
				continue
			} else {
				timer.Reset(pause)
			}
		}
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-tick.C:
			r.look()
		case ev := <-r.watch.events():
			r.watch.note(ev, &r.todo)
		case err := <-r.watch.errors():
			r.Log.Debug("file events were lost", "error", err.Error())
			r.todo.all = true
		case <-r.wakes.evidence:
			r.flush()
		case n := <-r.Nudges:
			r.nudged(ctx, n)
		}
	}
	return nil
}

// nudged has an agent woken if mail waits for it.
func (r *run) nudged(ctx context.Context, n Nudge) {
	reg, err := r.office.Book()
	if err != nil {
		return // the pass says what is wrong, and retries see to the mail
	}
	if e, ok := reg.EntryByAID(n.AID); ok && dispatch.NeedsWaking(e) {
		r.wakes.wake(ctx, r.dispatch, e, n.Again)
	}
}

// fullShare bounds the passes over all to a part of one processor, and of the
// time that senders wait for the lease, in an office of thousands.
const fullShare = 50

// look is the scan: what changed, whatever the events said.
func (r *run) look() {
	if r.reload() != nil {
		r.todo.all = true // the pass says what is wrong
	}
	r.watch.look(&r.todo)
	every := r.Full
	if every <= 0 {
		every = max(full, fullShare*r.fullTook)
	}
	if r.waiting > 0 || time.Since(r.lastFull) >= every {
		r.todo.all = true
	}
	if r.todo.empty() {
		r.restOn()
	}
}

// reload opens the office again when its settings were edited, and reads the
// address book again when it changed.
func (r *run) reload() error {
	now := settingsOf(r.office)
	if now == r.settings {
		return nil
	}
	if r.settings != (settings{}) && now.office != r.settings.office {
		o, err := office.Open(r.Dir, r.Sys)
		if err != nil {
			return err
		}
		if c, ok := o.FS.(interface{ Close() error }); ok {
			c.Close() // the directory is open already
		}
		o.FS = r.office.FS
		r.office = o
		r.dispatch.Flush()
		r.dispatch = r.dispatcher(o)
		r.Log.Info("the office's settings were read again", "office", o.Config.ID)
	}
	reg, err := r.office.Book()
	if err != nil {
		return err
	}
	r.watch.set(placesOf(r.office, reg))
	r.settings = now
	r.pulse.serves(r.office, reg)
	return nil
}

// pass makes one pass. The error ends serving.
func (r *run) pass(ctx context.Context) error {
	opt := r.todo.next()
	began := time.Now()
	opt.Linger = r.pace.linger(began)
	rep, err := r.dispatch.Router.Pass(ctx, opt)
	now := time.Now()
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil
	}
	switch kind := mail.KindOf(err); {
	case err == nil || rep.Complete: // what is wrong with one mailbox slows nobody down
		r.went(opt, err, now)
		r.pace.done(now, len(rep.Results)+rep.Repaired)
	case kind == mail.KindBusy:
		r.todo.back(opt)
		r.pace.taken(now)
		r.pulse.busy(now)
		r.stuck(now)
		return nil
	case kind == mail.KindForeign || kind == mail.KindReadOnly:
		r.Log.Error("cannot serve this office", "error", err.Error())
		return err
	default:
		r.todo.back(opt)
		r.pace.failed(now)
		r.complain("a pass failed", err, now)
	}
	r.pulse.pass(began, now, rep, err)
	r.after(ctx, opt, rep, began)
	return nil
}

// went says what is wrong with single mailboxes, and when nothing is any more;
// only a pass over all, or the one that had failed, can tell.
func (r *run) went(opt router.Options, err error, now time.Time) {
	switch {
	case err != nil:
		r.complain("mailboxes need attention", err, now)
	case r.said != "" && (opt.All || r.pace.failures > 0):
		r.said = ""
		r.Log.Info("passes work again")
	}
}

// after does what a pass leaves to be done beside the next ones.
func (r *run) after(ctx context.Context, opt router.Options, rep router.Report, began time.Time) {
	r.log(opt, rep)
	d := r.dispatch
	for _, e := range rep.Wake {
		if dispatch.NeedsWaking(e) {
			r.wakes.wake(ctx, d, e, false)
		}
	}
	if opt.All {
		r.lastFull, r.waiting = began, rep.Waiting
		if len(rep.Results) == 0 {
			r.fullTook = time.Since(began)
		}
	} else {
		r.waiting += rep.Waiting
	}
	if opt.All || rep.Repaired > 0 {
		r.wakes.retry(ctx, d, rep.Repaired > 0)
	}
	if len(d.Office.Config.Person.Notify) > 0 {
		r.wakes.reach(ctx, d)
	}
	switch {
	case len(rep.Results) > 0:
		r.worked = true
	case opt.All:
		r.rest()
	}
}

func (r *run) flush() {
	if err := r.dispatch.Flush(); err != nil && mail.KindOf(err) != mail.KindBusy {
		r.complain("the journal cannot be written", err, time.Now())
	} else if err != nil {
		r.wakes.again() // somebody else routes; the evidence is kept
	}
}

const (
	// stuckAfter is how long somebody else may route before that is worth a line.
	stuckAfter = 5 * time.Second
	// sayAgain is how often the same trouble is logged.
	sayAgain = time.Minute
)

func (r *run) stuck(now time.Time) {
	if now.Sub(r.pace.busy) < stuckAfter {
		return
	}
	holder, _ := spool.ReadHolder(r.office.FS)
	r.complain("somebody else routes", &mail.Error{Op: "take the lease", Kind: mail.KindBusy, Addr: r.office.Dir,
		Err: errors.New("somebody else has held it for long"), Hint: "see whether it hangs"}, now,
		"holder_pid", holder.PID, "holder_host", holder.Host)
}

// complain logs trouble once, and again now and then while it lasts.
func (r *run) complain(what string, err error, now time.Time, more ...any) {
	text := err.Error()
	if text == r.said && now.Sub(r.saidAt) < sayAgain {
		return
	}
	r.said, r.saidAt = text, now
	r.Log.Error(what, append([]any{"kind", string(mail.KindOf(err)), "error", text, "failures", r.pace.failures}, more...)...)
}
