package postd

import (
	"errors"
	"log/slog"
	"time"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/notify/acp"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/roster"
	"github.com/postroom/postroom/internal/serve"
)

// visitor is how this program asks a serve to wake a worker.
func visitor(e *cli.Env) acp.Visitor {
	return acp.Visitor{Look: func(officeID string) (*roster.Store, error) {
		return roster.Look(e.RosterDir(officeID), e.Live, e.System.Now)
	}}
}

// workerGrace is how long a worker may take to end after each word.
const workerGrace = 5 * time.Second

// newKeeper is what keeps the workers of an office, and what it says of them to
// the router.
func newKeeper(e *cli.Env, o *office.Office, log *slog.Logger) (*acp.Keeper, <-chan serve.Nudge, error) {
	store, err := roster.Open(e.RosterDir(o.Config.ID), e.Live, e.System.Now)
	if err != nil {
		return nil, nil, err
	}
	nudges := make(chan serve.Nudge, 256)
	k := &acp.Keeper{
		Office: o.Dir, OfficeID: o.Config.ID, Version: o.Sys.Version, Program: e.FindPost(),
		Roster: &roster.Keeper{Store: store, Environ: e.Environ, Grace: workerGrace,
			Extra: []string{"AI_AGENT=postroom", identity.WorkerEnv + "=" + notify.KindACP}},
		Desk: &workDesk{e: e, o: o, roll: e.Roll(o)}, Log: log, Now: e.System.Now,
		Nudge: func(aid string, again bool) {
			select {
			case nudges <- serve.Nudge{AID: aid, Again: again}:
			default: // the ladder of the arbiter comes to it
			}
		},
	}
	return k, nudges, nil
}

// workDesk is an office as its keeper needs it (acp.Desk).
type workDesk struct {
	e    *cli.Env
	o    *office.Office
	roll identity.Roll

	// Of the last look; the keeper looks from one goroutine.
	book *registry.Registry
	list []acp.Agent
}

// Workers implements acp.Desk.
func (d *workDesk) Workers() ([]acp.Agent, error) {
	if err := d.o.CheckWritable(); err != nil {
		return nil, err // what a copy names is run by the original, or by nobody
	}
	reg, err := d.o.Book()
	if err != nil || reg == d.book {
		return d.list, err
	}
	var list []acp.Agent
	read := 0
	for r := range reg.All() {
		read++
		if !r.Archived && len(r.Notify) > 0 && r.Notify[0] == notify.KindACP {
			list = append(list, acp.Agent{Name: r.Name, AID: r.AID, Runtime: r.Runtime, Workspace: r.Workspace,
				Launch: r.Launch, Allow: notify.Allowed(r.Notify[1:])})
		}
	}
	if read < reg.Len() {
		return nil, errors.New("some agents cannot be read now")
	}
	d.book, d.list = reg, list
	return list, nil
}

// Present implements acp.Desk.
func (d *workDesk) Present(a acp.Agent, s presence.Session) error {
	reg, err := d.o.Book()
	if err != nil {
		return err
	}
	r, ok := reg.EntryByAID(a.AID)
	if !ok {
		return nil // nobody asks for it any more
	}
	box, err := d.o.Box(r)
	if err != nil {
		return err
	}
	return presence.WriteIn(box.FS, box.Dir, s)
}

// Hold implements acp.Desk.
func (d *workDesk) Hold(a acp.Agent, session string, pid int, start string) error {
	runtime := a.Runtime
	if runtime == "" {
		runtime = notify.KindACP
	}
	return d.roll.Hold(identity.Holder{Key: identity.SessionKeyOf(runtime, session), PID: pid, Start: start}, a.AID, a.Name)
}

// Taken implements acp.Desk.
func (d *workDesk) Taken(a acp.Agent, pid int) string {
	h, ok := d.roll.Holder(a.AID)
	if !ok || h.PID == 0 || h.PID == pid || !h.Blocks(identity.Holder{}, d.e.Live) {
		return ""
	}
	return "a live session speaks as " + a.Name + ", which post did not start"
}
