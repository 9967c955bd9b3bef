package router

import (
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
)

// News is something that the office tells a person by itself, because it must
// not go unnoticed: that an envelope was forged, that a station's key changed.
type News struct {
	Key           string // the same key within a day is the same news
	Subject, Body string
}

// news puts what the pass was asked to tell a person into the office's outbox.
func (p *pass) news() error {
	for _, n := range p.opt.News {
		var c mail.Clock
		day := c.Next(p.now.Truncate(24*time.Hour), office.Postroom)
		if err := p.notice(notice{to: policy.Agent{Name: office.Human}, cause: day, key: []string{"news", n.Key},
			subject: n.Subject, body: mail.Neutralise(n.Body, true)}); err != nil {
			return err
		}
	}
	return nil
}
