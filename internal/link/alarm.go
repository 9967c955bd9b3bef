package link

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/station"
)

// alarmsMax bounds the alarms that the status shows.
const alarmsMax = 20

// alarmsAge is how long the status shows one; the log and the person's notice stay.
const alarmsAge = 24 * time.Hour

// settleAlarms takes back what a person has just settled about a station.
func (e *engine) settleAlarms(name string) {
	e.alarms = slices.DeleteFunc(e.alarms, func(a station.Alarm) bool { return a.Station == name })
	e.statusDue = true
}

// untold is what a person was not told of one station yet.
type untold struct {
	texts []string // the first newsLines
	more  int
}

// alarm makes something known that must not go unnoticed: in the log, in the
// status that post link status and post doctor show, and in the page's health.
func (e *engine) alarm(station_, text string) {
	e.log.Error("alarm", "station", station_, "text", text)
	e.alarms = slices.DeleteFunc(e.alarms, func(a station.Alarm) bool {
		return a.Station == station_ && a.Text == text || e.now().Sub(a.At) > alarmsAge
	})
	e.alarms = append(e.alarms, station.Alarm{At: e.now(), Station: station_, Text: text})
	if len(e.alarms) > alarmsMax {
		e.alarms = e.alarms[len(e.alarms)-alarmsMax:]
	}
	u := e.untold[station_]
	if len(u.texts) < newsLines {
		u.texts = append(u.texts, text)
	} else {
		u.more++
	}
	e.untold[station_] = u
	e.statusDue = true
}

// newsEvery is how often a person is told about one station.
const newsEvery = time.Hour

// newsLines is how many alarms one notice has.
const newsLines = 20

// tellPerson puts alarms before a person, at once, and then at most once an hour
// for each station. What cannot be told now is told later.
func (e *engine) tellPerson(ctx context.Context) {
	now := e.mono()
	if now.Before(e.newsAt) {
		return
	}
	var news []router.News
	for name, u := range e.untold {
		if last, told := e.toldAt[name]; told && now.Sub(last) < newsEvery {
			continue
		}
		more := ""
		if u.more > 0 {
			more = fmt.Sprintf("- and %d more, in the log of postd serve\n", u.more)
		}
		news = append(news, router.News{Key: fmt.Sprint("link ", name, e.now().Truncate(time.Minute).Unix()), Subject: "The link needs a look: station " + name,
			Body: "About the station " + name + ":\n\n- " + strings.Join(u.texts, "\n- ") + "\n" + more + "\nSee: post link status\n"})
		e.toldAt[name] = now
	}
	if len(news) == 0 {
		return
	}
	rep, err := (&router.Router{Office: e.office}).Pass(ctx, router.Options{News: news, Own: office.Postroom})
	if err != nil && mail.KindOf(err) != mail.KindBusy {
		e.log.Warn("a person could not be told yet", "error", line(err))
	}
	for name, at := range e.toldAt {
		switch {
		case !at.Equal(now):
		case rep.Complete:
			delete(e.untold, name)
		default:
			delete(e.toldAt, name)
			e.newsAt = now.Add(time.Second)
		}
	}
}
