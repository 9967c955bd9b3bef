package doctor

import (
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
)

const (
	driftLimit = 5 * time.Minute
	newest     = 200 // index lines that are looked at in each mailbox
	recently   = 7 * 24 * time.Hour
)

// checkClocks looks for ids from the future: another machine's clock, or this
// one's, set back since.
func (x *exam) checkClocks() {
	for _, b := range x.boxes {
		if !b.ok || b.entry.Station != "" {
			continue
		}
		if last := b.OpenClock().Last; last.Valid() && mail.Drifted(last, x.Sys.Now(), driftLimit) {
			x.add(Finding{Check: "clock", Severity: Warning, Where: b.dir, ID: last, What: "the clock of " + b.entry.Name + "'s mailbox is " + ago(last.Time().Sub(x.Sys.Now())) + " ahead of this machine's",
				Why: "its ids lie in the future until the wall clock has caught up; order and delivery are not affected", Fix: "check the time of this machine: date -u"})
		}
		n := 0
		var ahead mail.ID
		b.ScanIndex(func(l mail.IndexLine) bool { // a broken index is told elsewhere
			if mail.Drifted(l.ID, x.Sys.Now(), driftLimit) && l.ID > ahead {
				ahead = l.ID
			}
			n++
			return n < newest
		})
		if ahead != "" {
			x.add(Finding{Check: "clock", Severity: Warning, Where: b.entry.Name, ID: ahead, What: b.entry.Name + " has mail from the future: " + string(ahead),
				Why: "the clock of its sender's machine, or of this one, is wrong by " + ago(ahead.Time().Sub(x.Sys.Now())) + "; order and delivery are not affected", Fix: "check the time on both machines: date -u"})
		}
	}
}

// checkJournal looks for what passes have written down as wrong: jumps of the
// clock, and what a crash took for good.
func (x *exam) checkJournal() {
	from := x.Sys.Now().Add(-recently)
	jumps, lost := 0, 0
	var jump, loss journal.Record
	err := journal.EachMatching(x.o.FS, from, []byte(`"event":"drift"`), func(r journal.Record) error {
		if r.Event == journal.Drift {
			jumps, jump = jumps+1, r
		}
		return nil
	})
	if err == nil {
		err = journal.EachMatching(x.o.FS, from, []byte(`"event":"recovered"`), func(r journal.Record) error {
			if r.Event == journal.Recovered && r.Detail["lost"] != "" {
				lost, loss = lost+1, r
			}
			return nil
		})
	}
	if err != nil {
		x.damaged(err)
	}
	if jumps > 0 {
		what := count(jumps, "jump", "jumps") + " of the clock in the last week, the last on " + jump.At.UTC().Format("2006-01-02 15:04 UTC")
		if by := jump.Detail["jump"]; by != "" {
			what += " by " + mail.Neutralise(by, false)
		}
		x.add(Finding{Check: "clock", Severity: Note, What: what, Why: "due times were moved along"})
	}
	if lost > 0 {
		x.add(Finding{Check: "journal", Severity: Error, ID: loss.ID, What: count(lost, "part", "parts") + " of mail could not be restored after a crash in the last week, the last of " + string(loss.ID) + ": " + mail.Neutralise(loss.Detail["cause"], false),
			Why: "the journal has it and no mailbox does", Fix: "post trace " + string(loss.ID) + ", then ask the sender to send it again"})
	}
}

// recentTools lists the tools that stamped the newest messages, other than this
// one, each with one message.
func (x *exam) recentTools() map[string]mail.ID {
	out := map[string]mail.ID{}
	left := newest
	for _, b := range x.boxes {
		if !b.ok {
			continue
		}
		n := 0
		b.ScanIndex(func(l mail.IndexLine) bool {
			if m, _, err := x.o.ReadMessage(l.ID); err == nil && m.SentWith != x.Sys.Version && m.SentWith != "" && (m.Station == "" || m.Station == x.o.Station()) {
				if l.ID > out[m.SentWith] {
					out[m.SentWith] = l.ID
				}
			}
			n, left = n+1, left-1
			return n < newest/10 && left > 0 && x.Sys.Now().Sub(l.ID.Time()) < recently
		})
	}
	return out
}

// damaged tells, once, that the journal cannot be read whole.
func (x *exam) damaged(err error) {
	for _, f := range x.findings {
		if f.Check == "journal" {
			return
		}
	}
	x.add(Finding{Check: "journal", Severity: Error, Where: x.o.FS.Path(office.JournalDir), What: "the journal is damaged: " + err.Error(),
		Why: "it is what everything else is compared with", Fix: "post verify, then restore the file from a backup"})
}
