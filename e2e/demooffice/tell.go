package demooffice

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/spool"
)

// event is one line of one telling of a story, at its time.
type event struct {
	at     time.Time
	line   line
	parent *event // what it answers
	first  *event // of the story: all of it is one conversation
	msg    *mail.Message
}

const (
	// tick is what is routed together.
	tick = 20 * time.Second
	// calm is how long before the end no story begins that is told again and
	// again, but for a few.
	calm = 20 * time.Minute
	// unread is how long notices lie before the person reads them.
	unread = 2 * time.Hour
)

// tell has everybody say and read everything, until the end.
func (f *filling) tell() error {
	events := f.schedule()
	for len(events) > 0 {
		n := 1
		for n < len(events) && events[n].at.Sub(events[0].at) < tick && !slices.Contains(events[:n], events[n].parent) && !slices.Contains(events[:n], events[n].first) {
			n++
		}
		if err := f.step(events[:n]); err != nil {
			return err
		}
		events = events[n:]
	}
	f.now = last(f.now, f.Now.Add(-30*time.Second))
	return f.route()
}

// schedule is when who says what.
func (f *filling) schedule() []*event {
	r := rand.New(rand.NewPCG(f.Seed, 1))
	var events []*event
	var often []story
	for _, s := range f.stories {
		if s.weight == 0 {
			events = append(events, f.telling(s, f.Now.Add(-s.before), words(r), 1)...)
		}
		for range s.weight {
			often = append(often, s)
		}
	}
	for len(events) < f.Messages {
		s := often[r.IntN(len(often))]
		begin := f.began.Add(time.Duration(r.Float64() * float64(f.span-calm)))
		if h := begin.UTC().Hour(); (h < 7 || h > 19) && r.IntN(6) > 0 {
			continue // little happens at night
		}
		told := f.telling(s, begin, words(r), 0.6+0.8*r.Float64())
		if f.speakable(told) {
			events = append(events, told...)
		}
	}
	slices.SortStableFunc(events, func(a, b *event) int { return a.at.Compare(b.at) })
	return events
}

// telling is one telling of a story that begins then, at its own pace.
func (f *filling) telling(s story, begin time.Time, w interface{ Replace(string) string }, pace float64) []*event {
	var out []*event
	at := begin
	for _, l := range s.lines {
		at = at.Add(time.Duration(float64(l.after) * pace)).Add(time.Second)
		if at.After(f.Now.Add(-time.Minute)) {
			break
		}
		l.from, l.to, l.subject, l.body = w.Replace(l.from), w.Replace(l.to), w.Replace(l.subject), w.Replace(l.body)
		e := &event{at: at, line: l}
		if l.re > 0 {
			e.parent = out[l.re-1]
		}
		if len(out) > 0 {
			e.first = out[0]
		}
		out = append(out, e)
	}
	return out
}

// speakable reports whether nobody speaks who has fallen silent.
func (f *filling) speakable(told []*event) bool {
	for _, e := range told {
		if f.silent(e.line.from, e.at) {
			return false
		}
	}
	// And nobody is left with a question only because the end came.
	return len(told) > 0 && (!told[len(told)-1].line.obliges() || told[0].at.Before(f.Now.Add(-calm)))
}

func (l line) obliges() bool { return mail.Act(l.act).Obliges() }

func (f *filling) silent(name string, at time.Time) bool {
	for _, m := range cast() {
		if m.name == name {
			return m.silent > 0 && at.After(f.Now.Add(-m.silent))
		}
	}
	return false
}

// step is one tick: all is said, routed and read.
func (f *filling) step(events []*event) error {
	for _, e := range events {
		f.now = last(f.now, e.at)
		if err := f.say(e); err != nil {
			return fmt.Errorf("%s to %s, %q: %w", e.line.from, e.line.to, e.line.subject, err)
		}
	}
	return f.route()
}

// say stores what a line says, or decides.
func (f *filling) say(e *event) error {
	l := e.line
	switch {
	case l.decides():
		return f.decide(e)
	case l.byHand:
		f.made.Sent++
		return f.byHand(e)
	}
	d := mailbox.Draft{To: []string{l.to}, Act: mail.Act(l.act), Subject: l.subject, Body: l.body, NeedsHuman: l.person, Deadline: l.due, Options: l.options, Again: true}
	if l.cc != "" {
		d.CC = []string{l.cc}
	}
	if e.parent != nil {
		d.InReplyTo = e.parent.msg.ID
	} else if e.first != nil {
		d.Conversation = e.first.msg.Conversation
	}
	sent, err := f.boxes[l.from].Send(d)
	if err != nil {
		return err
	}
	if sent[0].Err != nil {
		return sent[0].Err
	}
	e.msg = sent[0].Msg
	f.made.Sent++
	return nil
}

