package cli

import (
	"context"
	"errors"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
)

// leasePoll is how long a command sleeps between tries for the lease.
const leasePoll = 5 * time.Millisecond

// WithLease runs fn while this process is the router: nobody else changes
// registry, channels or approvals meanwhile (design §3). It waits e.Patience
// for the lease.
func (e *Env) WithLease(ctx context.Context, o *office.Office, fn func() error) error {
	holder := spool.Holder{PID: e.System.PID, Host: e.System.Host, Since: e.Now().UTC(), Version: e.System.Version}
	for waited := time.Duration(0); ; waited += leasePoll {
		lease, err := spool.AcquireLease(o.FS, holder)
		switch {
		case err == nil:
			defer lease.Release()
			return fn()
		case mail.KindOf(err) == mail.KindReadOnly:
			return &mail.Error{Op: e.name, Kind: mail.KindReadOnly, Addr: o.Dir,
				Err:  errors.New("this process may not write the office (a sandbox?)"),
				Hint: "run it in a terminal outside"}
		case mail.KindOf(err) != mail.KindBusy:
			return err
		case waited >= e.Patience:
			return &mail.Error{Op: e.name, Kind: mail.KindBusy, Addr: o.Dir,
				Err: errors.New("another process has been routing for " + e.Patience.String()), Hint: "run the command again; nothing was changed"}
		}
		if err := e.Sleep(ctx, leasePoll); err != nil {
			return err
		}
	}
}

// Change is a change of the office's address book under way. The lease is held.
type Change struct {
	Office *office.Office
	Reg    *registry.Registry
	now    time.Time
	events []journal.Record
}

// Record adds an event to the journal, once the registry is durable.
func (c *Change) Record(r journal.Record) {
	r.At = c.now
	c.events = append(c.events, r)
}

// Change runs fn under the lease and then makes what it did durable: the
// registry first, then the journal.
func (e *Env) Change(ctx context.Context, o *office.Office, fn func(*Change) error) error {
	return e.WithLease(ctx, o, func() error {
		if err := o.CheckWritable(); err != nil {
			return err
		}
		reg, err := o.Registry()
		if err != nil {
			return err
		}
		c := &Change{Office: o, Reg: reg, now: e.Now().UTC()}
		j, err := journal.Open(o.FS, c.now) // a journal that cannot be written stops the change
		if err != nil {
			return err
		}
		defer j.Close()
		if err := fn(c); err != nil {
			return err
		}
		if err := reg.Save(o.FS); err != nil {
			return err
		}
		if len(c.events) == 0 {
			return nil
		}
		if err := j.Append(c.events...); err != nil {
			return err
		}
		return j.Sync()
	})
}
