package router_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/router"
)

// Wherever a crash comes while debts are chased or waived: nobody is told that a
// debt is waived that stands, and the same order given again ends as if there had
// been no crash, with one notice.
func TestCrashOrders(t *testing.T) {
	t.Parallel()
	for name, waive := range map[string]bool{"remind": false, "waive": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrash(t, "researcher", "coder")
			id := asked(c.Desk)
			o := router.Order{ID: id, By: "a-researcher", Waive: waive}
			c.after = func(t *testing.T, d *officetest.Desk, _ *officetest.Ledgers) error { return afterOrder(t, d, o) }
			c.watch(func() {
				if _, err := c.Router().Pass(context.Background(), router.Options{All: true, Orders: []router.Order{o}}); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

func afterOrder(t *testing.T, d *officetest.Desk, o router.Order) error {
	subject := "Reminder"
	if o.Waive {
		subject = "Waived"
	}
	told := fromOffice(t, d, "coder", subject)
	owed, err := d.Box("researcher").Owed("")
	if err != nil {
		return err
	}
	if told > 1 || o.Waive && told == 1 && len(owed) != 0 {
		return fmt.Errorf("told %d times of what is owed: %+v", told, owed)
	}
	rep, err := d.Router().Pass(context.Background(), router.Options{All: true, Orders: []router.Order{o}})
	if err != nil || len(rep.Ordered) != 1 {
		return fmt.Errorf("the order again: %+v, %w", rep.Ordered, err)
	}
	if err := rep.Ordered[0].Err; err != nil && (o.Waive || mail.KindOf(err) != mail.KindRule) {
		return err
	}
	if owed, err = d.Box("researcher").Owed(""); err != nil || (len(owed) == 0) != o.Waive {
		return fmt.Errorf("owed after it: %+v, %w", owed, err)
	}
	if n := fromOffice(t, d, "coder", subject); n != 1 {
		return fmt.Errorf("%d notices after the order was given again", n)
	}
	return nil
}