// byHand puts a file into the outbox as a program without post would.
func (f *filling) byHand(e *event) error {
	l := e.line
	text := l.body
	if l.act != "garbage" {
		text = fmt.Sprintf("{%q: %q, %q: %q, %q: %q, %q: %q}\n", "to", l.to, "act", l.act, "subject", l.subject, "body", strings.TrimSpace(l.body))
	}
	box := f.boxes[l.from].Author.Box
	return spool.PutNew(box.FS, box.Path(spool.Outbox), "note.json", []byte(text))
}

func (f *filling) decide(e *event) error {
	open, err := approval.Open(f.office.FS)
	if err != nil {
		return err
	}
	for _, a := range open {
		if a.Message != e.parent.msg.ID {
			continue
		}
		d := approval.Decision{By: mail.NameHuman, At: f.now.UTC(), Text: strings.TrimSpace(e.line.body)}
		if e.line.act == "rejects" {
			d.Verdict = approval.VerdictRejected
		}
		return approval.Decide(f.office.FS, a.ID, d)
	}
	return fmt.Errorf("nothing waits for a person about %s", e.parent.msg.ID)
}

// route runs a pass; then whoever got something reads it, and the person looks
// at notices now and then.
func (f *filling) route() error {
	f.pause(170 * time.Millisecond)
	rep, err := f.pass()
	if err != nil {
		return err
	}
	reached := map[string]bool{}
	for _, res := range rep.Results {
		for _, fate := range res.Fates {
			reached[fate.Agent.Name] = true
		}
	}
	f.pause(2300 * time.Millisecond)
	for _, m := range cast() {
		if reached[m.name] && !f.silent(m.name, f.now) {
			if err := f.read(m.name); err != nil {
				return err
			}
		}
	}
	return f.notices()
}

// pause lets time go by, but never to the end.
func (f *filling) pause(d time.Duration) {
	if end := f.Now.Add(-10 * time.Second); f.now.Add(d).Before(end) {
		f.now = f.now.Add(d)
	}
}

// pass is one pass.
func (f *filling) pass() (rep router.Report, err error) {
	err = free(func() (err error) {
		rep, err = f.router.Pass(context.Background(), router.Options{All: true})
		return err
	})
	return rep, err
}

// free tries something that needs the lease until it has it: a program that this
// process starts at the same moment holds its files, too, until it runs.
func free(fn func() error) (err error) {
	for range 1000 {
		if err = fn(); mail.KindOf(err) != mail.KindBusy {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return err
}

// read is what an agent does with its mail: it reads all, and is done with it.
func (f *filling) read(name string) error {
	m := f.boxes[name]
	items, err := m.List(true)
	if err != nil {
		return err
	}
	var ids []mail.ID
	var read []mail.Receipt
	for _, it := range items {
		if _, err := m.Open(it.ID); err != nil {
			return err
		}
		ids = append(ids, it.ID)
		read = append(read, mail.Receipt{Event: mail.EventRead, ID: it.ID, Evidence: "stdout"})
	}
	if err := m.Receipt(read...); err != nil {
		return err
	}
	f.pause(4100 * time.Millisecond)
	_, err = m.Finish(ids...)
	return err
}

// notices closes what a person has had time to read.
func (f *filling) notices() error {
	if f.now.Sub(f.looked) < unread/4 || f.Now.Sub(f.now) < unread {
		return nil
	}
	f.looked = f.now
	open, err := approval.Open(f.office.FS)
	if err != nil {
		return err
	}
	for _, a := range open {
		if a.Kind == policy.Notice && f.now.Sub(a.Created) > unread && !f.told(a) {
			if err := approval.Decide(f.office.FS, a.ID, approval.Decision{By: mail.NameHuman, At: f.now.UTC()}); err != nil {
				return err
			}
		}
	}
	return nil
}

// told reports whether a story tells itself when the notice is read.
func (f *filling) told(a approval.Approval) bool {
	return slices.ContainsFunc(f.stories, func(s story) bool {
		return s.weight == 0 && s.lines[0].subject == a.Subject
	})
}
