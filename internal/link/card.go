package link

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/postroom/postroom/internal/mail"
)

// About is what a station says of itself on its card.
type About struct {
	V       int       `json:"v"`
	Team    string    `json:"team"`
	Station string    `json:"station"`
	Office  string    `json:"office"`
	Key     string    `json:"key"`   // public nkey; the card is signed with it
	Curve   string    `json:"curve"` // public key that others seal for
	At      time.Time `json:"at"`    // greater on a newer card
	Agents  []Agent   `json:"agents"`
	// Rotated has the keys before, oldest first: each vouches for the next one.
	Rotated []Rotated `json:"rotated,omitempty"`
}

// Agent is one agent of a station, as others see it.
type Agent struct {
	Name     string `json:"name"`
	AID      string `json:"aid"`
	Role     string `json:"role,omitempty"`
	Runtime  string `json:"runtime,omitempty"`
	Archived bool   `json:"archived,omitempty"`
}

// Rotated is the signature of one key over the next.
type Rotated struct {
	From string `json:"from"`
	To   string `json:"to"`
	Sig  []byte `json:"sig"`
}

const (
	cardDomain   = "postroom link card 1\n"
	rotateDomain = "postroom link key 1\n"
)

// vouch lets a key vouch for the next one.
func vouch(old nkeys.KeyPair, next string) (Rotated, error) {
	from, err := old.PublicKey()
	if err != nil {
		return Rotated{}, err
	}
	sig, err := old.Sign([]byte(rotateDomain + next))
	return Rotated{From: from, To: next, Sig: sig}, err
}

// signCard makes the bytes of a card.
func (k Keys) signCard(a About) ([]byte, error) {
	line, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	sig, err := k.Sign.Sign(append([]byte(cardDomain), line...))
	if err != nil {
		return nil, err
	}
	return append(append(line, '\n'), base64.StdEncoding.EncodeToString(sig)...), nil
}

// readCard takes a card apart and checks that it is signed with the key that it
// names, and that it is the station's and the team's. Whether that key is the
// right one is the peers' to say.
func readCard(data []byte, team, station string) (About, error) {
	var a About
	line, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok {
		return a, errors.New("it is no card")
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("it does not parse: %w", err)
	}
	sig, err := base64.StdEncoding.DecodeString(string(trim(rest)))
	if err != nil {
		return a, errors.New("its signature does not parse")
	}
	pub, err := nkeys.FromPublicKey(a.Key)
	switch {
	case err != nil || pub.Verify(append([]byte(cardDomain), line...), sig) != nil:
		return a, errors.New("its signature is wrong")
	case a.V != 1:
		return a, fmt.Errorf("it has the version %d, and this is 1: update postroom here", a.V)
	case a.Team != team || a.Station != station:
		return a, fmt.Errorf("it is the card of %s in %s", mail.Neutralise(a.Station, false), mail.Neutralise(a.Team, false))
	}
	return a, nil
}

// vouchedBy reports whether a chain of signatures leads from an earlier key to
// the card's.
func (a About) vouchedBy(key string) bool {
	good := map[string]bool{key: true}
	for _, r := range a.Rotated { // a rotation that was cut off leaves a branch that leads nowhere
		pub, err := nkeys.FromPublicKey(r.From)
		if good[r.From] && err == nil && pub.Verify([]byte(rotateDomain+r.To), r.Sig) == nil {
			good[r.To] = true
		}
	}
	return good[a.Key]
}
