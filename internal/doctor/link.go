package doctor

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/station"
)

// lateAfter is how long mail for another station may wait here before that is
// worth telling.
const lateAfter = 10 * time.Minute

// alarmsFor is how long an alarm of the link is told, and alarmsMost how many.
const (
	alarmsFor  = 7 * 24 * time.Hour
	alarmsMost = 5
)

// leaving is the mail that waits for one station.
type leaving struct {
	station string
	n       int
	oldest  mail.ID
}

// checkLink looks at how the office is linked: what waits for other stations and
// why, and what the link found wrong.
func (x *exam) checkLink() {
	waits := x.leaving()
	us := x.o.Station()
	if us == "" && len(waits) == 0 {
		return
	}
	s, known, err := station.Read(x.o.FS)
	if err != nil {
		x.trouble("link", x.o.FS.Path(station.Dir), err)
		return
	}
	serves := known && x.runs(s)
	late := false
	for _, w := range waits {
		if x.Sys.Now().Sub(w.oldest.Time()) > lateAfter {
			x.late(w, s, serves)
			late = true
		}
	}
	if us != "" && !serves && !late {
		x.add(Finding{Check: "link", Severity: Note, Where: us, What: "this office is linked as " + us + ", and no postd serves it",
			Why: "nothing comes from other stations or goes there", Fix: "post serve"})
	}
	if !known {
		return
	}
	for _, p := range s.Peers {
		if p.Trouble != "" || p.Revoked {
			what := "nothing goes to station " + p.Station + ": " + mail.Neutralise(cmp.Or(p.Trouble, "it was revoked, or has left"), false)
			x.add(Finding{Check: "link", Severity: Warning, Where: p.Station, What: what, Why: "mail for its agents waits here", Fix: "post link status"})
		}
	}
	x.alarms(s.Alarms)
}

// leaving sums up by station what lies in far agents' mailboxes here.
func (x *exam) leaving() []leaving {
	by := map[string]*leaving{}
	for _, b := range x.boxes {
		if b.entry.Station == "" || !b.ok {
			continue
		}
		for _, n := range x.names(b.FS, b.Path(spool.Inbox)) {
			id := mail.ID(strings.TrimSuffix(n, ".json"))
			if !id.Valid() {
				continue
			}
			w := by[b.entry.Station]
			if w == nil {
				w = &leaving{station: b.entry.Station, oldest: id}
				by[b.entry.Station] = w
			}
			if w.n++; id < w.oldest {
				w.oldest = id
			}
		}
	}
	var list []leaving
	for _, w := range by {
		list = append(list, *w)
	}
	slices.SortFunc(list, func(a, b leaving) int { return cmp.Compare(a.station, b.station) })
	return list
}

// late tells of mail that should have arrived by now, and why it has not.
func (x *exam) late(w leaving, s station.Status, serves bool) {
	f := Finding{Check: "link", Severity: Warning, Where: w.station, ID: w.oldest, Fix: "post link status",
		What: count(w.n, "message for station "+w.station+" has", "messages for station "+w.station+" have") + " not arrived there, the first since " +
			ago(x.Sys.Now().Sub(w.oldest.Time())) + " ago"}
	i := slices.IndexFunc(s.Peers, func(p station.Peer) bool { return p.Station == w.station })
	switch {
	case x.o.Station() == "":
		f.Why, f.Fix = "this office is not linked any more", "post link join"
	case !serves:
		f.Why, f.Fix = "no postd serves this office, so nothing carries it", "post serve"
	case !s.Up:
		f.Why = "the link has been down since " + s.Since.UTC().Format("2006-01-02 15:04 UTC")
		if s.Why != "" {
			f.Why += ": " + mail.Neutralise(s.Why, false)
		}
	case i < 0:
		f.Why = "nobody on the link is called " + w.station
	case s.Peers[i].Heard.IsZero():
		f.Why = w.station + " was never heard on this link"
	default:
		f.Why = w.station + " does not answer; it was heard last " + ago(x.Sys.Now().Sub(s.Peers[i].Heard)) + " ago"
	}
	x.add(f)
}

func (x *exam) runs(s station.Status) bool {
	if x.Host.Started == nil {
		return true
	}
	start, ok := x.Host.Started(s.PID)
	return ok && (s.Start == "" || s.Start == start)
}

// alarms tells what the link would not let pass unnoticed.
func (x *exam) alarms(list []station.Alarm) {
	list = slices.DeleteFunc(slices.Clone(list), func(a station.Alarm) bool { return x.Sys.Now().Sub(a.At) > alarmsFor })
	if more := len(list) - alarmsMost; more > 0 {
		x.add(Finding{Check: "link", Severity: Warning, What: strconv.Itoa(more) + " more alarms of the link in the last week", Why: "they are older than the ones that follow", Fix: "post link status"})
		list = list[more:]
	}
	for _, a := range list {
		x.add(Finding{Check: "link", Severity: Warning, Where: a.Station, What: mail.Neutralise(a.Text, false) + " (" + a.At.UTC().Format("2006-01-02 15:04 UTC") + ")",
			Why: "somebody may be passing for another station, or mail was set aside", Fix: "post link status"})
	}
}
