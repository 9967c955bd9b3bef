package natslink

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/postroom/postroom/internal/link"
)

// RevokedHeader stands at the card of a station that was thrown out. It is
// signed with the hub's key: a header alone could be brought under another
// station's subject by a hostile one, with the server's own answer to a request.
const RevokedHeader = "Postroom-Revoked"

// Revocation is the hub's word that a station is out.
type Revocation struct {
	Station string    `json:"station"`
	Key     string    `json:"key"` // the station's
	At      time.Time `json:"at"`
	Hub     []byte    `json:"hub"` // the hub's public key as in its certificate; its hash is the pin
	Sig     []byte    `json:"sig"`
}

func (r Revocation) signed(team Team) []byte {
	return []byte("postroom revocation 1\n" + string(team) + "\n" + r.Station + "\n" + r.Key + "\n" + r.At.UTC().Format(time.RFC3339Nano) + "\n")
}

// Revoke makes the header that marks a station's card.
func Revoke(team Team, station, key string, at time.Time, hub ed25519.PrivateKey) (string, error) {
	r := Revocation{Station: station, Key: key, At: at.UTC()}
	var err error
	if r.Hub, err = x509.MarshalPKIXPublicKey(hub.Public()); err != nil {
		return "", err
	}
	r.Sig = ed25519.Sign(hub, r.signed(team))
	data, err := json.Marshal(r)
	return base64.RawURLEncoding.EncodeToString(data), err
}

// card is what a message of the cards' stream says: the card, and whether it
// carries the hub's word that the station is out, with which key.
func (w *Wire) card(station string, m *nats.Msg) link.Card {
	c := link.Card{Data: m.Data}
	for _, mark := range m.Header.Values(RevokedHeader) {
		if r, ok := w.marks(station, mark); ok {
			c.Revoked, c.RevokedKey = true, r.Key
		}
	}
	return c
}

func (w *Wire) marks(station, mark string) (r Revocation, ok bool) {
	data, err := base64.RawURLEncoding.DecodeString(mark)
	if err != nil || w.o.Pin == "" {
		return r, false
	}
	if json.Unmarshal(data, &r) != nil || r.Station != station {
		return r, false
	}
	sum := sha256.Sum256(r.Hub)
	if hex.EncodeToString(sum[:]) != w.o.Pin {
		return r, false
	}
	key, err := x509.ParsePKIXPublicKey(r.Hub)
	pub, ok := key.(ed25519.PublicKey)
	return r, err == nil && ok && ed25519.Verify(pub, r.signed(w.o.Team), r.Sig)
}
