package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/spool"
)

// leasePoll is how long a change sleeps between tries for the lease.
const leasePoll = 5 * time.Millisecond

// Patience is how a change of an office waits for its turn.
type Patience struct {
	Op  string // names the change in errors
	For time.Duration
	// Sleep waits, or returns ctx's error; nil sleeps as the system does.
	Sleep func(ctx context.Context, d time.Duration) error
}

// WithLease runs fn while this process is the router: nobody else changes
// registry, channels or approvals meanwhile (design §3). Errors beside fn's own:
// KindReadOnly (a sandbox), KindBusy (nothing was changed).
func (p Patience) WithLease(ctx context.Context, o *office.Office, fn func() error) error {
	holder := spool.Holder{PID: o.Sys.PID, Host: o.Sys.Host, Since: o.Sys.Now().UTC(), Version: o.Sys.Version}
	var lease *spool.Lease
	err := p.UntilFree(ctx, func() (err error) {
		lease, err = spool.AcquireLease(o.FS, holder)
		return err
	})
	switch {
	case err == nil:
		defer lease.Release()
		return fn()
	case mail.KindOf(err) == mail.KindReadOnly:
		return &mail.Error{Op: p.Op, Kind: mail.KindReadOnly, Addr: o.Dir,
			Err:  errors.New("this process may not write the office (a sandbox?)"),
			Hint: "run it in a terminal outside"}
	case mail.KindOf(err) == mail.KindBusy:
		return &mail.Error{Op: p.Op, Kind: mail.KindBusy, Addr: o.Dir,
			Err: errors.New("another process has been routing for " + p.For.String()), Hint: "run the command again; nothing was changed"}
	}
	return err
}

// UntilFree tries something that needs the lease until it gets it, or its time is
// over: then the error is try's last one, KindBusy.
func (p Patience) UntilFree(ctx context.Context, try func() error) error {
	for waited := time.Duration(0); ; waited += leasePoll {
		err := try()
		if mail.KindOf(err) != mail.KindBusy || waited >= p.For {
			return err
		}
		if err := p.sleep(ctx, leasePoll); err != nil {
			return err
		}
	}
}

func (p Patience) sleep(ctx context.Context, d time.Duration) error {
	if p.Sleep != nil {
		return p.Sleep(ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
