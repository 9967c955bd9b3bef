package web

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/spool"
)

// seenIn is what the form of an approval's page carries.
func (b browser) seenIn(id string) string {
	b.p.t.Helper()
	m := regexp.MustCompile(`name="seen" value="([0-9a-f]+)"`).FindStringSubmatch(b.ok("/inbox/" + id))
	if m == nil {
		b.p.t.Fatal("there is no form")
	}
	return m[1]
}

// put puts an approval of any kind before the person.
func (p *place) put(a approval.Approval) string {
	p.t.Helper()
	o := p.Office()
	lease, err := spool.AcquireLease(o.FS, spool.Holder{PID: 1})
	if err != nil {
		p.t.Fatal(err)
	}
	defer lease.Release()
	if _, err := approval.Create(o.FS, &a); err != nil {
		p.t.Fatal(err)
	}
	if err := approval.SyncDir(o.FS); err != nil {
		p.t.Fatal(err)
	}
	return a.ID
}

func (p *place) question(options ...string) approval.Approval {
	id := p.Mail("coder", "tester", mail.Request, "Deploy?", "Shall I **deploy** <b>it</b>?")
	_, data, err := p.Office().ReadMessage(id)
	if err != nil {
		p.t.Fatal(err)
	}
	now := p.Clock.Now()
	return approval.Approval{Kind: policy.Question, Message: id, Digest: mail.DigestOf(data), Asker: "coder", AskerAID: "a-coder",
		AddressedTo: mail.NameHuman, Conversation: "conv-1", Subject: "Deploy?", Body: "Shall I **deploy** <b>it</b>?",
		Options: options, Why: "coder needs a person's answer", Created: now, Expires: now.Add(24 * time.Hour)}
}

func (p *place) decision(id string) *approval.Decision {
	p.t.Helper()
	_, d, err := approval.Get(p.Office().FS, id)
	if err != nil {
		p.t.Fatal(err)
	}
	return d
}

// TestInbox shows what waits, oldest first, and what was decided.
func TestInbox(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder", "tester")
	if page := p.ok("/inbox"); !strings.Contains(page, "Nothing waits for you") || strings.Contains(page, "<b>0</b>") {
		t.Error(page)
	}
	first := p.ask("coder", "The first")
	p.Clock.Advance(time.Minute)
	second := p.ask("tester", "The second <script>alert(1)</script>")
	page := p.ok("/inbox")
	if a, b := strings.Index(page, first), strings.Index(page, second); a < 0 || b < a {
		t.Errorf("%d %d: %s", a, b, page)
	}
	if strings.Contains(page, "<script>alert") || !strings.Contains(page, "<title>(2) Inbox") {
		t.Error(page)
	}
	if part := p.ok("/inbox?part=count"); part != "<b>2</b><span class=\"hide\"> waiting</span>" {
		t.Error(part)
	}
	if part := p.ok("/inbox?part=list"); strings.Contains(part, "<html") || !strings.Contains(part, first) {
		t.Error(part)
	}
	if w := p.post("/inbox/"+first, "seen", p.seenIn(first), "text", "Yes,\r\nplease."); w.Code != http.StatusSeeOther {
		t.Fatal(w.Code, w.Body)
	} else if page := p.ok(w.Header().Get("Location")); !strings.Contains(page, "coder has the answer") || strings.Contains(page, "<form class=\"card decide\"") {
		t.Error(page)
	}
	if d := p.decision(first); d.Text != "Yes,\nplease." || d.Verdict != approval.VerdictAnswered || d.By != mail.NameHuman {
		t.Errorf("%+v", d)
	}
	page = p.ok("/inbox")
	if waits, done := strings.Index(page, second), strings.Index(page, first); waits < 0 || done < waits || !strings.Contains(page, "Decided lately") {
		t.Error(page)
	}
}

