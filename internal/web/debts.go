package web

import (
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/router"
)

// debtsPage is how many debts the page shows at once.
const debtsPage = 50

// debtsView is the page Debts.
type debtsView struct {
	Rows  []debtRow
	All   int // debts
	Late  int
	Query template.URL // what keeps the list as it is
	Next  string       // cursor of the next page, "" if this is the last
	First bool
}

// debtRow is one debt.
type debtRow struct {
	ID               mail.ID
	Debtor, Creditor string // names
	DebtorAID        string
	Kind             policy.DebtKind
	Due              time.Time
	Late             bool
	Subject          string
	Reminded         time.Time // when last, zero: never
	Escalated        bool
	Creditors        bool // the creditor has a page
}

// What is what is owed.
func (d debtRow) What() string {
	if d.Kind == policy.OwesDone {
		return "the work agreed on"
	}
	return "an answer"
}

// debts shows the page Debts.
func (s *Site) debts(w http.ResponseWriter, r *http.Request) {
	o, err := s.open()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	all, err := s.debtsOf(o, func(policy.Debt) bool { return true })
	if err != nil {
		s.fail(w, r, err)
		return
	}
	book, err := o.Book()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	q := r.URL.Query()
	v := debtsView{All: len(all), First: q.Get("after") == ""}
	now := o.Sys.Now()
	for _, d := range all {
		if now.After(d.Due) {
			v.Late++
		}
	}
	var page []policy.Debt
	page, v.Next = pageOf(all, q.Get("after"))
	v.Rows = rowsOf(o, book, page)
	q.Del("part")
	q.Del("said")
	v.Query = template.URL(q.Encode())
	s.render(w, r, "debts", view{Title: "Debts", Nav: "debts", Data: v})
}

// debtsOf lists the open debts that are wanted, the earliest due first.
func (s *Site) debtsOf(o *office.Office, wanted func(policy.Debt) bool) ([]policy.Debt, error) {
	all, err := s.behind.memo.Debts(o)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(slices.Clone(all), func(d policy.Debt) bool { return !wanted(d) })
	slices.SortFunc(list, func(a, b policy.Debt) int { return strings.Compare(cursorOf(a), cursorOf(b)) })
	return list, nil
}

// cursorOf is a debt's place in the list.
func cursorOf(d policy.Debt) string {
	return d.Due.UTC().Format("20060102T150405.000") + "~" + string(d.ID) + "~" + d.Debtor
}

// pageOf is the page of the list behind a cursor, and the cursor of the next.
func pageOf(all []policy.Debt, after string) (page []policy.Debt, next string) {
	i := 0
	for i < len(all) && after != "" && cursorOf(all[i]) <= after {
		i++
	}
	page = all[i:]
	if len(page) > debtsPage {
		page = page[:debtsPage]
		next = cursorOf(page[debtsPage-1])
	}
	return page, next
}

func rowsOf(o *office.Office, book *registry.Registry, list []policy.Debt) []debtRow {
	now := o.Sys.Now()
	var rows []debtRow
	for _, d := range list {
		row := debtRow{ID: d.ID, Debtor: nameOf(book, d.Debtor), Creditor: nameOf(book, d.Creditor), DebtorAID: d.Debtor, Kind: d.Kind,
			Due: d.Due, Late: now.After(d.Due), Reminded: d.LastReminded, Escalated: d.Escalated, Creditors: d.Creditor != ""}
		if d.Reminded && row.Reminded.Before(d.RemindedAt) {
			row.Reminded = d.RemindedAt
		}
		if m, _, err := o.ReadMessage(d.ID); err == nil {
			row.Subject = m.Subject
		}
		rows = append(rows, row)
	}
	return rows
}

// nameOf is the name of today of an aid; "" is a person.
func nameOf(book *registry.Registry, aid string) string {
	if aid == "" {
		return mail.NameHuman
	}
	if e, ok := book.EntryByAID(aid); ok {
		return e.Name
	}
	return aid
}

// remind asks a debtor again, as post remind does.
func (s *Site) remind(w http.ResponseWriter, r *http.Request) {
	s.order(w, r, router.Order{Force: r.PostForm.Get("again") != ""})
}

// waive forgives a debt, as post waive does.
func (s *Site) waive(w http.ResponseWriter, r *http.Request) {
	s.order(w, r, router.Order{Waive: true, Why: r.PostForm.Get("why")})
}

// order has a debt reminded or waived, and goes back to where that was asked.
func (s *Site) order(w http.ResponseWriter, r *http.Request, what router.Order) {
	d, err := s.desk()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if what.ID, err = mail.ParseID(r.PostForm.Get("id")); err != nil {
		s.fail(w, r, err)
		return
	}
	what.Debtor = r.PostForm.Get("debtor")
	patience := dispatch.Patience{Op: "change debts", For: s.Env.Patience, Sleep: s.Env.Sleep}
	done, _, err := d.Dispatcher().Order(r.Context(), patience, what)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var said []string
	for _, o := range done {
		if o.Err != nil && len(done) == 1 {
			s.fail(w, r, o.Err)
			return
		}
		said = append(said, orderedWords(o, nameOf(d.Registry, o.Debt.Debtor), nameOf(d.Registry, o.Debt.Creditor)))
	}
	s.goOn(w, r, onlyPath(r.PostForm.Get("here")), said...)
}

// orderedWords says what became of an order.
func orderedWords(o router.Ordered, debtor, creditor string) string {
	var text string
	switch {
	case o.Err != nil:
		return troubleOf(o.Err).What
	case o.Already:
		return "Waived before: " + debtor + " owes " + creditor + " nothing for that."
	case o.Waive:
		text = "Waived: " + debtor + " owes " + creditor + " nothing more for that"
	default:
		text = "Reminded: " + debtor + ", of what it owes " + creditor
	}
	if _, station := mail.SplitStation(debtor); station != "" && !o.Told {
		return text + ". The link tells " + debtor + "."
	}
	if !o.Told {
		return text + ". The next pass tells " + debtor + "."
	}
	return text + "."
}
