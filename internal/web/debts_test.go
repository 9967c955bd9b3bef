package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/router"
)

// Pages follow one another without a gap or a repeat, whatever has the same due
// time.
func TestPageOfDebts(t *testing.T) {
	t.Parallel()
	var all []policy.Debt
	for i := range 2*debtsPage + 3 {
		all = append(all, policy.Debt{ID: mail.ID(fmt.Sprintf("id-%03d", i/2)), Debtor: fmt.Sprint("a-", i%2), Due: noon.Add(time.Duration(i/10) * time.Minute)})
	}
	var got []policy.Debt
	after, pages := "", 0
	for {
		page, next := pageOf(all, after)
		got = append(got, page...)
		if pages++; next == "" {
			break
		}
		after = next
	}
	if pages != 3 || !slices.Equal(got, all) {
		t.Errorf("%d pages with %d of %d", pages, len(got), len(all))
	}
	if page, next := pageOf(nil, "x"); len(page) != 0 || next != "" {
		t.Error(page, next)
	}
}

func TestOrderedWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    router.Ordered
		want string
	}{
		{router.Ordered{Told: true}, "Reminded: bob, of what it owes ann."},
		{router.Ordered{}, "Reminded: bob, of what it owes ann. The next pass tells bob."},
		{router.Ordered{Order: router.Order{Waive: true}, Told: true}, "Waived: bob owes ann nothing more for that."},
		{router.Ordered{Already: true}, "Waived before: bob owes ann nothing for that."},
	} {
		if got := orderedWords(c.o, "bob", "ann"); got != c.want {
			t.Errorf("%+v: %q", c.o, got)
		}
	}
}

// A person has a debt reminded, not twice within an hour, and waives it, from the
// page.
func TestDebtsPage(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann", "bob")
	t.Cleanup(p.site.Close)
	if page := p.ok("/debts"); !strings.Contains(page, "Nothing is owed") {
		t.Error(page)
	}
	id := p.Mail("ann", "bob", mail.Request, "Look", "…")
	page := p.ok("/debts")
	for _, want := range []string{"<b>1</b> debt", `href="/agents/bob"`, `href="/message/` + string(id) + `"`, `value="a-bob"`, "/debts/waive"} {
		if !strings.Contains(page, want) {
			t.Errorf("it lacks %q: %s", want, page)
		}
	}
	follow := func(w interface {
		Result() *http.Response
	}) string {
		t.Helper()
		if r := w.Result(); r.StatusCode != http.StatusSeeOther {
			t.Fatalf("%s", r.Status)
			return ""
		} else {
			return p.ok(r.Header.Get("Location"))
		}
	}
	fields := []string{"id", string(id), "debtor", "a-bob", "here", "/debts"}
	if page := follow(p.post("/debts/remind", fields...)); !strings.Contains(page, "Reminded: bob, of what it owes ann.") || !strings.Contains(page, "reminded <time") {
		t.Error(page)
	}
	if w := p.post("/debts/remind", fields...); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "What to do") {
		t.Errorf("again at once: %d %s", w.Code, w.Body)
	}
	if page := follow(p.post("/debts/waive", fields...)); !strings.Contains(page, "Waived: bob owes ann nothing more") || !strings.Contains(page, "Nothing is owed") {
		t.Error(page)
	}
	if w := p.post("/debts/remind", "id", "nonsense", "here", "/debts"); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("of no message: %d", w.Code)
	}
}
