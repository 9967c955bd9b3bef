package cli

import (
	"context"
	"errors"
	"flag"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/spool"
)

func routeCommand() Command {
	return Command{
		Name: "route", Summary: "deliver what waits in all outboxes", Usage: "[--watch]",
		Long: `Every command that sends, waits or watches routes too; nobody has to run this.
With --watch it goes on until it is interrupted, and prints a line for each
delivery.`,
		Setup: func(fs *flag.FlagSet) Run {
			watch := fs.Bool("watch", false, "go on, and deliver what comes")
			return func(ctx context.Context, e *Env, args []string) error {
				if err := needArgs(e, args, 0, 0); err != nil {
					return err
				}
				o, err := e.Office()
				if err != nil {
					return err
				}
				r := &courier{e: e, office: o, disp: e.dispatcher(o)}
				if *watch {
					ctx, stop := interruptible(ctx)
					defer stop()
					return r.watch(ctx)
				}
				return r.once(ctx)
			}
		},
	}
}

// courier is a router at work.
type courier struct {
	e      *Env
	office *office.Office
	disp   *dispatch.Dispatcher
	moved  int
}

func (r *courier) once(ctx context.Context) error {
	stop := r.e.slowly(func() string { return routing(r.office) })
	defer stop()
	err := r.e.patience().UntilFree(ctx, func() error { return r.pass(ctx) })
	if mail.KindOf(err) == mail.KindBusy {
		return &mail.Error{Op: r.e.name, Kind: mail.KindBusy, Err: errors.New(routing(r.office)), Hint: "it delivers what waits"}
	}
	if err == nil && r.moved == 0 {
		r.e.Out.Say("nothing to deliver")
	}
	return err
}

// pass routes once and prints what became of each message.
func (r *courier) pass(ctx context.Context) error {
	rep, woken, err := r.disp.Pass(ctx, router.Options{All: true})
	for _, res := range rep.Results {
		for _, f := range res.Fates {
			r.moved++
			r.print(res, f, woken)
		}
	}
	if ferr := r.e.Out.Flush(); ferr != nil {
		return ferr
	}
	return err
}

// routedView is one line of `post route --json` (docs/json.md).
type routedView struct {
	outcome
	From string `json:"from,omitempty"`
	File string `json:"file,omitempty"` // a hand-written file that failed
}

func (r *courier) print(res router.Result, f router.Fate, woken []dispatch.Woken) {
	m := res.Mail
	if m == nil {
		o := failed("", f.Err)
		if r.e.JSON {
			r.e.Out.Object(routedView{o, "", res.Name})
			return
		}
		r.e.Out.Printf("%s (%s in an outbox)\n", o.text(), Line(res.Name))
		return
	}
	o := outcome{ID: res.ID, To: m.To, Conversation: m.Conversation}.of(f, m, woken)
	if r.e.JSON {
		r.e.Out.Object(routedView{o, m.From, ""})
		return
	}
	r.e.Out.Printf("%s (from %s)\n", strings.TrimSuffix(o.text(), " Do not resend."), Line(m.From))
}

const (
	// watchTick is how often the outboxes are looked at whatever the file
	// events say.
	watchTick = 500 * time.Millisecond
)

// watch routes until ctx ends: on file events in the outboxes and on a tick.
func (r *courier) watch(ctx context.Context) error {
	w := &outboxes{office: r.office, watched: map[string]bool{}}
	if fw, err := fsnotify.NewWatcher(); err == nil { // without events the tick serves
		defer fw.Close()
		w.watcher = fw
	}
	tick := time.NewTicker(watchTick)
	defer tick.Stop()
	r.e.Out.Say("routing %s; interrupt to end", Line(r.office.Dir))
	var last string
	for {
		w.refresh()
		// A pass is not cut short in its middle: ctx ends it between two rounds.
		err := r.pass(ctx)
		switch k := mail.KindOf(err); {
		case r.e.Out.err != nil:
			return r.e.Out.err
		case ctx.Err() != nil:
			return nil
		case k == mail.KindReadOnly, k == mail.KindForeign:
			return err
		case err == nil, k == mail.KindBusy:
			last = ""
		case err.Error() != last: // once, not twice a second
			last = err.Error()
			r.e.Warn("%v", err)
		}
		if !w.wait(ctx, tick.C) {
			return nil
		}
	}
}

// outboxes are the directories that --watch watches.
type outboxes struct {
	office  *office.Office
	watcher *fsnotify.Watcher
	watched map[string]bool
}

// refresh watches the outboxes of agents that joined meanwhile.
func (w *outboxes) refresh() {
	if w.watcher == nil {
		return
	}
	reg, err := w.office.Registry()
	if err != nil {
		return
	}
	defer reg.Close()
	boxes := []spool.Box{w.office.SystemBox(office.Human), w.office.SystemBox(office.Postroom)}
	for _, e := range reg.Ours() { // what comes from other stations, postd serve sees
		if box, err := w.office.Box(e); err == nil {
			boxes = append(boxes, box)
		}
	}
	for _, b := range boxes {
		dir := b.FS.Path(b.Path(spool.Outbox))
		if !w.watched[dir] && w.watcher.Add(dir) == nil {
			w.watched[dir] = true
		}
	}
}

// wait returns when something new stands in an outbox or it is time to look;
// false when ctx has ended.
func (w *outboxes) wait(ctx context.Context, tick <-chan time.Time) bool {
	var events chan fsnotify.Event
	var errs chan error
	if w.watcher != nil {
		events, errs = w.watcher.Events, w.watcher.Errors
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick:
			return true
		case <-errs: // an overflow, say: look
			return true
		case ev := <-events:
			name := ev.Name[strings.LastIndexAny(ev.Name, `/\`)+1:]
			if ev.Op&(fsnotify.Create|fsnotify.Write|fsnotify.Rename) != 0 && !spool.Hidden(name) {
				return true
			}
		}
	}
}
