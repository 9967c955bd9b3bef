package web

import (
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
)

// sendWait is how long the page waits until what was sent is delivered.
const sendWait = 5 * time.Second

// composeData is what the page Compose shows: the form, or its preview.
type composeData struct {
	letter
	Names   []string // for the field To
	Acts    []act
	Reply   *mail.Message // what it answers
	Trouble *trouble

	Reach  []mailbox.Reach // the preview
	Agents int             // how many get it
	Key    string
}

// letter is what the form holds.
type letter struct {
	To, CC, Act, Subject, Body, Deadline, InReplyTo, Conversation string
}

// act is a choice of the form.
type act struct{ Name, Means string }

// acts are those that a person begins with, then those that answer.
func acts(reply bool) []act {
	list := []act{
		{string(mail.Inform), "tells something; no answer is wanted"},
		{string(mail.Query), "asks; an answer is owed"},
		{string(mail.Request), "wants something done; an answer is owed"},
		{string(mail.Propose), "suggests; an answer is owed"},
	}
	if reply {
		list = append(list, act{string(mail.Agree), "yes, it will be done"}, act{string(mail.Refuse), "no"}, act{string(mail.Done), "it is done"})
	}
	return list
}

func letterOf(r *http.Request) letter {
	f := func(name string) string { return strings.TrimSpace(r.Form.Get(name)) }
	return letter{To: f("to"), CC: f("cc"), Act: f("act"), Subject: f("subject"), Deadline: f("deadline"), InReplyTo: f("reply"),
		Conversation: f("conversation"), Body: strings.ReplaceAll(r.Form.Get("body"), "\r\n", "\n")}
}

func (l letter) draft() mailbox.Draft {
	return mailbox.Draft{To: splitNames(l.To), CC: splitNames(l.CC), Act: mail.Act(l.Act), Subject: l.Subject, Body: l.Body,
		Deadline: l.Deadline, InReplyTo: mail.ID(l.InReplyTo), Conversation: l.Conversation}
}

// splitNames takes a list apart, as post send does.
func splitNames(s string) (out []string) {
	for _, name := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == ';' }) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// compose shows the form: empty, to somebody (?to=), or as an answer (?reply=).
func (s *Site) compose(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		s.fail(w, r, badForm(err))
		return
	}
	desk, err := s.desk()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	l := letterOf(r)
	if l.InReplyTo != "" && l.To == "" {
		d, err := desk.ReplyDraft(mail.ID(l.InReplyTo))
		if err != nil {
			s.fail(w, r, err)
			return
		}
		l.To, l.Subject, l.Conversation, l.InReplyTo = strings.Join(d.To, ", "), d.Subject, d.Conversation, string(d.InReplyTo)
	}
	s.showForm(w, r, desk, l, nil)
}

// showForm shows the form with what was typed, and what is wrong with it.
func (s *Site) showForm(w http.ResponseWriter, r *http.Request, desk *cli.Desk, l letter, wrong error) {
	d := composeData{letter: l, Acts: acts(l.InReplyTo != ""), Names: []string{mail.NameAll}}
	if l.Act == "" {
		d.Act = string(mail.Inform)
	}
	for _, e := range desk.Registry.Entries() {
		if !e.Archived && !e.Speaks() {
			d.Names = append(d.Names, e.Name)
		}
	}
	for _, c := range desk.Registry.Channels() {
		d.Names = append(d.Names, c.Name)
	}
	if id := mail.ID(l.InReplyTo); id.Valid() {
		if m, _, err := desk.Office.ReadMessage(id); err == nil {
			d.Reply = m
		}
	}
	v := view{Title: "Compose", Nav: "compose"}
	if wrong != nil {
		t := troubleOf(wrong)
		d.Trouble, v.Status = &t, status(mail.KindOf(wrong))
	}
	v.Data = d
	s.render(w, r, "compose", v)
}

// composed previews what was written, sends it, or goes back to the form.
func (s *Site) composed(w http.ResponseWriter, r *http.Request) {
	desk, err := s.desk()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	l := letterOf(r)
	switch r.PostForm.Get("step") {
	case "send":
		s.sendLetter(w, r, desk, l)
	case "preview":
		s.previewLetter(w, r, desk, l)
	default:
		s.showForm(w, r, desk, l, nil)
	}
}

// previewLetter shows who gets it, by the rules that will send it.
func (s *Site) previewLetter(w http.ResponseWriter, r *http.Request, desk *cli.Desk, l letter) {
	reach, err := desk.Preview(l.draft())
	if err != nil {
		s.showForm(w, r, desk, l, err)
		return
	}
	d := composeData{letter: l, Reach: reach, Key: "page-" + rand.Text()}
	for _, x := range reach {
		d.Agents += len(x.Agents)
	}
	s.render(w, r, "preview", view{Title: "Who gets it", Nav: "compose", Data: d})
}

// sendLetter sends it by the code of post send. The preview's key keeps a second
// click from sending it twice.
func (s *Site) sendLetter(w http.ResponseWriter, r *http.Request, desk *cli.Desk, l letter) {
	draft := l.draft()
	draft.Key = r.PostForm.Get("key")
	sent, err := desk.Post(r.Context(), draft, sendWait)
	if err != nil {
		s.showForm(w, r, desk, l, err)
		return
	}
	to, lines := "/threads", make([]string, len(sent))
	for i, o := range sent {
		lines[i] = o.Text()
		switch {
		case len(draft.To) == 1 && o.ID != "":
			to = "/message/" + string(o.ID)
		case o.Conversation != "":
			to = "/threads/" + o.Conversation
		}
	}
	const most = 20 // of a broadcast to many: the message's own page has them all
	if len(lines) > most {
		lines = append(lines[:most], plural(len(sent)-most, "more recipient", "more recipients"))
	}
	s.goOn(w, r, to, lines...)
}
