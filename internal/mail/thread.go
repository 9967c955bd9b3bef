package mail

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	conversationPrefix = "conv-"
	conversationDigits = 10
	conversationMax    = 64
)

// NewConversation names the conversation that begins with the message id, such
// as "conv-7f3a91c04e". The same id always gives the same name, so stamping a
// message again after a crash opens no second conversation.
func NewConversation(id ID) string {
	sum := sha256.Sum256([]byte("conversation\n" + id))
	return conversationPrefix + hex.EncodeToString(sum[:])[:conversationDigits]
}

// ValidConversation reports whether s may name a conversation: one to 64
// letters, digits, dots, hyphens and underscores of ASCII, the first a letter
// or digit, without "..". Authors may choose their own.
func ValidConversation(s string) bool {
	if s == "" || len(s) > conversationMax || strings.Contains(s, "..") {
		return false
	}
	for i, c := range []byte(s) {
		alnum := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !alnum && (i == 0 || c != '.' && c != '-' && c != '_') {
			return false
		}
	}
	return true
}
