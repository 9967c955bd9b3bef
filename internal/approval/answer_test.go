package approval

import (
	"strings"
	"testing"

	"github.com/postroom/postroom/internal/mail"
)

func TestAnswerMessage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		a             *Approval
		d             Decision
		subject, body string
	}{
		{"answer", question(msgA), Decision{Choice: "Yes", Text: "go\n", Verdict: VerdictAnswered},
			"answered: Deploy?", "The answer is: Yes\n\ngo\n"},
		{"text", question(msgA), Decision{Text: "42", Verdict: VerdictAnswered},
			"answered: Deploy?", "The answer to your question:\n\n42\n"},
		{"no", question(msgA), Decision{Choice: "No, wait", Verdict: VerdictRejected},
			"rejected: Deploy?", "The answer is no: No, wait\n"},
		{"plain no", question(msgA), Decision{Verdict: VerdictRejected},
			"rejected: Deploy?", "The answer is no.\n"},
		{"unanswered", question(msgA), Decision{Verdict: VerdictExpired},
			"expired: Deploy?", "Nobody answered your question in time."},
		{"released", release(msgA), Decision{Choice: Deliver, Verdict: VerdictAllowed},
			"released: Deploy?", "A person released your message"},
		{"stopped", release(msgA), Decision{Choice: Stop, Text: "loop", Verdict: VerdictRejected},
			"stopped: Deploy?", "A person stopped your message. It was not delivered: do not send it again.\n\nloop\n"},
		{"release expired", release(msgA), Decision{Choice: Stop, Verdict: VerdictExpired},
			"stopped: Deploy?", "Nobody released your message in time. It was stopped and not delivered."},
		{"unread", notice(msgA), Decision{Verdict: VerdictExpired},
			"expired: Deploy?", "Nobody read your notice"},
	} {
		act, subject, body := AnswerMessage(Closed{*tt.a, tt.d})
		if act != mail.Inform || subject != tt.subject || !strings.HasPrefix(body, tt.body) {
			t.Errorf("%s: %s %q %q", tt.name, act, subject, body)
		}
	}
	if act, _, _ := AnswerMessage(Closed{*notice(msgA), Decision{Verdict: VerdictRead}}); act != "" {
		t.Errorf("a notice that was read is answered with %s", act)
	}
	a, b := question(msgA), release(msgA)
	a.ID, b.ID = "ap-0123456789", "ap-9876543210"
	if id := a.AnswerID(); !id.Valid() || id == msgA || id == b.AnswerID() || id != a.AnswerID() {
		t.Errorf("answer id %q", id)
	}
}
