package natslink

import (
	"strings"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// User is what a station shows the hub: the JWT that it got when it joined, and
// its own key.
type User struct {
	JWT  string
	Seed string // an nkey seed, SU…
}

// UserOf finds the JWT of a key among those of a text, one a line: while a key is
// being replaced there are two. Without one that fits it is the whole text.
func UserOf(text, seed string) User {
	u := User{JWT: strings.TrimSpace(text), Seed: seed}
	kp, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return u
	}
	key, err := kp.PublicKey()
	if err != nil {
		return u
	}
	for token := range strings.FieldsSeq(text) {
		if KeyOf(token) == key {
			u.JWT = token
		}
	}
	return u
}

// KeyOf is the key that a user's JWT is for, "" if it is none.
func KeyOf(token string) string {
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil {
		return ""
	}
	return claims.Subject
}
