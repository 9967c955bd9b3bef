package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/vfs"
)

// FuseKey names a fuse: 16 hex digits.
type FuseKey string

// ConversationFuse is the fuse of a conversation.
func ConversationFuse(conversation string) FuseKey { return fuseKey("conv:" + conversation) }

// AgentFuse is the fuse of one agent, over all its conversations.
func AgentFuse(aid string) FuseKey { return fuseKey("agent:" + aid) }

func fuseKey(s string) FuseKey {
	sum := sha256.Sum256([]byte(s))
	return FuseKey(hex.EncodeToString(sum[:8]))
}

// Fuse is the state of a fuse (design §7.3). The zero value is a whole fuse.
type Fuse struct {
	Approval    string    `json:"approval,omitempty"` // the release that waits, or that was decided last
	Blown       bool      `json:"blown"`
	Message     mail.ID   `json:"message,omitempty"`      // the one that blew it
	Allowed     int       `json:"allowed,omitempty"`      // turns granted on top of the conversation's cap
	AllowedHour int       `json:"allowed_hour,omitempty"` // the same for the agent's hourly cap
	ReleasedAt  time.Time `json:"released_at,omitzero"`
}

// State is what the rules need to know.
func (f Fuse) State() policy.FuseState {
	return policy.FuseState{Blown: f.Blown, Approval: f.Approval, Message: f.Message, Allowed: f.Allowed, AllowedHour: f.AllowedHour}
}

type fuseFile struct {
	V int `json:"v"`
	Fuse
}

// LoadFuse returns the fuse; a whole one if nothing is recorded. With an error
// (KindCorrupt, KindForeign, KindStore) it returns a blown fuse, so that a
// broken file lets no loop go on.
func LoadFuse(fsys vfs.FS, key FuseKey) (Fuse, error) {
	b, err := read(fsys, string(key), fusePath(key))
	if mail.KindOf(err) == mail.KindNotFound {
		return Fuse{}, nil
	}
	if err != nil {
		return Fuse{Blown: true}, err
	}
	var f fuseFile
	if err := json.Unmarshal(b, &f); err != nil {
		return Fuse{Blown: true}, brokenFile("read fuse", string(key), err)
	}
	if f.V > Version {
		return Fuse{Blown: true}, &mail.Error{Op: "read fuse", Kind: mail.KindForeign, Addr: string(key),
			Err: fmt.Errorf("format %d is newer than this tool", f.V), Hint: "update post"}
	}
	if f.V != Version || f.Allowed < 0 || f.AllowedHour < 0 {
		return Fuse{Blown: true}, brokenFile("read fuse", string(key), errors.New("not a fuse"))
	}
	return f.Fuse, nil
}

// SaveFuse records the fuse durably. Errors: KindStore.
func SaveFuse(fsys vfs.FS, key FuseKey, f Fuse) error {
	f.ReleasedAt = f.ReleasedAt.UTC()
	b, err := file(fuseFile{Version, f})
	if err != nil {
		return brokenFile("write fuse", string(key), err)
	}
	return replace(fsys, fuseDir, string(key), b)
}

func fusePath(key FuseKey) string { return fuseDir + "/" + string(key) + suffix }
