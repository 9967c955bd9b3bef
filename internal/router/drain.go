package router

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
)

// The waits between two tries for the lease.
const (
	firstWait = 500 * time.Microsecond
	lastWait  = 10 * time.Millisecond
	// lookEvery is how often a sender that waits for the lease looks for what is
	// in the inbox and not retired yet.
	lookEvery = 30 * time.Millisecond
	// elsewhere is how long who may not route looks whether somebody else does.
	elsewhere = 500 * time.Millisecond
)

// Drain routes until every one of the author's messages has reached a state
// that can be reported, or ctx ends: by passes of its own, or by watching what
// whoever holds the lease does. report gets each message once. The error says
// why messages are left; they are in the outbox and safe.
func (r *Router) Drain(ctx context.Context, author office.Author, msgs []*mail.Message, report func(Result)) (Report, error) {
	d := &drain{router: r, author: author, left: map[mail.ID]*mail.Message{}, boxes: map[string]spool.Box{}, report: report}
	for _, m := range msgs {
		d.left[m.ID] = m
	}
	return d.run(ctx)
}

type drain struct {
	router *Router
	author office.Author
	left   map[mail.ID]*mail.Message
	report func(Result)
	total  Report
	waited time.Duration
	looked time.Duration        // of the waiting, when look was called last
	boxes  map[string]spool.Box // of recipients, by aid; zero where there is none
}

func (d *drain) run(ctx context.Context) (Report, error) {
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		if d.waited > 0 && d.moved() {
			if err := d.look(false); err == nil && len(d.left) == 0 {
				return d.total, nil // somebody else's pass did it all
			}
		}
		rep, err := d.router.Pass(ctx, Options{Own: d.author.Tag(), Park: true, Delivered: d.take})
		d.total.Wake = append(d.total.Wake, rep.Wake...)
		d.total.Results = append(d.total.Results, rep.Results...)
		kind := mail.KindOf(err)
		if kind == mail.KindBusy && d.waited < d.looked+lookEvery && !d.moved() {
			// Many wait for one: what nobody has retired is looked for now and then.
		} else if ferr := d.look(false); ferr != nil && err == nil { // whatever stopped our pass, somebody else's may have done it
			err = ferr
		}
		if len(d.left) == 0 {
			return d.total, nil
		}
		if kind != mail.KindBusy && (kind != mail.KindReadOnly || d.waited >= elsewhere) {
			if err == nil {
				err = &mail.Error{Op: "deliver", Kind: mail.KindDelivery, Err: errors.New("it waits in the outbox"), Hint: `run "post doctor"`}
			}
			return d.total, errors.Join(err, d.look(true))
		}
		select {
		case <-ctx.Done():
			return d.total, errors.Join(err, d.look(true))
		case <-time.After(wait):
			d.waited += wait
		}
	}
}

// moved reports whether any of the messages has left the outbox, or is with the
// first of its recipients: whoever holds the lease may leave it in the outbox
// long after that.
func (d *drain) moved() bool {
	b := d.author.Box
	for id, m := range d.left {
		if _, err := b.FS.Lstat(b.Path(spool.Outbox, spool.FileName(id))); errors.Is(err, fs.ErrNotExist) {
			return true
		}
		if box, ok := d.recipient(m); ok {
			if _, err := box.FS.Lstat(box.Path(spool.Inbox, spool.FileName(id))); err == nil {
				return true
			}
		}
	}
	return false
}

// recipient is the mailbox of the first of a message's recipients.
func (d *drain) recipient(m *mail.Message) (spool.Box, bool) {
	if m.Envelope == nil || len(m.Envelope.Recipients) == 0 {
		return spool.Box{}, false
	}
	aid := m.Envelope.Recipients[0]
	if box, known := d.boxes[aid]; known {
		return box, box.FS != nil
	}
	var box spool.Box
	if reg, err := d.router.Office.Book(); err == nil {
		if e, ok := reg.EntryByAID(aid); ok {
			if found, err := d.router.Office.Box(e); err == nil {
				box = found
			}
		}
	}
	d.boxes[aid] = box
	return box, box.FS != nil
}

// take reports what a pass of our own did.
func (d *drain) take(res Result) {
	if _, ok := d.left[res.ID]; !ok || res.Author != d.author.Tag() {
		return
	}
	for _, f := range res.Fates {
		if f.State == Deferred {
			d.report(res)
			delete(d.left, res.ID)
			return
		}
	}
	delete(d.left, res.ID)
	d.report(res)
}

// look reads from the disk what somebody else's pass did. At the end it reports
// what reached some of its recipients, too: for the others it waits.
func (d *drain) look(end bool) error {
	if len(d.left) == 0 {
		return nil
	}
	d.looked = d.waited
	o := d.router.Office
	reg, err := o.Book()
	if err != nil {
		return err
	}
	for id, m := range d.left {
		f, err := o.Fate(reg, d.author, m, o.Sys.Batch())
		if err != nil {
			return err
		}
		res, known := fateResult(f, m, d.author, reg)
		if end && len(f.Reached) > 0 {
			known = true
			for _, a := range f.Missing {
				res.Fates = append(res.Fates, Fate{Agent: a, State: Deferred, Err: &mail.Error{Op: "deliver", Kind: mail.KindDelivery,
					ID: id, Addr: "inbox of " + a.Name, Err: errors.New("it waits in the outbox"), Hint: `run "post doctor"`}})
			}
		}
		if known {
			delete(d.left, id)
			d.report(res)
		}
	}
	return nil
}

// fateResult turns what the disk says into the result of a pass; known is false
// while the message is still on its way.
func fateResult(f office.Fate, m *mail.Message, author office.Author, reg *registry.Registry) (res Result, known bool) {
	res = Result{ID: m.ID, Author: author.Tag(), Mail: m}
	switch {
	case f.Failed:
		why := readWhy(author.Box, m.ID)
		res.Fates = []Fate{{State: Bounced, Err: &mail.Error{Op: "send", Kind: mail.KindRule, Addr: m.To, Err: errors.New(why.Reason), Hint: why.Hint}}}
		return res, true
	case !f.Delivered() && len(f.Reached) == 0:
		return res, false
	}
	for _, a := range f.Reached {
		res.Fates = append(res.Fates, Fate{Agent: a, State: Delivered})
	}
	if f.Approval != "" && len(f.Reached) == 0 {
		res.Fates = append(res.Fates, Fate{State: Asked, Approval: f.Approval})
	}
	return res, f.Delivered()
}

func readWhy(b spool.Box, id mail.ID) spool.Why {
	why, err := b.ReadWhy(spool.FileName(id))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		why.Reason = err.Error()
	}
	return why
}
