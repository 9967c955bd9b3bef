package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/search"
)

// turnsPage is how many messages of a conversation a page shows.
const turnsPage = 40

// threadView is one conversation as a person reads it, a piece of it if it is long.
type threadView struct {
	Name     string
	Subject  string
	Messages int // in all
	Earlier  int // before this piece
	Later    int // behind it
	People   []string
	Turns    []turn
	Owed     []mailbox.Owed
	Waiting  []approval.Approval // what is open and belongs to no message shown here
	Lost     []mail.ID           // not as the office took them in
	At       mail.ID             // the message that was asked for
	Open     mail.ID             // the long message that is shown whole
	Index    indexed
	Build    bool     // read from the journal: the index is being built
	Trouble  *trouble // what is wrong with the index
	Query    string   // the link to the piece alone
	Start    mail.ID
}

// piece says which messages of a conversation are wanted: those before one, behind
// one, around one, or the newest.
type piece struct{ before, after, at mail.ID }

func pieceOf(q url.Values) piece {
	id := func(name string) mail.ID {
		if v := mail.ID(q.Get(name)); v.Valid() {
			return v
		}
		return ""
	}
	p := piece{id("before"), id("after"), id("at")}
	switch {
	case p.before != "":
		p.after, p.at = "", ""
	case p.after != "":
		p.at = ""
	}
	return p
}

// turnsRead are the messages of a piece, oldest first.
type turnsRead struct {
	hits    []search.Hit
	thread  search.Thread
	earlier int
	lost    []mail.ID
}

// thread shows one conversation.
func (s *Site) thread(w http.ResponseWriter, r *http.Request) {
	d, err := s.desk()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	name := r.PathValue("conversation")
	if id := mail.ID(name); id.Valid() { // a message, unless somebody called a conversation so
		if m, _, err := d.Office.ReadMessage(id); err == nil && m.Conversation != name {
			http.Redirect(w, r, threadHref(m.Conversation, id), http.StatusSeeOther)
			return
		}
	}
	v, err := s.readThread(r.Context(), d, name, pieceOf(r.URL.Query()), mail.ID(r.URL.Query().Get("open")))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	q := r.URL.Query()
	q.Del("said")
	q.Set("part", "turns")
	v.Query = "/threads/" + url.PathEscape(name) + "?" + q.Encode()
	s.render(w, r, "thread", view{Title: v.Subject, Nav: "threads", Data: v})
}

// threadHref is a conversation at the place of one of its messages.
func threadHref(conversation string, at mail.ID) string {
	h := "/threads/" + url.PathEscape(conversation)
	if at != "" {
		h += "?at=" + url.QueryEscape(string(at)) + "#m-" + string(at)
	}
	return h
}

func (s *Site) readThread(ctx context.Context, d *cli.Desk, name string, p piece, open mail.ID) (*threadView, error) {
	if !mail.ValidConversation(name) {
		return nil, &mail.Error{Op: "show thread", Kind: mail.KindNotFound, Addr: mail.Neutralise(name, false), Err: errors.New("is no conversation"), Hint: "look for it among the threads"}
	}
	v := &threadView{Name: name, At: p.at, Open: open}
	var read turnsRead
	var err error
	v.Index, err = s.ask(ctx, d, func(x *search.Index) error {
		var err error
		read, err = fromIndex(ctx, x, name, p)
		return err
	})
	switch {
	case errors.Is(err, errNotWhole):
		v.Build = true
		read, err = fromJournal(d, name, p)
	case errors.As(err, new(indexBroken)):
		t := troubleOf(err.(indexBroken).error)
		v.Trouble = &t
		read, err = fromJournal(d, name, p)
	}
	if err != nil {
		return nil, err
	}
	if read.thread.Messages == 0 {
		return nil, &mail.Error{Op: "show thread", Kind: mail.KindNotFound, Addr: name, Err: errors.New("this office has no such conversation"), Hint: "look for it among the threads"}
	}
	notes, err := s.notesOf(d)
	if err != nil {
		return nil, err
	}
	v.fill(d, read, notes)
	return v, nil
}

