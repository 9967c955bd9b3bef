package verify

import (
	"encoding/hex"
	"iter"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// Book is what the journal says about messages and deliveries, small enough to
// hold for a million of them.
type Book struct {
	messages   paged[message]
	deliveries paged[delivery]
	slots      []uint32 // open hash table: 1 + place in messages
	aids       []string
	places     map[string]uint32 // aid → place in aids
	conflicts  []Finding
	last       journal.Record // N and At only
	settled    uint64         // number of the last settled record
}

type message struct {
	key    key
	digest [32]byte // of the message file; zero while no record named it
	n      uint32   // the record that named the digest first
	first  uint32   // 1 + place of the first delivery; 0 is none
	known  bool     // digest is set
}

type delivery struct {
	seq     uint64
	n       uint32 // the record
	next    uint32 // 1 + place of the next delivery of the same message
	aid     uint32
	done    bool // its owner's receipt says so
	indexed bool
}

// Load reads from the journal what was delivered to whom and what was done.
// A line that cannot be read is passed over, and is an error (KindCorrupt) that
// comes with the rest of the book.
func Load(fsys vfs.FS) (*Book, error) {
	b := &Book{}
	err := journal.EachMatching(fsys, time.Time{}, []byte(`"event":"d`), func(r journal.Record) error {
		b.add(r)
		return nil
	})
	return b, err
}

// Delivery is one delivery as the journal has it.
type Delivery struct {
	ID     mail.ID
	AID    string
	Seq    uint64
	Record uint64
	Digest mail.Digest
	Done   bool // its owner's folded receipt says that it is handled
}

// Deliveries yields every delivery, in the order of the messages' first
// mention.
func (b *Book) Deliveries() iter.Seq[Delivery] {
	return func(yield func(Delivery) bool) {
		for i := range b.messages.len() {
			m := b.messages.at(i)
			for d := range b.of(m) {
				if !yield(Delivery{m.key.id(), b.aids[d.aid], d.seq, uint64(d.n), digestText(m.digest), d.done}) {
					return
				}
			}
		}
	}
}

// Take looks up the delivery that an index line is about, and remembers that a
// line was seen: again says that there was one before.
func (b *Book) Take(id mail.ID, aid string) (d Delivery, known, again bool) {
	m := b.find(id)
	x := b.delivery(m, aid)
	if x == nil {
		return d, false, false
	}
	again, x.indexed = x.indexed, true
	return Delivery{id, aid, x.seq, uint64(x.n), digestText(m.digest), x.done}, true, again
}

// of yields a message's deliveries in the order of the journal.
func (b *Book) of(m *message) iter.Seq[*delivery] {
	return func(yield func(*delivery) bool) {
		for at := m.first; at != 0; at = b.deliveries.at(int(at - 1)).next {
			if !yield(b.deliveries.at(int(at - 1))) {
				return
			}
		}
	}
}

// add takes in one record.
func (b *Book) add(r journal.Record) {
	b.last.N, b.last.At = r.N, r.At
	if r.Event == journal.Settled {
		b.settled = r.N
	}
	k, ok := keyOf(r.ID)
	if !ok {
		return
	}
	switch r.Event {
	case journal.Delivered, journal.Escalated, journal.Bounced, journal.Deferred:
		m := b.message(k, true)
		b.setDigest(m, r)
		if r.Event == journal.Delivered {
			b.deliver(m, r)
		}
	case journal.Done, journal.Arrived, journal.Refused: // the last two are the link's, of a far agent's mailbox
		if m := b.message(k, false); m != nil {
			if d := b.delivery(m, r.AID); d != nil {
				d.done = true
			}
		}
	}
}

func (b *Book) setDigest(m *message, r journal.Record) {
	digest, ok := digestBytes(r.Digest)
	switch {
	case !ok:
	case !m.known:
		m.digest, m.known, m.n = digest, true, uint32(r.N)
	case m.digest != digest:
		b.conflicts = append(b.conflicts, Finding{Check: Chain, Where: journal.Dir, ID: r.ID, Record: r.N,
			Text: "the journal gives " + string(r.ID) + " two digests"})
	}
}

func (b *Book) deliver(m *message, r journal.Record) {
	if b.delivery(m, r.AID) != nil {
		b.conflicts = append(b.conflicts, Finding{Check: Chain, Where: journal.Dir, ID: r.ID, Agent: r.Agent, Record: r.N,
			Text: string(r.ID) + " was delivered to " + mail.Neutralise(r.Agent, false) + " twice"})
		return
	}
	at := &m.first
	for *at != 0 {
		at = &b.deliveries.at(int(*at - 1)).next
	}
	b.deliveries.add(delivery{seq: r.Seq, n: uint32(r.N), aid: b.agent(r.AID)})
	*at = uint32(b.deliveries.len())
}

func (b *Book) agent(aid string) uint32 {
	at, ok := b.places[aid]
	if !ok {
		if b.places == nil {
			b.places = map[string]uint32{}
		}
		at = uint32(len(b.aids))
		b.aids, b.places[aid] = append(b.aids, aid), at
	}
	return at
}

// delivery finds the delivery of m to an agent; nil if there was none.
func (b *Book) delivery(m *message, aid string) *delivery {
	at, ok := b.places[aid]
	if !ok || m == nil {
		return nil
	}
	for d := range b.of(m) {
		if d.aid == at {
			return d
		}
	}
	return nil
}

// find looks a message up; nil if the journal does not know it.
func (b *Book) find(id mail.ID) *message {
	k, ok := keyOf(id)
	if !ok {
		return nil
	}
	return b.message(k, false)
}

// message finds a message's place, making it if wanted.
func (b *Book) message(k key, create bool) *message {
	if 4*(b.messages.len()+1) > 3*len(b.slots) {
		b.grow()
	}
	for i := k.hash(); ; i++ {
		slot := &b.slots[i&uint32(len(b.slots)-1)]
		switch {
		case *slot != 0 && b.messages.at(int(*slot-1)).key == k:
			return b.messages.at(int(*slot - 1))
		case *slot != 0:
		case create:
			m := b.messages.add(message{key: k})
			*slot = uint32(b.messages.len())
			return m
		default:
			return nil
		}
	}
}

func (b *Book) grow() {
	b.slots = make([]uint32, max(1024, 2*len(b.slots)))
	for at := range b.messages.len() {
		for i := b.messages.at(at).key.hash(); ; i++ {
			if slot := &b.slots[i&uint32(len(b.slots)-1)]; *slot == 0 {
				*slot = uint32(at + 1)
				break
			}
		}
	}
}

func digestBytes(d mail.Digest) (out [32]byte, ok bool) {
	if !d.Valid() {
		return out, false
	}
	hex.Decode(out[:], []byte(d)) // checked above
	return out, true
}

func digestText(d [32]byte) mail.Digest { return mail.Digest(hex.EncodeToString(d[:])) }
