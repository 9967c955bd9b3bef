package cli

import (
	"context"
	"time"

	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
)

// patience is how this command waits for its turn to change the office.
func (e *Env) patience() dispatch.Patience {
	return dispatch.Patience{Op: e.name, For: e.Patience, Sleep: e.Sleep}
}

// WithLease runs fn while this process is the router. It waits e.Patience for
// the lease.
func (e *Env) WithLease(ctx context.Context, o *office.Office, fn func() error) error {
	return e.patience().WithLease(ctx, o, fn)
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
