package link

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nkeys"

	"github.com/postroom/postroom/internal/mail"
)

// Header is the first line of an envelope: whose it is, and the how manieth.
type Header struct {
	V    int    `json:"v"`
	Team string `json:"team"`
	Kind Kind   `json:"kind"`
	From string `json:"from"` // stations
	To   string `json:"to"`
	// Epoch and Seq number the mail from From to To, from 1 and without gaps within
	// an epoch. Receipts have none.
	Epoch  string  `json:"epoch,omitempty"`
	Seq    uint64  `json:"seq,omitempty"`
	ID     mail.ID `json:"id,omitempty"` // of the message
	Sealed bool    `json:"sealed,omitempty"`
}

// seqMost bounds a number in a sequence.
const seqMost = 1 << 48

// fault says what is wrong with a header, "" if nothing is: its words become file
// names and lines of ledgers.
func (h Header) fault() string {
	switch {
	case h.Kind != Mail && h.Kind != Receipt:
		return "it carries what is not known here: update postroom here"
	case h.Kind == Receipt:
		return ""
	case !validEpoch(h.Epoch) || h.Seq == 0 || h.Seq > seqMost:
		return "its number is none"
	case !h.ID.Valid():
		return "it names no message"
	}
	return ""
}

// An envelope is three parts: the header's line, the signature's line (base64)
// and the body. The signature is over domain, header and body.
const domain = "postroom link envelope 1\n"

// opened is an envelope taken apart; nothing is believed yet.
type opened struct {
	Header
	signed []byte // what the signature is over
	sig    []byte
	body   []byte // sealed, if Sealed
}

// seal makes an envelope. for whom: the far station's curve key, "" leaves the
// body readable to the hub.
func (k Keys) seal(h Header, body []byte, curve string) ([]byte, error) {
	h.V = 1
	if curve != "" {
		sealed, err := k.Curve.Seal(body, curve)
		if err != nil {
			return nil, fmt.Errorf("seal: %w", err)
		}
		h.Sealed, body = true, sealed
	}
	head, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	sig, err := k.Sign.Sign(toSign(head, body))
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	out := make([]byte, 0, len(head)+len(body)+len(sig)*2)
	out = append(append(out, head...), '\n')
	out = append(base64.StdEncoding.AppendEncode(out, sig), '\n')
	return append(out, body...), nil
}

func toSign(head, body []byte) []byte {
	out := make([]byte, 0, len(domain)+len(head)+1+len(body))
	out = append(append(append(out, domain...), head...), '\n')
	return append(out, body...)
}

// headMax bounds the header's line.
const headMax = 4096

// open takes an envelope apart. An error means garbage.
func open(data []byte) (opened, error) {
	head, rest, ok := bytes.Cut(data, []byte("\n"))
	line, body, ok2 := bytes.Cut(rest, []byte("\n"))
	if !ok || !ok2 || len(head) > headMax {
		return opened{}, errors.New("it is no envelope")
	}
	o := opened{signed: toSign(head, body), body: body}
	if err := json.Unmarshal(head, &o.Header); err != nil {
		return opened{}, fmt.Errorf("its header does not parse: %w", err)
	}
	if o.V != 1 {
		return opened{}, fmt.Errorf("it has the version %d, and this is 1: update postroom here", o.V)
	}
	var err error
	if o.sig, err = base64.StdEncoding.DecodeString(string(line)); err != nil {
		return opened{}, fmt.Errorf("its signature does not parse: %w", err)
	}
	return o, nil
}

// signedBy reports whether the envelope was signed with a public key.
func (o opened) signedBy(key string) bool {
	pub, err := nkeys.FromPublicKey(key)
	return err == nil && pub.Verify(o.signed, o.sig) == nil
}

// unseal returns the body in clear. curve is the sender's key.
func (o opened) unseal(k Keys, curve string) ([]byte, error) {
	if !o.Sealed {
		return o.body, nil
	}
	body, err := k.Curve.Open(o.body, curve)
	if err != nil {
		return nil, fmt.Errorf("it cannot be unsealed: %w", err)
	}
	return body, nil
}

// Cargo is what the body of a Mail envelope says before the message itself.
type Cargo struct {
	AID        string   `json:"aid"`               // of the author, at home
	Recipients []string `json:"recipients"`        // aids of the far station
	CC         []string `json:"cc,omitempty"`      // likewise
	Channel    string   `json:"channel,omitempty"` // of the sender's office, if `to` is one
}

// pack puts cargo and message into one body.
func pack(c Cargo, message []byte) ([]byte, error) {
	line, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return append(append(line, '\n'), message...), nil
}

// unpack is pack's inverse.
func unpack(body []byte) (c Cargo, message []byte, err error) {
	line, message, ok := bytes.Cut(body, []byte("\n"))
	if !ok {
		return c, nil, errors.New("it has no message")
	}
	err = json.Unmarshal(line, &c)
	return c, message, err
}
