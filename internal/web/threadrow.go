package web

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/debt"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/search"
)

// threadRow is one conversation in a list.
type threadRow struct {
	Name     string
	Subject  string
	From, To string // of its beginning
	Messages int    // 0: not known
	Last     time.Time
	Speaker  string // who wrote what came last
	Act      mail.Act
	Snippet  string
	Notes    []tag
	Lost     string // why the office cannot show it
}

// tag is a short word about something, and how loud it is: "", "good", "warn",
// "bad".
type tag struct{ Text, Tone string }

// snippetLook is how much of a text is looked at for its first line, in bytes.
const snippetLook = 1 << 10

// openNotes is what is open in the office, by conversation and by message.
type openNotes struct {
	waiting map[string][]approval.Approval
	debts   map[string][]mailbox.Owed
	byID    map[mail.ID][]mailbox.Owed
}

func (s *Site) notesOf(d *cli.Desk) (openNotes, error) {
	n := openNotes{waiting: map[string][]approval.Approval{}, debts: map[string][]mailbox.Owed{}, byID: map[mail.ID][]mailbox.Owed{}}
	open, err := approval.Open(d.Office.FS)
	if err != nil {
		return n, err
	}
	for _, a := range open {
		n.waiting[a.Conversation] = append(n.waiting[a.Conversation], a)
	}
	book, err := debt.Load(d.Office.FS)
	if err != nil {
		return n, err
	}
	for _, x := range book.Open(d.Office.Settings()) {
		o := d.OwedNow(x)
		n.debts[o.Conversation] = append(n.debts[o.Conversation], o)
		n.byID[o.ID] = append(n.byID[o.ID], o)
	}
	return n, nil
}

// row shows one conversation.
func (n openNotes) row(d *cli.Desk, t search.Thread) threadRow {
	row := threadRow{Name: t.Name, Messages: t.Messages, Notes: n.tags(t.Name)}
	first, _, err := d.Office.ReadMessage(t.First)
	if err != nil {
		row.Lost = "its first message cannot be read: post verify"
	} else {
		row.Subject, row.From, row.To, row.Last, row.Speaker, row.Act = first.Subject, first.From, first.To, first.CreatedAt, first.From, first.Act
	}
	last, _, err := d.Office.ReadMessage(t.Last)
	switch {
	case err != nil:
		row.Lost = "its newest message cannot be read: post verify"
	default:
		row.Last, row.Speaker, row.Act = last.CreatedAt, last.From, last.Act
		row.Snippet = cut(last.Body[:min(len(last.Body), snippetLook)], 160)
		if first == nil {
			row.Subject = last.Subject
		}
	}
	return row
}

// tags say what a conversation waits for: a person first, then what is late.
func (n openNotes) tags(conversation string) (out []tag) {
	notices := 0
	for _, a := range n.waiting[conversation] {
		if a.Kind == policy.Notice {
			notices++
		}
	}
	switch w := len(n.waiting[conversation]) - notices; {
	case w == 1:
		out = append(out, tag{"waits for a person", "accent"})
	case w > 1:
		out = append(out, tag{plural(w, "", "questions") + " wait for a person", "accent"})
	case notices > 0:
		out = append(out, tag{"for a person to read", ""})
	}
	owed := slices.Clone(n.debts[conversation])
	slices.SortStableFunc(owed, func(a, b mailbox.Owed) int { return int(b.Late - a.Late) })
	for i, o := range owed {
		if i == 2 && len(owed) > 3 {
			return append(out, tag{plural(len(owed)-i, "", "more") + " owe an answer", ""})
		}
		out = append(out, owedTag(o))
	}
	return out
}

func owedTag(o mailbox.Owed) tag {
	t := tag{Text: o.DebtorName + " owes " + o.What() + ", " + o.Lateness()}
	switch {
	case o.Escalated:
		t.Tone = "bad"
	case o.Late >= 0 || o.Kind == policy.OwesDone && o.Reminded:
		t.Tone = "warn"
	}
	return t
}

// journalEnd is how much of the journal is read while there is no index, in bytes.
const journalEnd = 512 << 10

// recentThreads are the conversations of the journal's end, the newest first.
func recentThreads(d *cli.Desk) ([]search.Thread, error) {
	var f journal.Follower
	if err := f.Back(d.Office.FS, journalEnd); err != nil {
		return nil, err
	}
	byName := map[string]*search.Thread{}
	var order []string
	err := f.Next(d.Office.FS, func(r journal.Record) error {
		if r.Conversation == "" || !r.ID.Valid() || !slices.Contains([]string{journal.Delivered, journal.Redelivered, journal.Escalated, journal.Bounced}, r.Event) {
			return nil
		}
		t := byName[r.Conversation]
		if t == nil {
			t = &search.Thread{Name: r.Conversation, First: r.ID}
			byName[r.Conversation] = t
		}
		t.Last, t.Fits = r.ID, r.ID
		order = append(slices.DeleteFunc(order, func(n string) bool { return n == r.Conversation }), r.Conversation)
		if len(order) > 10*threadsPage {
			delete(byName, order[0])
			order = order[1:]
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) && mail.KindOf(err) != mail.KindCorrupt {
		return nil, err
	}
	var out []search.Thread
	for _, name := range slices.Backward(order) {
		if len(out) < threadsPage {
			out = append(out, *byName[name])
		}
	}
	return out, nil
}
