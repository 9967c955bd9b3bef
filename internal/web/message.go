package web

import (
	"context"
	"errors"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/search"
)

// messageView is one message and its whole life.
type messageView struct {
	*mail.Message
	Voice     string
	Body      template.HTML
	AsWritten bool
	Size      string
	Steps     []lifeStep
	Stands    []string
	Owed      []mailbox.Owed
	Asked     *asked
	Replies   []replyRow
	Copies    []copyRow
	Digest    mail.Digest // of what was delivered; "" if the journal does not say
	Sound     bool        // all copies are what was delivered
	Commands  []command
	Missing   []string
}

// lifeStep is one step of a message's life.
type lifeStep struct {
	At    time.Time
	What  string
	Agent string
	How   string
	Tone  string
	Next  bool // it has not happened yet
}

type replyRow struct {
	ID      mail.ID
	From    string
	Act     mail.Act
	At      time.Time
	Subject string
}

// message shows the life of one message.
func (s *Site) message(w http.ResponseWriter, r *http.Request) {
	d, err := s.desk()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	id := mail.ID(r.PathValue("id"))
	if !id.Valid() { // the end of an id, as commands take it
		if id, err = d.FindAny(r.PathValue("id")); err != nil {
			s.fail(w, r, err)
			return
		}
		http.Redirect(w, r, "/message/"+string(id), http.StatusSeeOther)
		return
	}
	if r.URL.Query().Has("raw") {
		s.raw(w, r, d, id)
		return
	}
	life, err := d.Trace(id)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	v := messageOf(d, life)
	v.AsWritten = r.URL.Query().Has("written")
	if v.AsWritten {
		v.Body = plainText(life.Message.Body)
	} else {
		v.Body = markdown(life.Message.Body)
	}
	v.Asked = askedBy(d, life.Message)
	v.Replies = s.replies(r.Context(), d, life.Message)
	s.render(w, r, "message", view{Title: titleOfMessage(life.Message), Nav: "threads", Data: v})
}

func titleOfMessage(m *mail.Message) string {
	if strings.TrimSpace(m.Subject) == "" {
		return "Message " + m.ID.Short()
	}
	return m.Subject
}

func messageOf(d *cli.Desk, life *mailbox.Life) *messageView {
	m := life.Message
	v := &messageView{Message: m, Voice: voiceOf(m.From), Size: bytesWords(len(m.Body)), Stands: d.Stands(life), Digest: life.Digest}
	for _, s := range life.Steps {
		v.Steps = append(v.Steps, stepOf(s))
	}
	for _, x := range life.Owed {
		v.Owed = append(v.Owed, d.OwedNow(x))
	}
	for _, a := range life.Where.Missing {
		v.Missing = append(v.Missing, a.Name)
	}
	v.Copies = copiesOf(d, life)
	v.Sound = !slices.ContainsFunc(v.Copies, func(c copyRow) bool { return c.Tone == "bad" })
	v.Commands = commandsFor(life)
	return v
}

// stepOf shows one step of a life.
func stepOf(s mailbox.Step) lifeStep {
	return lifeStep{At: s.At, What: stepWord(s.Event), Agent: s.Agent, How: s.How(), Tone: stepTone(s)}
}

// stepWord says what an event means to a person.
func stepWord(event string) string {
	if w, ok := map[string]string{
		"stored": "stored in the sender's outbox", "adopted": "taken from a file in the outbox", "claimed": "given another id than its author wrote",
		"delivered": "delivered to the inbox", "deferred": "put off: the inbox could not be written", "redelivered": "delivered again: the file had vanished",
		"bounced": "not delivered; the sender was told why", "escalated": "put before a person", "expired": "ran out of time", "notified": "woken",
		"surfaced": "shown to the agent that it is there", "read": "read", "done": "put away as done", "owed": "an answer is owed", "discharged": "nothing is owed any more",
		"agreed": "agreed to; the work is owed", "reminded": "reminded", "overdue": "the sender and a person were told that it is late", "decided": "decided by a person",
		"drift": "its clock was ahead", mailbox.Queued: "put where the link takes it", mail.EventSent: "taken by the hub of the link",
		mail.EventArrived: "delivered to the inbox at its station, which signed for it", mail.EventRefused: "refused by the other station",
	}[event]; ok {
		return w
	}
	return event
}

func stepTone(s mailbox.Step) string {
	switch s.Event {
	case "delivered", mail.EventArrived, "read", "done", "decided", "discharged":
		return "good"
	case "bounced", mail.EventRefused:
		return "bad"
	case "deferred", "redelivered", "expired", "overdue", "reminded", "escalated", "drift":
		return "warn"
	case "notified":
		if state := s.Detail["state"]; state != "" && state != "ok" && state != "notified" {
			return "warn"
		}
	}
	return ""
}

// commandsFor are the lines that say the same, or go on, in a terminal.
func commandsFor(life *mailbox.Life) []command {
	m := life.Message
	out := []command{{"this life in a terminal", "post trace " + string(m.ID)}, {"the whole conversation", "post thread " + m.Conversation}}
	switch w := life.Where; {
	case w.Approval != "" && !w.Decided:
		out = append(out, command{"decide what it asks", "post answer " + w.Approval})
	case len(w.Missing) > 0 && w.Outbox:
		out = append(out, command{"deliver what waits in outboxes", "post route"})
	case len(w.Missing) > 0:
		out = append(out, command{"find out why somebody does not have it", "post doctor"})
	case len(w.Reached) > 0 && len(life.Far) == len(w.Reached):
		out = append(out, command{"see how the link stands", "post link status"})
	case len(w.Reached) > 0 && !w.Handled:
		out = append(out, command{"wake its recipients again; it is not sent again", "post renotify " + string(m.ID)})
	}
	return out
}

// replies are the messages that answer this one, oldest first. Without an index
// there are none to show.
func (s *Site) replies(ctx context.Context, d *cli.Desk, m *mail.Message) (out []replyRow) {
	_, err := s.ask(ctx, d, func(x *search.Index) error {
		found, err := x.Find(ctx, search.Request{Query: search.Query{Terms: []search.Term{{Field: "thread", Value: m.Conversation}}}, Below: m.ID, Limit: 100})
		for _, h := range found.Hits {
			if h.Message.InReplyTo == m.ID {
				out = append(out, replyRow{h.Message.ID, h.Message.From, h.Message.Act, h.Message.CreatedAt, h.Message.Subject})
			}
		}
		return err
	})
	if err != nil && !errors.Is(err, errNotWhole) && mail.KindOf(err) != mail.KindNotFound {
		s.Log.Warn("the replies of a message could not be found", "id", string(m.ID), "error", err.Error())
	}
	return out
}

// raw is the file itself, for whoever wants to see it as it is.
func (s *Site) raw(w http.ResponseWriter, r *http.Request, d *cli.Desk, id mail.ID) {
	data, err := anyCopy(d, id)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Disposition", `inline; filename="`+string(id)+`.json"`)
	w.Write(data)
}

// anyCopy is the office's copy, else the one of whoever sent it.
func anyCopy(d *cli.Desk, id mail.ID) ([]byte, error) {
	if _, data, err := d.Office.ReadMessage(id); err == nil {
		return data, nil
	}
	life, err := d.Trace(id)
	if err != nil {
		return nil, err
	}
	for _, c := range copiesOf(d, life) {
		if c.data != nil {
			return c.data, nil
		}
	}
	return nil, &mail.Error{Op: "show file", Kind: mail.KindNotFound, ID: id, Addr: office.MessagePath(id), Err: errors.New("no copy can be read"), Hint: "run post verify"}
}
