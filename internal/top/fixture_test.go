package top

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/standing"
)

func noon() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

func before(d time.Duration) time.Time { return noon().Add(-d) }

func ptr[T any](v T) *T { return &v }

const (
	reviewID = mail.ID("2026-11-30T11-58-00-000Z-0001-aaaaaaa1")
	askID    = mail.ID("2026-11-30T11-00-00-000Z-0002-bbbbbbb2")
	oldID    = mail.ID("2026-11-29T10-00-00-000Z-0003-ccccccc3")
)

func question() *approval.Approval {
	return &approval.Approval{ID: "ap-1111111111", Kind: policy.Question, Message: askID, Asker: "coder", AskerAID: "a-1", AddressedTo: "human",
		Digest: mail.Digest(strings.Repeat("0123456789abcdef", 4)), Conversation: "conv-1", Subject: "Ship it on Friday?", Why: "it is addressed to a person",
		Body:    "The tests are green.\n\nI would ship **today**, and watch it over the weekend.",
		Options: []string{"yes", "no"}, Created: before(time.Hour), Expires: noon().Add(6 * time.Hour)}
}

func floor() Floor {
	notice := approval.Approval{ID: "ap-2222222222", Kind: policy.Notice, Message: oldID, Asker: "", AddressedTo: "human", Subject: "Overdue: the page on vouchers", Created: before(5 * time.Hour)}
	release := approval.Approval{ID: "ap-3333333333", Kind: policy.Release, Message: oldID, Asker: "researcher", AskerAID: "a-2", AddressedTo: "coder", Subject: "Re: retry loop", Created: before(2 * time.Minute), Expires: noon().Add(20 * time.Minute)}
	return Floor{At: noon(), Last: 7,
		Waiting: []approval.Approval{notice, *question(), release},
		Agents: []standing.Agent{
			{AID: "a-1", Name: "coder", Runtime: "claude", Presence: standing.Busy, LastSeen: ptr(before(time.Minute)), Unread: 3, Oldest: ptr(before(5 * time.Minute)), Owes: 1, Notify: []string{"claude"}, Wake: &standing.Wake{Kind: "claude", State: standing.WakeOK}},
			{AID: "a-2", Name: "researcher", Runtime: "codex", Presence: standing.AtDialog, LastSeen: ptr(before(9 * time.Minute)), Evidence: "a permission question has been open since 9m ago", Unread: 12, Oldest: ptr(before(3 * time.Hour)), Owes: 2, Overdue: 1, Behind: "its oldest unread mail is 3h old", Notify: []string{"codex"}, Wake: &standing.Wake{Kind: "codex", State: standing.WakeFailing, Evidence: "no live session"}},
			{AID: "a-3", Name: "runner", Presence: standing.NotSeen, Notify: []string{"none"}},
		},
		Moves: []Move{
			{At: before(2 * time.Minute), N: 7, Event: journal.Delivered, ID: reviewID, From: "researcher", To: []string{"coder"}, Act: "request", Subject: "Review the retry loop"},
			{At: before(time.Hour), N: 6, Event: journal.Escalated, ID: askID, From: "coder", To: []string{office.Human}, Act: "query", Subject: "Ship it on Friday?", Approval: "ap-1111111111"},
			{At: before(26 * time.Hour), N: 2, Event: journal.Delivered, ID: oldID, From: "human", To: []string{"coder", "researcher", "runner"}, Act: "inform", Subject: "Good morning"},
			{At: before(27 * time.Hour), N: 1, Event: journal.Bounced, From: "runner", To: []string{""}, Subject: "it is not JSON"},
		},
		Debts: []mailbox.Owed{
			{Debt: policy.Debt{ID: oldID, Debtor: "a-2", Kind: policy.OwesAnswer, Escalated: true}, DebtorName: "researcher", CreditorName: "coder", Subject: "How many retries?", Late: 4 * time.Hour},
			{Debt: policy.Debt{ID: reviewID, Debtor: "a-1", Kind: policy.OwesAnswer}, DebtorName: "coder", CreditorName: "researcher", Late: -time.Hour},
		},
	}
}

// office of one question and one letter.
type fake struct {
	decided  []approval.Decision
	fail     error
	first    *approval.Decision // somebody else's
	question Question
	letter   Letter
	thread   []*mail.Message
}

