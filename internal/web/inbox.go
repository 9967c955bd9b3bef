package web

import (
	"cmp"
	"encoding/json"
	"net/http"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
)

// recentDecided is how many decisions the inbox shows below what waits.
const recentDecided = 10

// inboxData is what the inbox shows.
type inboxData struct {
	Waiting []waiting
	Decided []approval.Closed
}

// waiting is one approval in a list.
type waiting struct {
	*approval.Approval
	Soon, Late bool   // it expires within an hour; its time is over
	Problem    string // its file is broken
	Seen       string // what a form about it was filled in from
}

// ToDecide are questions, releases and what is broken; ToRead are notices.
func (d inboxData) ToDecide() []waiting { return d.of(false) }

// ToRead are the notices.
func (d inboxData) ToRead() []waiting { return d.of(true) }

func (d inboxData) of(notice bool) (list []waiting) {
	for _, w := range d.Waiting {
		if w.Notice() == notice {
			list = append(list, w)
		}
	}
	return list
}

// Notice says that it is closed by reading it.
func (w waiting) Notice() bool { return w.Kind == policy.Notice }

// Release says that a message is held until it is decided.
func (w waiting) Release() bool { return w.Kind == policy.Release }

// soon is how near an expiry has to be to stand out.
const soon = time.Hour

func waitingOf(a *approval.Approval, now time.Time) waiting {
	w := waiting{Approval: a, Late: a.ExpiredAt(now), Soon: a.ExpiredAt(now.Add(soon)), Seen: seen(a)}
	if a.Broken != nil {
		w.Problem = mail.Neutralise(a.Broken.Error(), false)
	}
	return w
}

// inbox lists what waits for a person, oldest first, and what was decided last.
func (s *Site) inbox(w http.ResponseWriter, r *http.Request) {
	v := view{Title: "Inbox", Nav: "inbox"}
	if r.URL.Query().Get("part") == "count" { // on every page, at every event
		s.render(w, r, "inbox", v)
		return
	}
	o, err := s.open()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	open, err := approval.Open(o.FS)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var d inboxData
	for i := range open {
		d.Waiting = append(d.Waiting, waitingOf(&open[i], s.Env.Now()))
	}
	if d.Decided, err = approval.Decided(o.FS, recentDecided); err != nil {
		s.fail(w, r, err)
		return
	}
	v.Data = d
	s.render(w, r, "inbox", v)
}

// approvalData is what the page of one approval shows.
type approvalData struct {
	waiting
	Decision *approval.Decision
	Options  []option
	Next     string // the approval that waits longest besides this one
	Others   int
	Thread   *threadView
	NoThread string // why it is not shown
	Payload  payload
	Text     string // what was typed into a form that was refused
}

// option is one button.
type option struct {
	Name string
	No   bool
	Key  int // 1 to 9, 0 none
}

// payload says whether the message that is decided about is the one that was
// put before the person.
type payload struct {
	Digest string
	Same   bool
	Why    string // if not
}

// approval shows one of them: all that a person needs to decide.
func (s *Site) approval(w http.ResponseWriter, r *http.Request) {
	s.showApproval(w, r, http.StatusOK, "")
}

func (s *Site) showApproval(w http.ResponseWriter, r *http.Request, status int, typed string) {
	d, err := s.approvalData(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	d.Text = typed
	s.render(w, r, "approval", view{Title: cmp.Or(d.Subject, d.ID), Nav: "inbox", Status: status, Data: d})
}

func (s *Site) approvalData(r *http.Request) (*approvalData, error) {
	desk, err := s.desk()
	if err != nil {
		return nil, err
	}
	a, decision, err := approval.Get(desk.Office.FS, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	d := &approvalData{waiting: waitingOf(a, s.Env.Now()), Decision: decision}
	for i, name := range a.Choices() {
		o := option{Name: name, No: approval.Rejecting(name)}
		if i < 9 {
			o.Key = i + 1
		}
		d.Options = append(d.Options, o)
	}
	if open, err := approval.Open(desk.Office.FS); err == nil {
		for _, other := range open {
			if other.ID != a.ID {
				d.Others++
				d.Next = cmp.Or(d.Next, other.ID)
			}
		}
	}
	if r.URL.Query().Get("part") != "" {
		return d, nil // the form and what became of it; the rest does not change
	}
	d.Payload = payloadOf(desk.Office.ReadMessage(a.Message))
	d.Payload.compare(a)
	d.Thread, err = s.readThread(r.Context(), desk, a.Conversation, piece{}, "")
	if err != nil {
		d.NoThread = mail.Neutralise(err.Error(), false)
	}
	return d, nil
}

func payloadOf(m *mail.Message, data []byte, err error) payload {
	if err != nil {
		return payload{Why: "the office's copy of the message cannot be read: " + mail.Neutralise(err.Error(), false)}
	}
	return payload{Digest: string(mail.DigestOf(data)), Same: true}
}

func (p *payload) compare(a *approval.Approval) {
	if p.Same && p.Digest != string(a.Digest) {
		p.Same, p.Why = false, "the office's copy of the message is not the one that was put before you"
	}
	p.Digest = string(a.Digest)
}

// seen stands for all that the page shows of an approval, so that nobody decides
// about something else than was seen.
func seen(a *approval.Approval) string {
	data, err := json.Marshal(a)
	if err != nil {
		return ""
	}
	return digest(string(data))[:24]
}
