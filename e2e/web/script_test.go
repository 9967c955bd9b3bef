//go:build e2e

package web

import (
	"strings"
	"testing"
)

// TestNoScript: without script everything is read, answered and sent.
func TestNoScript(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 160)
	p.serve()
	b := p.newTab()
	b.noScript()
	b.use(p.link())
	for _, pg := range []struct{ path, text string }{
		{"/", "backend"}, {"/inbox", "Which date do we promise"}, {"/threads", "voucher"}, {"/agents", "reads every change"},
		{"/agents/writer", "writes the manual"}, {"/debts", "The page on vouchers"}, {"/search?q=promocode", "voucher"},
	} {
		b.open(pg.path)
		b.shows(pg.text)
	}
	until(t, "the doctor has looked", func() bool {
		b.open("/health")
		return strings.Contains(b.text(), "doctor --fix")
	})
	b.open("/threads")
	b.click(`main a[href^="/threads/"]`)
	b.until("a thread is open", `/^\/threads\/./.test(location.pathname)`)

	question := p.approvalOf("question")
	b.open("/inbox/" + question)
	b.fill("#text", "Without script.")
	b.click(answerWords)
	b.tells("answered")
	p.decided(question)

	b.open("/compose")
	b.fill("#to", "lead")
	b.fill("#body", "Sent without script.")
	b.click(`button[value="preview"]`)
	b.shows("Who gets it")
	b.click(`button[value="send"]`)
	b.until("it is sent", `!document.querySelector('button[value="send"]')`)
	if got := p.inbox("lead"); len(got) == 0 || word(got[len(got)-1], "subject") != "Sent without script." {
		t.Errorf("lead has %v", got)
	}

	// The theme is a form, too.
	b.click(`button[name="theme"][value="dark"]`)
	b.until("it is dark", `document.documentElement.dataset.theme === 'dark'`)
	b.clean()
}
