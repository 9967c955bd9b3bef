package natslink_test

import (
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/postroom/postroom/internal/link/natslink"
)

// TestUserOf: while a key is replaced there is a JWT for whichever key is there.
func TestUserOf(t *testing.T) {
	t.Parallel()
	account, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	var tokens, seeds [2]string
	for i := range tokens {
		kp, err := nkeys.CreateUser()
		if err != nil {
			t.Fatal(err)
		}
		key, err := kp.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		seed, err := kp.Seed()
		if err != nil {
			t.Fatal(err)
		}
		seeds[i] = string(seed)
		if tokens[i], err = jwt.NewUserClaims(key).Encode(account); err != nil {
			t.Fatal(err)
		}
		if natslink.KeyOf(tokens[i]) != key {
			t.Error("another key")
		}
	}
	for i, seed := range seeds {
		if u := natslink.UserOf(tokens[0]+"\n"+tokens[1]+"\n", seed); u.JWT != tokens[i] || u.Seed != seed {
			t.Errorf("%d: %+v", i, u)
		}
	}
	if u := natslink.UserOf(" x \n", seeds[0]); u.JWT != "x" {
		t.Errorf("%+v", u)
	}
	if natslink.KeyOf("x") != "" {
		t.Error("x is for a key")
	}
}
