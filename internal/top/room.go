package top

import (
	"context"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/standing"
)

// Room is the office that is looked at, by a person: whoever makes one has found
// out that it is one.
type Room struct {
	Office     *office.Office
	Dispatcher *dispatch.Dispatcher
	Patience   dispatch.Patience
	View       standing.View
}

// Letter is a message and its life.
type Letter struct {
	Life *mailbox.Life
	Next []string // who is to act
}

// Question is an approval with what led to it.
type Question struct {
	Approval *approval.Approval
	Decision *approval.Decision // nil: nobody has decided
	Thread   []*mail.Message    // its conversation, as far as the office has it
}

// person is the mailbox of the person who looks, with today's address book.
func (r *Room) person() (*mailbox.Mailbox, error) { return mailbox.Open(r.Office, office.Human) }

// Letter finds a message.
func (r *Room) Letter(id mail.ID) (Letter, error) {
	box, err := r.person()
	if err != nil {
		return Letter{}, err
	}
	life, err := box.Trace(id)
	if err != nil {
		return Letter{}, err
	}
	return Letter{Life: life, Next: box.Stands(life)}, nil
}

// Thread finds a conversation, oldest message first.
func (r *Room) Thread(conversation string) ([]*mail.Message, error) {
	box, err := r.person()
	if err != nil {
		return nil, err
	}
	return box.Thread(conversation)
}

// Question finds an approval. A thread that can't be read hides no question.
func (r *Room) Question(id string) (Question, error) {
	a, d, err := approval.Get(r.Office.FS, id)
	if err != nil {
		return Question{}, err
	}
	q := Question{Approval: a, Decision: d}
	if a.Conversation != "" {
		q.Thread, _ = r.Thread(a.Conversation)
	}
	return q, nil
}

// Decide decides an approval, as a person.
func (r *Room) Decide(ctx context.Context, id string, d approval.Decision) (dispatch.Decided, error) {
	return r.Dispatcher.Decide(ctx, id, d, r.Patience)
}

// Pass moves mail, so that it does without a daemon (design §3). What a pass
// can't do, a later one does.
func (r *Room) Pass(ctx context.Context) {
	r.Dispatcher.Pass(ctx, router.Options{Own: office.Human, All: true})
}
