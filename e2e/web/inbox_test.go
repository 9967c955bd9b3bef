//go:build e2e

package web

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

const (
	sayNo       = `form.decide button[value="no"]`
	answerWords = `form.decide button[value="words"]`
)

// TestInbox decides what waits, one by one: a release by its option, a question
// in words, one with a no, a notice by reading it.
func TestInbox(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 160)
	p.serve()
	b := p.enter()
	waiting := len(p.approvals())

	release := p.approvalOf("release")
	b.open("/inbox")
	b.click(`main a[href="/inbox/` + release + `"]`)
	b.shows("promocode")        // the message itself
	b.shows("is held")          // why it waits
	b.shows("What led to this") // who said what
	b.shows("campaign")         // the whole thread
	b.click(`button[name="choice"][value="deliver"]`)
	b.tells("allowed")
	if d := p.decision(release); word(d, "choice") != "deliver" || word(d, "by") != "human" {
		t.Errorf("the release was decided as %v", d)
	}
	message := word(p.rows("approvals", release)[0], "message")
	if out := p.post("", "trace", message, "--as", "human"); !strings.Contains(out, "delivered") {
		t.Errorf("the released message: %s", out)
	}

	question := p.ask("lead", "Which colour?", "Red or green?")
	b.open("/inbox/" + question)
	b.click(answerWords)
	b.shows("nothing was chosen") // empty words are no answer
	b.fill("#text", "Green.\nIt always is.")
	b.click(answerWords)
	b.tells("answered")
	if d := p.decision(question); word(d, "text") != "Green.\nIt always is." || word(d, "verdict") != "answered" {
		t.Errorf("the question was decided as %v", d)
	}
	if got := p.answers(question); got != 1 {
		t.Errorf("lead has %d answers", got)
	}

	id := word(p.rowsAs("planner", "send", "human", "--act", "query", "-s", "Which first?", "-m", "Only one of them today.", "--option", "the page", "--option", "no: neither")[0], "approval")
	b.open("/inbox/" + id)
	b.click(`button[name="choice"][value="the page"]`)
	b.tells("answered")
	if d := p.decision(id); word(d, "choice") != "the page" {
		t.Errorf("the option was decided as %v", d)
	}

	refused := p.ask("lead", "May I?", "Just this once.")
	b.open("/inbox/" + refused)
	b.fill("#text", "No.")
	b.click(sayNo)
	b.tells("rejected")
	if out, code := p.try("Just this once.", "send", "human", "--act", "query", "-s", "May I?", "--as", "lead", "--again"); code == 0 || !strings.Contains(out, "already refused") {
		t.Errorf("the same question again: exit %d, %s", code, out)
	}

	notice := p.approvalOf("notice")
	b.open("/inbox/" + notice)
	b.click("form.decide button[data-option]")
	b.tells("read")
	p.decided(notice)

	b.open("/inbox")
	if got := len(p.approvals()); got != waiting-2 {
		t.Errorf("%d wait of %d", got, waiting)
	}
	b.until("the count is right", fmt.Sprintf(`document.querySelector('.nav .count').innerText.trim().startsWith('%d')`, waiting-2))
	b.shows("Decided lately")
	b.clean()
}

// tells waits until the page of an approval tells how it was decided.
func (b *tab) tells(verdict string) {
	b.t.Helper()
	b.until("it is "+verdict, fmt.Sprintf(`[...document.querySelectorAll('.decided .tag')].some(e => e.innerText.trim() === %q)`, verdict))
}

// ask puts a question before the person, and returns its approval.
func (p *place) ask(from, subject, body string) string {
	p.t.Helper()
	id := p.send(from, "human", "query", subject, body)
	for _, a := range p.rows("approvals") {
		if word(a, "message") == id {
			return word(a, "id")
		}
	}
	p.t.Fatalf("%s waits for nobody", id)
	return ""
}