// fill makes the view of what was read.
func (v *threadView) fill(d *cli.Desk, read turnsRead, notes openNotes) {
	v.Messages, v.Earlier, v.Lost = read.thread.Messages, read.earlier, read.lost
	v.Later = max(0, v.Messages-v.Earlier-len(read.hits)-len(read.lost))
	v.Owed, v.Start = notes.debts[v.Name], read.thread.First
	if first, _, err := d.Office.ReadMessage(read.thread.First); err == nil {
		v.Subject = first.Subject
	}
	if strings.TrimSpace(v.Subject) == "" {
		v.Subject = v.Name
	}
	shown := map[string]bool{}
	for _, h := range read.hits {
		t := turnOf(d, h, notes, v)
		if t.Asked != nil {
			shown[t.Asked.ID] = true
		}
		v.Turns = append(v.Turns, t)
		for _, who := range append([]string{h.Message.From, h.Message.To}, h.Message.CC...) {
			if !slices.Contains(v.People, who) {
				v.People = append(v.People, who)
			}
		}
	}
	for _, a := range notes.waiting[v.Name] {
		if !shown[a.ID] {
			v.Waiting = append(v.Waiting, a)
		}
	}
}

// First and Last are the cursors of the pieces before and behind this one.
func (v *threadView) First() mail.ID { return v.Turns[0].ID }
func (v *threadView) Last() mail.ID  { return v.Turns[len(v.Turns)-1].ID }

// fromIndex reads a piece by the index.
func fromIndex(ctx context.Context, x *search.Index, name string, p piece) (turnsRead, error) {
	var out turnsRead
	r := search.Request{Query: search.Query{Terms: []search.Term{{Field: "thread", Value: name}}}, Limit: turnsPage, Above: p.before, Below: p.after}
	var head search.Found
	if p.at != "" { // some before the message, then it and what is behind it
		before := r
		before.Above, before.Limit = p.at, turnsPage/4
		var err error
		if head, err = x.Find(ctx, before); err != nil {
			return out, err
		}
		slices.Reverse(head.Hits)
		r.From, r.Limit = p.at, turnsPage-turnsPage/4
	}
	found, err := x.Find(ctx, r)
	if err != nil {
		return out, err
	}
	if r.Below == "" && r.From == "" {
		slices.Reverse(found.Hits)
	}
	out.hits = append(head.Hits, found.Hits...)
	out.lost = append(head.Doubtful, found.Doubtful...)
	if len(out.hits) == 0 {
		out.thread, err = x.Thread(ctx, name, "")
		return out, err
	}
	out.thread, err = x.Thread(ctx, name, out.hits[0].Message.ID)
	out.earlier = out.thread.Messages - out.thread.Fresh - 1
	return out, err
}

// fromJournal reads a piece as post thread does, by the whole journal.
func fromJournal(d *cli.Desk, name string, p piece) (turnsRead, error) {
	list, err := d.Thread(name)
	if err != nil {
		return turnsRead{}, err
	}
	from, to := cutPiece(list, p)
	out := turnsRead{earlier: from, thread: search.Thread{Name: name, Messages: len(list), First: list[0].ID, Last: list[len(list)-1].ID}}
	for _, m := range list[from:to] {
		out.hits = append(out.hits, search.Hit{Message: m})
	}
	return out, nil
}

// cutPiece says which messages of a whole conversation a piece is.
func cutPiece(list []*mail.Message, p piece) (from, to int) {
	at := func(id mail.ID) int {
		return slices.IndexFunc(list, func(m *mail.Message) bool { return m.ID == id })
	}
	switch {
	case p.before != "" && at(p.before) >= 0:
		to = at(p.before)
		return max(0, to-turnsPage), to
	case p.after != "" && at(p.after) >= 0:
		from = at(p.after) + 1
		return from, min(len(list), from+turnsPage)
	case p.at != "" && at(p.at) >= 0:
		from = max(0, at(p.at)-turnsPage/4)
		return from, min(len(list), from+turnsPage)
	}
	return max(0, len(list)-turnsPage), len(list)
}
