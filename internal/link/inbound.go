package link

import (
	"maps"
	"slices"

	"github.com/postroom/postroom/internal/mail"
)

// inbound is what is known of the sequence in which a far station's mail comes
// in. It is pure; its ledger is link/in/<station>.jsonl.
type inbound struct {
	epoch  string
	before string             // the epoch before, "" if there was none
	upto   uint64             // all of the epoch up to here is in
	beyond map[uint64]mail.ID // what came in behind a gap
	given  []span             // what of the epoch was no longer waited for; it may come yet
	// digests of what came in lately, as its author's office has them.
	digests map[mail.ID]mail.Digest
	recent  []mail.ID // of digests, oldest first
}

// span is a run of numbers.
type span struct{ first, last uint64 }

// recentMax bounds digests, givenMax what was given up.
const (
	recentMax = 5000
	givenMax  = 1000
)

// place is where an envelope stands in the sequence.
type place int

const (
	next  place = iota // the one that is due
	ahead              // something is missing before it
	seen               // its number is taken: by itself, or the far station was set back
	stray              // of an epoch that is over
)

// judge says where a number stands. A later epoch begins anew.
func (in *inbound) judge(epoch string, seq uint64) place {
	switch {
	case epoch < in.epoch:
		return stray
	case epoch > in.epoch:
		if seq == 1 {
			return next
		}
		return ahead
	case seq <= in.upto || in.beyond[seq] != "":
		return seen
	case seq == in.upto+1:
		return next
	}
	return ahead
}

// note takes an entry of the ledger.
func (in *inbound) note(e entry) {
	if e.Epoch > in.epoch {
		in.before, in.epoch, in.upto, in.beyond, in.given = in.epoch, e.Epoch, 0, nil, nil
	}
	if e.ID != "" {
		in.remember(e.ID, e.Digest)
	}
	if e.Epoch != in.epoch {
		return
	}
	if e.Skip > in.upto {
		in.given = append(in.given, span{in.upto + 1, e.Skip})
		in.given = in.given[max(0, len(in.given)-givenMax):]
		in.upto = e.Skip
	}
	if e.Seq > in.upto {
		if in.beyond == nil {
			in.beyond = map[uint64]mail.ID{}
		}
		in.beyond[e.Seq] = e.ID
	}
	maps.DeleteFunc(in.beyond, func(seq uint64, _ mail.ID) bool { return seq <= in.upto })
	for in.beyond[in.upto+1] != "" {
		delete(in.beyond, in.upto+1)
		in.upto++
	}
}

func (in *inbound) remember(id mail.ID, d mail.Digest) {
	if in.digests == nil {
		in.digests = map[mail.ID]mail.Digest{}
	}
	if _, known := in.digests[id]; !known {
		in.recent = append(in.recent, id)
	}
	in.digests[id] = d
	if len(in.recent) > recentMax {
		delete(in.digests, in.recent[0])
		in.recent = in.recent[1:]
	}
}

// missing lists the numbers up to the greatest of held that did not come, at
// most limit.
func (in *inbound) missing(epoch string, held []uint64, limit int) (out []uint64) {
	if len(held) == 0 {
		return nil
	}
	from := in.upto + 1
	if epoch > in.epoch {
		from = 1
	}
	for seq := from; seq < slices.Max(held) && len(out) < limit; seq++ {
		if (epoch > in.epoch || in.beyond[seq] == "") && !slices.Contains(held, seq) {
			out = append(out, seq)
		}
	}
	return out
}

// knows reports whether a message came in lately.
func (in *inbound) knows(id mail.ID) bool {
	_, known := in.digests[id]
	return known
}

// gaveUp reports whether a number of the epoch was no longer waited for.
func (in *inbound) gaveUp(seq uint64) bool {
	return slices.ContainsFunc(in.given, func(s span) bool { return s.first <= seq && seq <= s.last })
}

// sketch is a copy to try numbers on, without the messages.
func (in *inbound) sketch() *inbound {
	return &inbound{epoch: in.epoch, upto: in.upto, beyond: maps.Clone(in.beyond)}
}
