//go:build e2e

package web

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestCompose: who gets it is shown before anything is sent, and then it is sent
// to those, once.
func TestCompose(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 0)
	p.serve()
	b := p.enter()

	// To one agent.
	b.write("lead", "request", "From a person", "Please **look** at <script>this</script>.")
	b.click(`button[value="preview"]`)
	b.shows("Who gets it")
	b.shows("owes an answer")
	if got := p.inbox("lead"); len(got) > 0 {
		t.Errorf("sent before it was confirmed: %v", got)
	}
	b.click(`button[value="edit"]`)
	b.until("it can be changed", `document.querySelector('#subject')?.value === 'From a person'`)
	b.fill("#subject", kb.End+", twice read")
	b.click(`button[value="preview"]`)
	b.shows("Who gets it")
	b.until("the text is shown as it will be read", `[...document.querySelectorAll('.md strong')].some(e => e.innerText === 'look')`)
	b.click(`button[value="send"]`)
	b.until("it is sent", `!document.querySelector('button[value="send"]')`)
	if got := p.inbox("lead"); len(got) != 1 || word(got[0], "subject") != "From a person, twice read" || word(got[0], "from") != "human" {
		t.Errorf("lead has %v", got)
	}

	// To a channel, and to everybody.
	b.write("builders", "inform", "To the builders", "x")
	b.click(`button[value="preview"]`)
	for _, name := range []string{"backend", "frontend", "database", "release"} {
		b.shows(name)
	}
	b.shows("Send to 4 agents")
	b.click(`button[value="send"]`)
	b.until("it is sent", `!document.querySelector('button[value="send"]')`)
	if got := p.inbox("release"); len(got) != 1 {
		t.Errorf("release has %v", got)
	}
	b.write("all", "inform", "To all", "x")
	b.click(`button[value="preview"]`)
	b.shows("Send to 12 agents")

	// To somebody who is nobody: said, with what was written kept.
	b.write("leed", "inform", "To nobody", "the text stays")
	b.click(`button[value="preview"]`)
	b.shows("lead")
	b.until("what was written is kept", `document.querySelector('#body')?.value.includes('the text stays')`)
	if strings.Contains(b.text(), "Who gets it") {
		t.Error("a message to nobody can be sent")
	}
	b.clean()
}

// write fills the form of a new message.
func (b *tab) write(to, act, subject, body string) {
	b.t.Helper()
	b.open("/compose")
	b.fill("#to", to)
	eval[string](b, `document.querySelector('#act').value = '`+act+`'`)
	b.fill("#subject", subject)
	b.fill("#body", body)
}

// inbox is what is unread of an agent.
func (p *place) inbox(name string) []map[string]any {
	p.t.Helper()
	return p.rowsAs(name, "inbox")
}
