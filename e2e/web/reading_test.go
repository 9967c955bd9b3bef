//go:build e2e

package web

import "testing"

// TestReading: the pages say what the commands say.
func TestReading(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 160)
	p.serve()
	b := p.enter()
	id, conversation := p.longest()

	b.open("/threads")
	b.shows("voucher")
	b.open("/threads/" + conversation)
	for _, m := range p.rows("thread", id) {
		b.shows(word(m, "from"))
	}
	b.shows("A discount is a number of percent")
	b.until("the code is code", `[...document.querySelectorAll('main code')].some(e => e.innerText === 'voucher')`)

	b.open("/message/" + id)
	for _, word := range []string{"backend", "frontend", "delivered", "read", "done", id[len(id)-8:]} {
		b.shows(word)
	}

	b.open("/search?q=voucher+from%3Abackend")
	b.until("the search finds", `document.querySelectorAll('main ol.list a.row').length > 0`)
	b.open("/search?q=xyzzy")
	b.until("and finds nothing", `document.readyState === 'complete' && !document.querySelector('main ol.list a.row')`)
	b.open("/search?q=from%3A")
	b.until("a bad query is told", `/from/.test(document.querySelector('main').innerText) && !document.querySelector('main ol.list a.row')`)

	b.open("/agents")
	for _, a := range p.rows("agents") {
		if archived, _ := a["archived"].(bool); !archived {
			b.shows(word(a, "name"))
		}
	}
	b.open("/agents/writer")
	b.shows("writes the manual")

	b.open("/debts")
	owed := p.rows("owed", "--all")
	if len(owed) < 4 {
		t.Fatalf("only %d debts", len(owed))
	}
	for _, d := range owed {
		if subject := word(d, "subject"); subject != "" {
			b.shows(subject)
		}
	}

	b.open("/health")
	b.shows("tester")
	b.shows("doctor --fix")
	b.clean()
}