// TestApprovalPage shows all that a decision needs: the text, why, the digest
// and whether it still fits, options, expiry, the thread.
func TestApprovalPage(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder", "tester")
	a := p.question("Yes", "No, wait", "Not today")
	if m, _, err := p.Office().ReadMessage(a.Message); err == nil {
		a.Conversation = m.Conversation
	}
	id := p.put(a)
	page := p.ok("/inbox/" + id)
	for _, want := range []string{"<strong>deploy</strong>", "&lt;b&gt;it&lt;/b&gt;", `value="No, wait"`, `class="no"`, string(a.Digest), "is the same",
		"coder needs a person&#39;s answer", "Expires", "then it stays unanswered", "The whole thread", "coder</b> → tester", "Say no", "/message/" + string(a.Message)} {
		if !strings.Contains(page, want) {
			t.Errorf("it lacks %s:\n%s", want, page)
		}
	}
	p.Edit(p.Path(office.MessagePath(a.Message)), func(s string) string { return strings.Replace(s, "Shall", "shall", 1) })
	if page := p.ok("/inbox/" + id); strings.Contains(page, "is the same") || !strings.Contains(page, "not the one that was put before you") {
		t.Error(page)
	}
	if w := p.get("/inbox/ap-0000000000"); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "ap-0000000000") {
		t.Error(w.Code, w.Body)
	}
	p.Clock.Advance(23*time.Hour + time.Minute)
	if page := p.ok("/inbox"); !strings.Contains(page, ">soon<") {
		t.Error(page)
	}
	p.Clock.Advance(time.Hour)
	page = p.ok("/inbox/" + id)
	if !strings.Contains(page, "Its time is over") || strings.Contains(page, "<textarea") {
		t.Error(page)
	}
	w := p.post("/inbox/"+id, "seen", seen(mustGet(t, p, id)), "choice", "Yes")
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "Nobody decided in time") {
		t.Error(w.Code, w.Body)
	}
	if d := p.decision(id); d.Verdict != approval.VerdictExpired {
		t.Errorf("%+v", d)
	}
}

func mustGet(t *testing.T, p *place, id string) *approval.Approval {
	t.Helper()
	a, _, err := approval.Get(p.Office().FS, id)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestDecide: what each button means.
func TestDecide(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind    policy.AskKind
		options []string
		fields  []string
		status  int
		want    approval.Decision
	}{
		"an option":             {policy.Question, []string{"Yes", "No, wait"}, []string{"choice", "Yes"}, 303, approval.Decision{Choice: "Yes", Verdict: approval.VerdictAnswered}},
		"an option that is no":  {policy.Question, []string{"Yes", "No, wait"}, []string{"choice", "No, wait", "text", "later"}, 303, approval.Decision{Choice: "No, wait", Text: "later", Verdict: approval.VerdictRejected}},
		"words":                 {policy.Question, nil, []string{"text", "blue", "verdict", "words"}, 303, approval.Decision{Text: "blue", Verdict: approval.VerdictAnswered}},
		"no":                    {policy.Question, []string{"Yes"}, []string{"text", "why", "verdict", "no"}, 303, approval.Decision{Text: "why", Verdict: approval.VerdictRejected}},
		"yes":                   {policy.Question, nil, []string{"text", "on Monday", "verdict", "yes"}, 303, approval.Decision{Text: "Yes.\n\non Monday", Verdict: approval.VerdictAnswered}},
		"words that are none":   {policy.Question, nil, []string{"text", "  ", "verdict", "words"}, 422, approval.Decision{}},
		"an option that is not": {policy.Question, []string{"Yes"}, []string{"choice", "Maybe", "text", "typed before"}, 422, approval.Decision{}},
		"deliver":               {policy.Release, nil, []string{"choice", "deliver"}, 303, approval.Decision{Choice: "deliver", Verdict: approval.VerdictAllowed}},
		"stop":                  {policy.Release, nil, []string{"choice", "stop"}, 303, approval.Decision{Choice: "stop", Verdict: approval.VerdictRejected}},
		"release without":       {policy.Release, nil, []string{"text", "go"}, 422, approval.Decision{}},
		"read":                  {policy.Notice, nil, nil, 303, approval.Decision{Verdict: approval.VerdictRead}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, "coder", "tester")
			a := p.question(c.options...)
			if a.Kind = c.kind; c.kind == policy.Notice {
				a.Expires = time.Time{}
			}
			p.put(a)
			id := approval.IDFor(a.Kind, a.Message, a.Cause)
			w := p.post("/inbox/"+id, append([]string{"seen", p.seenIn(id)}, c.fields...)...)
			if w.Code != c.status {
				t.Fatal(w.Code, w.Body)
			}
			d := p.decision(id)
			if c.status != 303 {
				if d != nil || len(c.fields) > 3 && !strings.Contains(w.Body.String(), "typed before") && strings.Contains(fmt.Sprint(c.fields), "typed") {
					t.Errorf("%+v %s", d, w.Body)
				}
				return
			}
			if d == nil || d.Choice != c.want.Choice || d.Text != c.want.Text || d.Verdict != c.want.Verdict {
				t.Errorf("%+v, want %+v", d, c.want)
			}
		})
	}
}

