package doctor

import (
	"strings"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/debt"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/reach"
)

const (
	// routing is how fresh the last pass is while something routes always.
	routing = time.Minute
	// shown bounds how many findings of one sort are told one by one.
	shown = 10
	// wakeTries is how many tries in a row may fail before that is told.
	wakeTries = 3
)

// nothingRuns says in words that nothing routes by itself, or "".
func (x *exam) nothingRuns() string {
	if _, runs := x.served(); runs {
		return ""
	}
	at, known := x.lastPass()
	if known && x.Sys.Now().Sub(at) < routing {
		return ""
	}
	if x.Host.Routers != nil {
		if list, ok := x.Host.Routers(); ok && len(list) > 0 {
			return ""
		}
	}
	text := "neither post serve nor post route --watch seems to run"
	if known {
		text += " (last pass " + ago(x.Sys.Now().Sub(at)) + " ago)"
	}
	return text
}

// checkDebts tells of answers that are overdue, and of due times that nothing
// will look at.
func (x *exam) checkDebts() {
	book, err := debt.Load(x.o.FS)
	if err != nil {
		x.trouble("debts", x.o.FS.Path("debts.jsonl"), err)
		return
	}
	idle := x.nothingRuns()
	open, late := book.Open(x.o.Settings()), 0
	for _, d := range open {
		if x.Sys.Now().Before(d.Due) {
			continue
		}
		if late++; late > shown {
			continue
		}
		debtor, creditor := x.nameOf(d.Debtor), x.nameOf(d.Creditor)
		fix := "post renotify " + string(d.ID) + ", or in the session of " + debtor + ": post reply " + string(d.ID)
		if _, elsewhere := mail.SplitStation(debtor); elsewhere != "" {
			fix = "post trace " + string(d.ID) + " tells whether it arrived; post remind " + string(d.ID)
		}
		x.add(Finding{Check: "overdue", Severity: Warning, Where: debtor, ID: d.ID, What: debtor + " owes " + creditor + " an answer to " + string(d.ID) + ", due " + ago(x.Sys.Now().Sub(d.Due)) + " ago",
			Why: creditor + " waits for it", Fix: fix})
	}
	if late > shown {
		x.add(Finding{Check: "overdue", Severity: Warning, What: count(late-shown, "more answer is", "more answers are") + " overdue", Why: "somebody waits for each", Fix: "post owed"})
	}
	if len(open) == 0 || idle == "" {
		return
	}
	f := Finding{Check: "routing", Severity: Note, What: idle, Why: "with nothing running nothing fires: " + count(len(open), "open debt is", "open debts are") +
		" looked at only when somebody sends, waits or runs a hook", Fix: "post serve, or post route --watch"}
	if late > 0 {
		f.Severity = Warning
	}
	x.add(f)
}

func (x *exam) nameOf(aid string) string {
	if aid == "" {
		return "a person"
	}
	if a, ok := x.reg.ByAID(aid); ok {
		return a.Name
	}
	return mail.Neutralise(aid, false)
}

// checkUnread tells of mail that obliges and that nobody has read for as long
// as an answer may take.
func (x *exam) checkUnread() {
	limit := x.o.Settings().Due
	for _, b := range x.boxes {
		if !b.ok || b.entry.Station != "" { // whom the link carries mail to, at its own office
			continue
		}
		m, err := mailbox.Open(x.o, b.entry.Name)
		var items []mailbox.Item
		if err == nil {
			items, err = m.List(true)
		}
		if err != nil {
			x.trouble("unread", b.dir, err)
			continue
		}
		var old []mailbox.Item
		for _, it := range items {
			if it.Obliges && x.Sys.Now().Sub(it.ID.Time()) > limit {
				old = append(old, it)
			}
		}
		if len(old) > 0 {
			x.unread(b, old)
		}
	}
}

func (x *exam) unread(b *box, old []mailbox.Item) {
	name := b.entry.Name
	f := Finding{Check: "unread", Severity: Warning, Where: name, ID: old[0].ID,
		What: name + " has not read " + count(len(old), "message that wants an answer", "messages that want an answer") + ", the first since " + ago(x.Sys.Now().Sub(old[0].ID.Time())) + " ago",
		Why:  "its sender waits for an answer", Fix: "post renotify " + string(old[0].ID)}
	switch {
	case b.entry.Archived:
		f.Why, f.Fix = name+" is archived: nobody is there to answer", "post agent unarchive "+name+", or tell the sender"
	case len(b.entry.Notify) == 0 || b.entry.Notify[0] == notify.KindNone:
		f.Why, f.Fix = "its sender waits, and nothing wakes "+name, "start a session of "+name+", or: post agent set "+name+" --notify KIND:ARG"
	}
	x.add(f)
}