// answers counts the messages that tell the asker what was decided.
func (p *place) answers(approval string) (n int) {
	p.t.Helper()
	message := word(p.rows("approvals", approval)[0], "message")
	files, err := filepath.Glob(filepath.Join(p.dir, "messages", "*", "*.json"))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, f := range files {
		var m struct {
			From      string
			InReplyTo string `json:"in_reply_to"`
		}
		data, err := os.ReadFile(f)
		if err == nil && json.Unmarshal(data, &m) == nil && m.From == "human" && m.InReplyTo == message {
			n++
		}
	}
	return n
}

// TestDoubleClick: a button that is pressed twice decides once.
func TestDoubleClick(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 0)
	p.serve()
	b := p.enter()
	for i := range 3 {
		id := p.ask("lead", fmt.Sprint("Twice? ", i), "x")
		b.open("/inbox/" + id)
		b.fill("#text", "once")
		ctx, stop := b.within()
		b.must("double click", chromedp.Do(ctx, chromedp.DoubleClick(chromedp.CSS(answerWords))))
		stop()
		b.tells("answered")
		p.decided(id)
		b.lacks("Too late")
		if got := p.answers(id); got != 1 {
			t.Errorf("%d answers", got)
		}
	}
	b.clean()
}

// TestTwoBrowsers: two people decide at the same moment; one decision stands, and
// both pages say which.
func TestTwoBrowsers(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 0)
	p.serve()
	one, two := p.enter(), p.enter()
	for i := range 3 {
		id := p.ask("lead", fmt.Sprint("Which of you? ", i), "x")
		one.open("/inbox/" + id)
		two.open("/inbox/" + id)
		one.fill("#text", "words of the first")
		two.fill("#text", "words of the second")
		together(func() { one.click(answerWords) }, func() { two.click(sayNo) })
		p.decided(id)
		d := p.decision(id)
		for _, b := range []*tab{one, two} {
			b.tells(word(d, "verdict"))
			b.shows(word(d, "text"))
			b.shows("The first decision stands")
		}
		if got := p.answers(id); got != 1 {
			t.Errorf("%d answers", got)
		}
	}
	one.clean()
	two.clean()
}

// together runs two things at the same time.
func together(fns ...func()) {
	var wait sync.WaitGroup
	for _, fn := range fns {
		wait.Go(fn)
	}
	wait.Wait()
}

// TestShellAndPage: post answer and the page decide at the same moment.
func TestShellAndPage(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 0)
	p.serve()
	b := p.enter()
	for i := range 3 {
		id := p.ask("lead", fmt.Sprint("Here or there? ", i), "x")
		b.open("/inbox/" + id)
		b.fill("#text", "from the page")
		var said string
		var code int
		together(func() { b.click(answerWords) },
			func() { said, code = p.try("", "answer", id, "-m", "from a shell", "--as", "human") })
		p.decided(id)
		text := word(p.decision(id), "text")
		if (code == 0) != (text == "from a shell") {
			t.Errorf("post answer exits %d and says %q; decided is %q", code, said, text)
		}
		b.tells("answered")
		b.shows(text)
		if got := p.answers(id); got != 1 {
			t.Errorf("%d answers", got)
		}
	}
	b.clean()
}

// TestDecidedMeanwhile: a page that is open shows what was decided elsewhere; one
// without script is told when it comes too late, and keeps what was typed.
func TestDecidedMeanwhile(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 0)
	p.serve()
	b, old := p.enter(), p.enter()
	id := p.ask("lead", "Still open?", "x")
	b.open("/inbox/" + id)
	b.listens()
	old.noScript()
	old.open("/inbox/" + id)
	old.fill("#text", "my late words")
	p.post("", "answer", id, "-m", "decided in a shell", "--as", "human")
	b.shows("decided in a shell")
	b.until("the form is gone", `!document.querySelector('form.decide')`)
	old.click(answerWords)
	old.shows("decided in a shell")
	old.shows("The first decision stands")
	if got := word(p.decision(id), "text"); got != "decided in a shell" {
		t.Errorf("decided is %q", got)
	}
	b.clean()
}