func newFake() *fake {
	early := &mail.Message{ID: oldID, From: "researcher", To: "coder", Act: mail.Propose, Subject: "A release", Body: "On Friday?", CreatedAt: before(26 * time.Hour), Conversation: "conv-1"}
	ask := &mail.Message{ID: askID, From: "coder", To: "human", Act: mail.Query, Subject: "Ship it on Friday?", CreatedAt: before(time.Hour), Conversation: "conv-1"}
	m := &mail.Message{ID: reviewID, From: "researcher", To: "coder", Act: mail.Request, Subject: "Review the retry loop", Conversation: "conv-7", CreatedAt: before(2 * time.Minute),
		Body: "See `retry.go`.\n\n- the back-off\n- the jitter: it is a rather long line that does not fit into eighty columns at all, so it is broken"}
	return &fake{
		question: Question{Approval: question(), Thread: []*mail.Message{early, ask}},
		thread:   []*mail.Message{early, ask},
		letter: Letter{Next: []string{"coder owes researcher an answer, due in 3h"}, Life: &mailbox.Life{Message: m, Steps: []mailbox.Step{
			{At: m.CreatedAt, Event: "stored", Agent: "researcher", Evidence: "outbox of researcher, post 0.1.0"},
			{At: m.CreatedAt.Add(3 * time.Millisecond), Event: "delivered", Agent: "coder", Evidence: "journal", Record: 7},
			{At: m.CreatedAt.Add(time.Second), Event: "notified", Agent: "coder", Evidence: "the inbox socket of session 4711 took it", Record: 8, Detail: map[string]string{"adapter": "claude", "state": "notified"}},
		}}},
	}
}

func (f *fake) Letter(mail.ID) (Letter, error)         { return f.letter, f.fail }
func (f *fake) Thread(string) ([]*mail.Message, error) { return f.thread, f.fail }
func (f *fake) Question(string) (Question, error)      { return f.question, f.fail }
func (f *fake) Decide(_ context.Context, id string, d approval.Decision) (dispatch.Decided, error) {
	f.decided = append(f.decided, d)
	out := dispatch.Decided{Approval: f.question.Approval}
	switch {
	case f.fail != nil:
		return out, f.fail
	case f.first != nil:
		out.Decision = f.first
		return out, &mail.Error{Op: "decide", Kind: mail.KindConflict, Addr: id, Err: errors.New("rejected by human at 2026-11-30 11:59 UTC"), Hint: "the first decision stands"}
	}
	d.By, d.At, d.Verdict = "human", noon(), approval.VerdictAnswered
	out.Decision, out.Told = &d, true
	return out, nil
}

// screenOf is a screen of a size that shows the floor.
func screenOf(d Desk, w, h int, colour bool) Model {
	m := New(context.Background(), Options{Desk: d, Floors: make(chan Floor), Place: "~/shop/office", Colour: colour})
	return send(send(m, tea.WindowSizeMsg{Width: w, Height: h}), floorMsg(floor()))
}

// send hands a message over and performs what it asks of the office.
func send(m Model, msg tea.Msg) Model {
	next, cmd := m.Update(msg)
	m = next.(Model)
	if _, floor := msg.(floorMsg); floor || cmd == nil {
		return m // the next floor is the test's to send
	}
	switch found := cmd().(type) {
	case foundMsg, decidedMsg:
		return send(m, found)
	}
	return m
}

// press types keys: names, or text between spaces.
func press(m Model, keys string) Model {
	for _, k := range strings.Fields(keys) {
		m = send(m, keyOf(k))
	}
	return m
}

func keyOf(name string) tea.KeyPressMsg {
	codes := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift},
		"up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "space": {Code: tea.KeySpace, Text: " "}, "backspace": {Code: tea.KeyBackspace},
		"left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd}, "pgdown": {Code: tea.KeyPgDown}, "pgup": {Code: tea.KeyPgUp},
		"alt+enter": {Code: tea.KeyEnter, Mod: tea.ModAlt}, "ctrl+u": {Code: 'u', Mod: tea.ModCtrl}, "ctrl+w": {Code: 'w', Mod: tea.ModCtrl}, "ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "delete": {Code: tea.KeyDelete},
	}
	if k, ok := codes[name]; ok {
		return k
	}
	r := []rune(name)
	return tea.KeyPressMsg{Code: r[0], Text: name}
}

func shown(m Model) string { return strings.Join(m.screen(), "\n") }

func wants(t *testing.T, what string, m Model, parts ...string) {
	t.Helper()
	text := ansi.Strip(shown(m))
	if i := slices.IndexFunc(parts, func(p string) bool { return !strings.Contains(text, p) }); i >= 0 {
		t.Errorf("%s: no %q in\n%s", what, parts[i], text)
	}
}