// TestDecidedOnce: a double click, two browsers and the command line at once:
// one decision, everybody else hears whose, and the asker gets one answer.
func TestDecidedOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder", "tester")
	other := p.enter()
	for round := range 4 {
		id := p.ask("coder", fmt.Sprint("Round ", round))
		form := p.seenIn(id)
		var all sync.WaitGroup
		var mu sync.Mutex
		won := map[string]int{}
		note := func(who string, ok bool) {
			mu.Lock()
			defer mu.Unlock()
			if ok {
				won[who]++
			}
		}
		for who, b := range map[string]browser{"one": p.browser, "one again": p.browser, "two": other} {
			all.Go(func() {
				w := b.post("/inbox/"+id, "seen", form, "text", who)
				note(who, w.Code == http.StatusSeeOther)
				if w.Code != http.StatusSeeOther && (w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "The first decision stands")) {
					t.Errorf("%s: %d %s", who, w.Code, w.Body)
				}
			})
		}
		all.Go(func() {
			d := dispatch.New(p.Office(), notify.NewTable(notify.None{}), "post")
			_, err := d.Decide(context.Background(), id, approval.Decision{Text: "cli"}, p.site.patience())
			note("cli", err == nil)
			if kind := mail.KindOf(err); err != nil && kind != mail.KindConflict {
				t.Error(err)
			}
		})
		all.Wait()
		if len(won) != 1 {
			t.Fatalf("decided by %v", won)
		}
		p.Pass()
		d := p.decision(id)
		if won[d.Text] != 1 {
			t.Errorf("the record says %+v, %v was told so", d, won)
		}
		answers := 0
		items, err := p.Box("coder").List(false)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range items {
			if it.From == mail.NameHuman && strings.HasSuffix(it.Subject, fmt.Sprint("Round ", round)) {
				answers++
			}
		}
		if answers != 1 {
			t.Errorf("%d answers", answers)
		}
		if page := other.ok("/inbox/" + id); !strings.Contains(page, "by <b>human</b>") || strings.Contains(page, "<textarea") {
			t.Error(page)
		}
	}
}

// TestDecideWhatWasSeen: an approval that is not what the form had shown is not
// decided.
func TestDecideWhatWasSeen(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder")
	id := p.ask("coder", "Deploy?")
	form := p.seenIn(id)
	p.Edit(p.Path("approvals", id+".json"), func(s string) string { return strings.Replace(s, "Shall I?", "Shall I delete it?", 1) })
	for _, seen := range []string{form, "", "x"} {
		if w := p.post("/inbox/"+id, "seen", seen, "text", "yes"); w.Code != http.StatusConflict || p.decision(id) != nil {
			t.Errorf("%q: %d %s", seen, w.Code, w.Body)
		}
	}
	if w := p.post("/inbox/"+id, "seen", p.seenIn(id), "text", "yes"); w.Code != http.StatusSeeOther {
		t.Error(w.Code, w.Body)
	}
}

// TestBrokenApproval hides no other and can be looked at.
func TestBrokenApproval(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder")
	good := p.ask("coder", "Deploy?")
	p.Clock.Advance(time.Second)
	bad := p.ask("coder", "Torn")
	p.Edit(p.Path("approvals", bad+".json"), func(s string) string { return s[:40] })
	page := p.ok("/inbox")
	if !strings.Contains(page, good) || !strings.Contains(page, ">broken<") {
		t.Error(page)
	}
	if w := p.get("/inbox/" + bad); w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "post doctor") {
		t.Error(w.Code, w.Body)
	}
}

// TestApprovalThread: long texts are folded, and of a long thread the newest
// messages are shown.
func TestApprovalThread(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder", "tester")
	box := p.Box("coder")
	const shown = 40
	for i := range shown + 3 {
		d := mailbox.Draft{To: []string{"tester"}, Subject: fmt.Sprintf("Number %02d", i), Body: "short", Conversation: "conv-long", Again: true}
		if i == shown {
			d.Body = strings.Repeat("many words ", 1000) + "the end"
		}
		if _, err := box.Send(d); err != nil {
			t.Fatal(err)
		}
		p.Clock.Advance(time.Second)
	}
	p.Pass()
	a := p.question("Yes")
	a.Conversation = "conv-long"
	p.put(a)
	page := p.ok("/inbox/" + approval.IDFor(a.Kind, a.Message, a.Cause))
	if strings.Contains(page, "Number 02") || !strings.Contains(page, "Number 03") || !strings.Contains(page, "43 messages, the newest 40 are here") {
		t.Error(page)
	}
	if strings.Contains(page, "the end") || !strings.Contains(page, "Show all of it") {
		t.Error("the long text is not folded")
	}
}
