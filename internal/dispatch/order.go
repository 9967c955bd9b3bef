package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/router"
)

// orderPoll is how long Order sleeps between two tries for the lease.
const orderPoll = 5 * time.Millisecond

// Order has debts reminded or waived in a pass, and wakes whoever is told. It
// waits up to patience for the lease. The caller has made sure who asks: for a
// person Order.By is "", else the agent's own aid.
//
// Each order is answered on its own, in Ordered.Err; one message may be owed for
// by several, and then there are several answers. The error says why nothing was
// done at all: KindBusy, KindReadOnly, KindForeign, KindStore.
func (d *Dispatcher) Order(ctx context.Context, patience time.Duration, orders ...router.Order) ([]router.Ordered, []Woken, error) {
	own := office.Human
	for _, o := range orders {
		if o.By != "" {
			own = o.By
		}
	}
	for waited := time.Duration(0); ; waited += orderPoll {
		rep, woken, err := d.Pass(ctx, router.Options{Own: own, All: true, Orders: orders})
		switch {
		case len(rep.Ordered) > 0:
			return rep.Ordered, woken, nil // what else is wrong in the pass is doctor's to say
		case err == nil && len(orders) > 0:
			err = ctx.Err()
		}
		if mail.KindOf(err) != mail.KindBusy {
			return nil, woken, err
		}
		if waited >= patience {
			return nil, woken, &mail.Error{Op: "change debts", Kind: mail.KindBusy, Addr: d.Office.Dir,
				Err: errors.New("another process has been routing for " + patience.String()), Hint: "do it again; nothing was changed"}
		}
		select {
		case <-ctx.Done():
			return nil, woken, ctx.Err()
		case <-time.After(orderPoll):
		}
	}
}
