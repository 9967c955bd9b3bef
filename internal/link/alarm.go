package link

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/station"
)

// alarmsMax bounds the alarms that the status shows.
const alarmsMax = 20

// alarm makes something known that must not go unnoticed: in the log, in the
// status that post link status and post doctor show, and in the page's health.
func (e *engine) alarm(station_, text string) {
	e.log.Error("alarm", "station", station_, "text", text)
	if n := len(e.alarms); n > 0 && e.alarms[n-1].Station == station_ && e.alarms[n-1].Text == text {
		e.alarms[n-1].At = e.now()
	} else {
		e.alarms = append(e.alarms, station.Alarm{At: e.now(), Station: station_, Text: text})
	}
	if len(e.alarms) > alarmsMax {
		e.alarms = e.alarms[len(e.alarms)-alarmsMax:]
	}
	e.untold[station_] = append(e.untold[station_], text)
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
	for name, texts := range e.untold {
		if last, told := e.toldAt[name]; told && now.Sub(last) < newsEvery {
			continue
		}
		more := ""
		if n := len(texts) - newsLines; n > 0 {
			more, texts = fmt.Sprintf("- and %d more, in the log of postd serve\n", n), texts[:newsLines]
		}
		news = append(news, router.News{Key: fmt.Sprint("link ", name, e.now().Truncate(time.Minute).Unix()), Subject: "The link needs a look: station " + name,
			Body: "About the station " + name + ":\n\n- " + strings.Join(texts, "\n- ") + "\n" + more + "\nSee: post link status\n"})
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