// checkWakes tells of agents that cannot be woken.
func (x *exam) checkWakes() {
	arbiter := &notify.Arbiter{FS: x.o.FS}
	for _, b := range x.boxes {
		if b.entry.Archived || len(b.entry.Notify) == 0 || b.entry.Notify[0] == notify.KindNone {
			continue
		}
		s, ok, err := arbiter.Status(notify.Agent{Name: b.entry.Name, AID: b.entry.AID, Notify: b.entry.Notify})
		switch {
		case err != nil:
			x.trouble("waking", b.entry.Name, err)
		case ok && s.Torn != "":
			x.add(Finding{Check: "waking", Severity: Note, Where: b.entry.Name, What: "what was known about waking " + b.entry.Name + " is torn: " + s.Torn,
				Why: "the next wake begins anew", Fix: "post renotify"})
		case ok && s.Tries >= wakeTries:
			x.add(Finding{Check: "waking", Severity: Warning, Where: b.entry.Name, What: b.entry.Name + " could not be woken " + count(s.Tries, "time", "times") + " in a row by " + b.entry.Notify[0] + ": " + mail.Neutralise(s.Last.Evidence, false),
				Why: "its mail is delivered and lies unread", Fix: "start its session, or mend it with post agent set " + b.entry.Name + " --notify KIND:ARG; then post renotify"})
		}
	}
}

// checkPeople tells of what waits for a person: approvals, broken ones, and
// fuses that are blown.
func (x *exam) checkPeople() {
	open, err := approval.Open(x.o.FS)
	if err != nil {
		x.trouble("approvals", x.o.FS.Path(office.ApprovalsDir), err)
	}
	waiting := 0
	for _, a := range open {
		if a.Broken == nil {
			waiting++
			continue
		}
		file := x.o.FS.Path(office.ApprovalsDir + "/" + a.ID + ".json")
		x.add(Finding{Check: "approval", Severity: Error, Where: file, What: "an approval cannot be read: " + a.Broken.Error(),
			Why: "nobody can decide it, and whoever asked waits", Fix: "restore the file, or move it away and ask the sender to send it again: mv " + quote(file) + " " + quote(file+".broken")})
	}
	if waiting > 0 {
		x.add(Finding{Check: "approval", Severity: Note, What: count(waiting, "approval waits", "approvals wait") + " for a person", Why: "somebody waits for the answer", Fix: "post approvals"})
	}
	x.checkReach(open)
	x.checkFuses()
}

// checkReach tells what keeps a person from hearing of what waits for them.
func (x *exam) checkReach(open []approval.Approval) {
	r := &reach.Reacher{FS: x.o.FS, Office: x.o.Dir, Person: x.o.Config.Person, Table: x.Table, Now: x.Sys.Now}
	if x.Table != nil {
		for _, err := range r.Problems() {
			x.add(Finding{Check: "person", Severity: Warning, Where: config.OfficeFile, What: "the person is not told as the settings say: " + err.Error(),
				Why: "what agents ask may wait unseen", Fix: "post person set, or edit [person] in " + quote(x.o.FS.Path(config.OfficeFile))})
		}
	}
	told, err := r.Statuses(open)
	if err != nil {
		return // said above
	}
	failed := 0
	for i := range open {
		s := told[open[i].ID]
		if s.State != reach.Failed && s.State != reach.InDoubt {
			continue
		}
		if failed++; failed <= shown {
			x.add(Finding{Check: "person", Severity: Warning, Where: open[i].ID, What: open[i].ID + ": " + s.String(),
				Why: "it waits for a person, who may not know of it", Fix: "post person test, then post person set"})
		}
	}
	if r.Wanted() && len(open) > 0 {
		if idle := x.nothingRuns(); idle != "" {
			x.add(Finding{Check: "person", Severity: Note, What: idle, Why: "with nothing running nobody reminds the person, and what waits for the end of quiet hours goes on waiting", Fix: "post serve, or post service install"})
		}
	}
}

func (x *exam) checkFuses() {
	for _, n := range x.names(x.o.FS, "fuses") {
		key, ok := strings.CutSuffix(n, ".json")
		if !ok || strings.HasPrefix(n, ".") {
			continue
		}
		file := x.o.FS.Path("fuses/" + n)
		f, err := approval.LoadFuse(x.o.FS, approval.FuseKey(key))
		switch {
		case err != nil:
			x.add(Finding{Check: "fuse", Severity: Error, Where: file, What: "a fuse cannot be read: " + err.Error(),
				Why: "it counts as blown, so that no loop goes on: mail of its conversation or agent is held", Fix: "if no loop is going on: rm " + quote(file)})
		case f.Blown:
			x.add(Finding{Check: "fuse", Severity: Warning, Where: x.fused(f.Message), ID: f.Message, What: "a fuse is blown: " + x.fused(f.Message),
				Why: "mail that goes round and round is held until a person lets it go on", Fix: "post answer " + f.Approval + " --choose deliver, or stop"})
		}
	}
}

// fused says whose mail blew a fuse.
func (x *exam) fused(id mail.ID) string {
	m, _, err := x.o.ReadMessage(id)
	if err != nil {
		return string(id)
	}
	return m.From + " to " + m.To + ", conversation " + m.Conversation
}
