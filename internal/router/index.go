package router

import (
	"slices"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// indexes appends one line per delivery to each recipient's index.
func (p *pass) indexes(jobs []*job) {
	byBox := map[string][]*delivery{}
	var order []string
	for _, j := range jobs {
		for _, d := range j.deliveries {
			if d.err != nil || j.past != nil && j.past.delivered[d.To.AID] {
				continue
			}
			d.line = j.indexLine(d)
			if _, ok := byBox[d.To.AID]; !ok {
				order = append(order, d.To.AID)
			}
			byBox[d.To.AID] = append(byBox[d.To.AID], d)
		}
	}
	for _, aid := range order {
		if err := p.indexBox(byBox[aid]); err != nil {
			// It is in the inbox, and everybody was told so: what is missing is
			// the line, which the next pass tries again.
			p.problem("append index", "mailbox of "+byBox[aid][0].To.Name, err)
			for _, d := range byBox[aid] {
				d.unlisted = err
			}
		}
	}
	for _, j := range jobs {
		j.deferred = j.deferred || slices.ContainsFunc(j.deliveries, func(d *delivery) bool { return d.unlisted != nil })
	}
}

func (j *job) indexLine(d *delivery) mail.IndexLine {
	m := j.msg
	l := mail.IndexLine{ID: m.ID, Digest: j.draft.Digest, From: m.From, Act: string(m.Act), Subject: m.Subject,
		Conversation: m.Conversation, As: string(d.As)}
	if j.author.AID != "" {
		l.Turns, l.Chain, l.Since = j.world.Turns, j.world.TurnsHour, j.world.Since
	}
	return l
}

func (p *pass) indexBox(ds []*delivery) error {
	box := ds[0].box
	var lines []mail.IndexLine
	var fresh, found []*delivery
	for _, d := range ds {
		if !d.fresh { // an earlier pass may have got as far as this
			old, ok, err := box.FindIndex(d.line.ID, spool.Reach)
			if err != nil {
				return err
			}
			if ok {
				d.line = old
				found = append(found, d)
				continue
			}
		}
		lines, fresh = append(lines, d.line), append(fresh, d)
	}
	open := box.OpenIndex
	if len(lines) > 0 {
		open = func() (vfs.File, error) { return box.AppendIndex(lines) }
	}
	f, err := open()
	if err != nil {
		return err
	}
	for i, d := range fresh {
		d.line = lines[i]
	}
	listed := p.batch.File(f)
	for _, d := range append(fresh, found...) { // whoever wrote what was found may not have synced it
		d.listed = listed
	}
	return nil
}

// unlisted puts off what has no durable index line: it is in the inbox, and
// everybody was told so; the next pass tries the line again. The mailbox's
// trouble is nobody else's.
func (p *pass) unlisted(jobs []*job) {
	for _, j := range jobs {
		for _, d := range j.deliveries {
			if d.listed != nil && d.listed.Err != nil {
				p.problem("sync index", "mailbox of "+d.To.Name, d.listed.Err)
				j.deferred = true
			}
		}
	}
}
