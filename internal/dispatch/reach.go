package dispatch

import (
	"context"

	"github.com/postroom/postroom/internal/reach"
)

// Reacher is what tells the office's person that something waits for them, by
// what postroom.toml says.
func (d *Dispatcher) Reacher() *reach.Reacher {
	d.makeReady()
	o := d.Office
	return &reach.Reacher{FS: o.FS, Office: o.Dir, OfficeID: o.Config.ID, Person: o.Config.Person, Table: d.Table, Program: d.Program,
		Budget: Budget, Now: o.Sys.Now, Record: d.record}
}

// Reach tells the person what is due. Like a wake it may run a command that the
// office names, so from an office that may not be written nobody is reached.
func (d *Dispatcher) Reach(ctx context.Context) error {
	if len(d.Office.Config.Person.Notify) == 0 {
		return nil
	}
	if err := d.Office.CheckWritable(); err != nil {
		return err
	}
	return d.Reacher().Run(ctx)
}
