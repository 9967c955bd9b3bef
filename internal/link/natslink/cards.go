package natslink

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/postroom/postroom/internal/link"
)

const askTimeout = 10 * time.Second

// PutCard is link.Wire's.
func (w *Wire) PutCard(ctx context.Context, data []byte) error {
	if !w.State().Up {
		return w.down(nil)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	_, err := w.js.PublishMsg(ctx, &nats.Msg{Subject: w.o.Team.CardSubject(w.o.Station), Data: data})
	if err != nil {
		return w.refused(err)
	}
	return nil
}

// Cards is link.Wire's. One request brings them all, from whichever server has
// them.
func (w *Wire) Cards(ctx context.Context) (map[string]link.Card, error) {
	if !w.State().Up {
		return nil, w.down(nil)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	msgs, err := w.newest(ctx)
	if err != nil {
		return nil, err
	}
	cards := map[string]link.Card{}
	for _, m := range msgs {
		station := strings.TrimPrefix(m.Header.Get(jetstream.SubjectHeader), w.o.Team.CardSubject(""))
		if station == "" || strings.Contains(station, ".") {
			continue
		}
		cards[station] = link.Card{Data: m.Data, Revoked: w.revoked(station, m)}
	}
	return cards, nil
}

// newest asks for the last message of each card's subject (the batched form of
// JetStream's direct get, which nats.go has no call for).
func (w *Wire) newest(ctx context.Context) ([]*nats.Msg, error) {
	inbox := w.nc.NewInbox()
	sub, err := w.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, w.refused(err)
	}
	defer sub.Unsubscribe()
	ask, err := json.Marshal(map[string]any{"multi_last": []string{w.o.Team.CardSubject("*")}})
	if err != nil {
		return nil, err
	}
	if err := w.nc.PublishRequest("$JS.API.DIRECT.GET."+w.o.Team.CardStream(), inbox, ask); err != nil {
		return nil, w.refused(err)
	}
	var out []*nats.Msg
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, w.refused(err)
		}
		switch status := m.Header.Get("Status"); {
		case len(m.Data) > 0 || status == "":
			out = append(out, m)
		case status == "204", status == "404": // that was all; there is none
			return out, nil
		default:
			return nil, errors.New("the directory of stations: " + status + " " + m.Header.Get("Description"))
		}
	}
}

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

// revoked reports whether a card carries the hub's word that the station is out.
func (w *Wire) revoked(station string, m *nats.Msg) bool {
	data, err := base64.RawURLEncoding.DecodeString(m.Header.Get(RevokedHeader))
	if err != nil || len(data) == 0 || w.o.Pin == "" {
		return false
	}
	var r Revocation
	if json.Unmarshal(data, &r) != nil || r.Station != station {
		return false
	}
	sum := sha256.Sum256(r.Hub)
	if hex.EncodeToString(sum[:]) != w.o.Pin {
		return false
	}
	key, err := x509.ParsePKIXPublicKey(r.Hub)
	pub, ok := key.(ed25519.PublicKey)
	return err == nil && ok && ed25519.Verify(pub, r.signed(w.o.Team), r.Sig)
}
