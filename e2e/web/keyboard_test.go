//go:build e2e

package web

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestKeyboard: every page is reached, and an approval is found, read and decided
// without a mouse.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 160)
	p.serve()
	b := p.enter()
	for _, k := range []struct{ keys, path string }{
		{"gi", "/inbox"}, {"gt", "/threads"}, {"ga", "/agents"}, {"gd", "/debts"}, {"gh", "/health"}, {"gf", "/"}, {"c", "/compose"},
	} {
		b.keys(k.keys)
		b.until(k.keys+" goes to "+k.path, `location.pathname === '`+k.path+`' && document.readyState === 'complete'`)
		b.keys(kb.Escape) // a page that begins in a field
	}
	b.open("/")
	b.keys("?")
	b.until("? shows the keys", `document.querySelector('dialog[open]')`)
	b.keys(kb.Escape)
	b.until("Escape shuts them", `!document.querySelector('dialog[open]')`)
	b.keys("/")
	b.until("/ goes to the search", `document.activeElement.matches('input[type=search]')`)
	b.keys("index" + kb.Enter)
	b.until("Enter searches", `location.pathname === '/search' && document.readyState === 'complete'`)
	b.shows("index")

	// Down a list, into an item, and back.
	b.keys("gt")
	b.until("the threads", `location.pathname === '/threads' && document.readyState === 'complete'`)
	b.keys("jj")
	b.until("j goes down", `document.activeElement.closest('main') && document.activeElement !== document.querySelector('main')`)
	b.keys(kb.Enter)
	b.until("Enter opens", `/^\/threads\/./.test(location.pathname) && document.readyState === 'complete'`)
	b.keys("u")
	b.until("u goes back", `location.pathname === '/threads' && document.readyState === 'complete'`)

	// The focus is always to be seen, on every page.
	for _, pg := range []string{"/", "/inbox", "/threads", "/agents", "/debts", "/health", "/compose", "/search?q=index"} {
		b.open(pg)
		for range 12 {
			b.keys(kb.Tab)
			if fault := eval[string](b, unseen); fault != "" {
				t.Errorf("%s: the focus cannot be seen: %s", pg, fault)
			}
		}
	}
	b.clean()
}

// unseen describes what has the focus, if nothing on it or around it shows that it
// has.
const unseen = `(() => {
  const e = document.activeElement;
  if (!e || e === document.body) return '';
  const ring = (x, part) => { const s = getComputedStyle(x, part); return s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0; };
  const r = e.getBoundingClientRect();
  const around = [e, e.closest('li'), e.closest('tr'), e.closest('label')].filter(x => x);
  return (around.some(x => ring(x)) || ring(e, '::after')) && r.width > 0 && r.height > 0 ? '' : e.outerHTML.slice(0, 120);
})()`

// TestKeyboardDecides decides a release by its option, and a question by text.
func TestKeyboardDecides(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 160)
	p.serve()
	b := p.enter()
	release := p.approvalOf("release")
	b.open("/inbox")
	b.tabTo("the release", `at.getAttribute('href') === '/inbox/`+release+`'`)
	b.keys(kb.Enter)
	b.until("Enter opens it", `location.pathname === '/inbox/`+release+`' && document.readyState === 'complete'`)
	b.keys("1")
	b.until("1 chooses the first option", `document.activeElement.matches('[data-option]')`)
	b.keys(kb.Enter)
	b.tells("allowed") // the page has come back, too
	if choice := p.decision(release)["choice"]; choice != "deliver" {
		t.Errorf("the release was decided as %v", choice)
	}

	question := p.approvalOf("question")
	b.open("/inbox/" + question)
	b.tabTo("the text", `at.matches('textarea')`)
	b.keys("The 18th, by keyboard.")
	b.tabTo("the button", `at.matches('button') && /answer/i.test(at.innerText)`)
	b.keys(kb.Enter)
	b.tells("answered")
	if text := word(p.decision(question), "text"); !strings.Contains(text, "by keyboard") {
		t.Errorf("the answer is %q", text)
	}
	b.clean()
}
