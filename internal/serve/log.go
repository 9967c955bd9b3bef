package serve

import (
	"errors"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/router"
)

// log writes one line for each thing that became of a message. Bodies, subjects
// and what an author typed stay out: names and ids are checked, errors are
// named by their kind.
func (r *run) log(opt router.Options, rep router.Report) {
	if rep.Repaired > 0 {
		r.Log.Warn("finished what a crash had left half-done", "count", rep.Repaired)
	}
	deferred := map[mail.ID]bool{}
	for _, res := range rep.Results {
		args := []any{"author", res.Author}
		if res.ID != "" {
			args = append(args, "id", string(res.ID))
		}
		if res.Mail != nil {
			args = append(args, "from", res.Mail.From, "act", string(res.Mail.Act))
		}
		for _, f := range res.Fates {
			r.logFate(res, f, args, deferred)
		}
	}
	if opt.All {
		r.told = deferred
	}
}

func (r *run) logFate(res router.Result, f router.Fate, args []any, deferred map[mail.ID]bool) {
	args = args[:len(args):len(args)]
	if f.Agent.Name != "" {
		args = append(args, "to", f.Agent.Name)
	}
	if f.Err != nil {
		args = append(args, "kind", string(mail.KindOf(f.Err)))
	}
	switch f.State {
	case router.Delivered:
		what := "delivered"
		if f.Agent.Far() {
			what = "waits for the link"
		}
		r.Log.Info(what, args...)
	case router.Asked:
		r.Log.Info("put before a person", append(args, "approval", f.Approval)...)
	case router.Bounced:
		r.Log.Warn("bounced", args...)
	case router.Deferred:
		deferred[res.ID] = true
		if !r.told[res.ID] {
			r.Log.Warn("not delivered yet", append(args, "cause", cause(f.Err))...)
		}
	}
}

// cause is the innermost error: what the system says of a mailbox.
func cause(err error) string {
	for err != nil {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
	return ""
}
