package dispatch

import (
	"context"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/router"
)

// Decided is an approval with the decision that stands, whoever made it.
type Decided struct {
	Approval *approval.Approval
	Decision *approval.Decision
	// Told: the asker has the answer in its inbox. Else the next pass tells it; one
	// of another station, the link.
	Told bool
	// Pass is why the pass could not be made, nil if it was.
	Pass error
}

// Owing reports whether an asker is still to be told.
func (d Decided) Owing() bool {
	return !d.Told && d.Approval.Kind != policy.Notice && d.Approval.AskerAID != ""
}

// Tells is who tells the asker, if it is not told yet.
func (d Decided) Tells() string {
	if _, station := mail.SplitStation(d.Approval.Asker); station != "" {
		return "over the link"
	}
	return "by the next pass"
}

// Decide records what a person decided on an open approval, whose id may be
// shortened, and makes a pass, so that the answer reaches who asked. Whether it
// is a person who decides is the caller's to find out (design §11). dec.Choice
// may be shortened; dec.At is now.
//
// If it was decided before, or its time is over, the error is KindConflict and
// says who decided what and when; Decided holds that decision then. Other errors
// are approval.Decide's, and KindReadOnly, KindBusy: nothing was decided.
func (d *Dispatcher) Decide(ctx context.Context, id string, dec approval.Decision, p Patience) (Decided, error) {
	a, _, err := approval.Get(d.Office.FS, id)
	if err != nil {
		return Decided{}, err
	}
	dec.By, dec.At = mail.NameHuman, d.Office.Sys.Now().UTC()
	err = p.WithLease(ctx, d.Office, func() error {
		if err := d.Office.CheckWritable(); err != nil {
			return err
		}
		return approval.Decide(d.Office.FS, a.ID, dec)
	})
	if err != nil && mail.KindOf(err) != mail.KindConflict {
		return Decided{Approval: a}, err
	}
	out := Decided{Approval: a}
	out.Told, out.Pass = d.carryOut(ctx, a, p)
	now, stands, gerr := approval.Get(d.Office.FS, a.ID)
	if gerr != nil {
		if err == nil {
			err = gerr
		}
		return out, err
	}
	out.Approval, out.Decision = now, stands
	return out, err
}

// carryOut runs a pass, so that the answer reaches who asked. told reports
// whether the answer is in the asker's inbox.
func (d *Dispatcher) carryOut(ctx context.Context, a *approval.Approval, p Patience) (told bool, err error) {
	var rep router.Report
	err = p.UntilFree(ctx, func() (err error) {
		rep, _, err = d.Pass(ctx, router.Options{Own: office.Human, All: true})
		return err
	})
	for _, res := range rep.Results {
		for _, f := range res.Fates {
			told = told || res.ID == a.AnswerID() && f.State == router.Delivered && !f.Agent.Far()
		}
	}
	return told, err
}
