// Package link carries mail between offices: a station is one office's end of
// it (design §14, docs/links.md). What moves envelopes is a Wire; natslink is
// the real one, dirlink (tests) a directory.
//
// Invariants. A message for a far agent is durable in this office before it is
// published, and stays on record as not arrived until the far station's signed
// receipt is here. What comes in is acknowledged to the wire only when it is
// durable here. An envelope counts only with the signature of the station that
// it says it is from, whose key was pinned when it was first seen. Everything
// may be repeated: a repeat changes nothing and is answered with the same
// receipt. A station is no relay: what came in never leaves again.
package link

import (
	"context"
	"errors"
	"time"
)

// Kind says what an envelope carries.
type Kind string

// The kinds of envelope; also the last token of their subject.
const (
	Mail    Kind = "msg"  // one message for one station
	Receipt Kind = "rcpt" // what became of messages, and what is missing
)

// Wire moves envelopes and cards between stations of one team, and promises
// nothing beyond what its methods say: the station above it checks everything.
// Implementations pass linktest.Contract. All methods may be called at the same
// time.
type Wire interface {
	// Publish hands one envelope over for a station and returns at once; the
	// channel then gives exactly one value, nil when the wire has it durably (the
	// hub's acknowledgement). dedup names the attempt: the wire may swallow a second
	// one of the same name from here to that station, and nobody else's. Calls made one after the other keep their order, as a
	// rule and not for certain. Errors: ErrFull (too much waits for that station:
	// later), ErrDown (not connected), ErrRevoked, or anything else, which is tried
	// again. Without an answer for half a minute it gives an error.
	Publish(to string, kind Kind, dedup string, data []byte) <-chan error
	// Receive calls take with what has come in for this station, at most 64 at
	// once and one call after the other, until ctx ends. What is not acknowledged
	// comes again, also after a crash.
	Receive(ctx context.Context, take func([]Parcel)) error
	// PutCard publishes this station's card in place of the one before.
	PutCard(ctx context.Context, data []byte) error
	// Cards returns the newest card of every station, this one's too, by name.
	Cards(ctx context.Context) (map[string]Card, error)
	// Changed is sent to, without waiting, when a card or State may have changed.
	Changed() <-chan struct{}
	// State says whether the wire is up, and since when.
	State() State
	// Close gives back what was fetched and not acknowledged.
	Close() error
}

// Card is what the wire has about one station.
type Card struct {
	Data    []byte // as its station signed it
	Revoked bool   // the hub has thrown the station out
	// RevokedKey is the key that is refused since; "" if the wire does not say.
	RevokedKey string
}

// Parcel is one envelope that came in. Exactly one of Ack, Nak and Term is
// called; without one it comes again.
type Parcel interface {
	Data() []byte
	// From is the station that the wire knows it from; the signature has to agree.
	From() string
	// Ack: it is durable here. It returns when the wire knows, or ctx ends; then
	// it may come again.
	Ack(ctx context.Context) error
	// Nak: not now; it comes again after about delay.
	Nak(delay time.Duration)
	// Term: never again, because of reason (one line).
	Term(reason string)
}

// State is how a wire is.
type State struct {
	Up    bool
	Since time.Time // when it became so
	Why   string    // of being down, one line; "" when up
	Hub   string    // where it is connected, or tries to
}

// What Publish may return.
var (
	ErrFull    = errors.New("too much waits for that station already")
	ErrDown    = errors.New("the link is down")
	ErrRevoked = errors.New("this station was revoked")
)
