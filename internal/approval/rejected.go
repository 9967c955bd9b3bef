package approval

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/vfs"
)

// rejection is the file approvals/.rejected/<ask key>.json.
type rejection struct {
	V        int       `json:"v"`
	Approval string    `json:"approval"`
	At       time.Time `json:"at"`
	Text     string    `json:"text,omitempty"`
}

// Rejected returns a person's no to the question with that key (see
// mail.ContentKey) if it was said within window of now, else nil. One file is
// read, however many rejections there are.
//
// Errors: KindCorrupt, KindStore.
func Rejected(fsys vfs.FS, askKey string, now time.Time, window time.Duration) (*policy.Rejection, error) {
	if !validKey(askKey) {
		return nil, nil
	}
	r, err := loadRejection(fsys, askKey)
	// Either way round: a clock set back does not lift a rejection, and one
	// from a clock far ahead does not stand for ever.
	if err != nil || r == nil || now.Sub(r.At).Abs() >= window {
		return nil, err
	}
	return &policy.Rejection{Approval: r.Approval, At: r.At, Text: r.Text}, nil
}

func loadRejection(fsys vfs.FS, askKey string) (*rejection, error) {
	b, err := read(fsys, askKey, rejectedPath(askKey))
	if mail.KindOf(err) == mail.KindNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r rejection
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, brokenFile("read rejection", askKey, err)
	}
	if r.V != Version || !ValidID(r.Approval) || r.At.IsZero() {
		return nil, brokenFile("read rejection", askKey, errors.New("not a rejection"))
	}
	return &r, nil
}

func rejectedPath(askKey string) string { return rejectedDir + "/" + askKey + suffix }

// reject keeps a rejection for the next time the same question is put. A newer
// one stands. Repeated by Undone, so that a crash between decision and record does
// not lose it.
func reject(fsys vfs.FS, c *Closed) error {
	key := c.Approval.AskKey
	if c.Decision.Verdict != VerdictRejected || key == "" {
		return nil
	}
	known, err := loadRejection(fsys, key)
	if kind := mail.KindOf(err); err != nil && kind != mail.KindCorrupt {
		return err
	}
	if known != nil && (known.Approval == c.Approval.ID || known.At.After(c.Decision.At)) {
		return syncDir(fsys, rejectedDir)
	}
	text := c.Decision.Text
	if text == "" {
		text = c.Decision.Choice
	}
	b, err := file(rejection{V: Version, Approval: c.Approval.ID, At: c.Decision.At, Text: text})
	if err != nil {
		return brokenFile("write rejection", key, err)
	}
	return replace(fsys, rejectedDir, key, b)
}

func brokenFile(op, addr string, err error) error {
	return &mail.Error{Op: op, Kind: mail.KindCorrupt, Addr: addr, Err: fmt.Errorf("broken file: %w", err),
		Hint: `run "post doctor"`}
}
