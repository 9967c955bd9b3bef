package dispatch

import (
	"context"
	"errors"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/router"
)

// Order has debts reminded or waived in a pass, and wakes whoever is told. The
// caller has made sure who asks: for a person Order.By is "", else the agent's
// own aid.
//
// Each order is answered on its own, in Ordered.Err; one message may be owed for
// by several, and then there are several answers. The error says why nothing was
// done at all: KindBusy, KindReadOnly, KindForeign, KindStore.
func (d *Dispatcher) Order(ctx context.Context, p Patience, orders ...router.Order) ([]router.Ordered, []Woken, error) {
	own := office.Human
	for _, o := range orders {
		if o.By != "" {
			own = o.By
		}
	}
	var rep router.Report
	var woken []Woken
	err := p.UntilFree(ctx, func() (err error) {
		rep, woken, err = d.Pass(ctx, router.Options{Own: own, All: true, Orders: orders})
		return err
	})
	if len(rep.Ordered) > 0 {
		return rep.Ordered, woken, nil // what else is wrong in the pass is doctor's to say
	}
	if mail.KindOf(err) == mail.KindBusy {
		err = &mail.Error{Op: p.Op, Kind: mail.KindBusy, Addr: d.Office.Dir,
			Err: errors.New("another process has been routing for " + p.For.String()), Hint: "run the command again; nothing was changed"}
	}
	return nil, woken, err
}
