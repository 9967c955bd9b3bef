package mail

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// DigestOf returns the digest of a file's bytes.
func DigestOf(data []byte) Digest {
	sum := sha256.Sum256(data)
	return Digest(hex.EncodeToString(sum[:]))
}

// Valid reports whether d is a SHA-256 in lower-case hex.
func (d Digest) Valid() bool { return len(d) == 2*sha256.Size && lowerHex(string(d)) }

// ContentKey returns the key under which sending the same thing twice is
// noticed (design §6): the hex SHA-256 over sender, recipients (to, then cc
// sorted), act, subject, body and in_reply_to, each with its length before it.
// Nothing that stamping adds has a part in it.
func ContentKey(m *Message) string {
	cc := slices.Sorted(slices.Values(m.CC))
	b := make([]byte, 0, 256+len(m.Body))
	b = appendSized(b, m.From)
	b = appendSized(b, m.To)
	b = append(b, byte(len(cc)>>24), byte(len(cc)>>16), byte(len(cc)>>8), byte(len(cc)))
	for _, c := range cc {
		b = appendSized(b, c)
	}
	b = appendSized(b, string(cmp.Or(m.Act, Inform)))
	b = appendSized(b, m.Subject)
	b = appendSized(b, m.Body)
	b = appendSized(b, string(m.InReplyTo))
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
