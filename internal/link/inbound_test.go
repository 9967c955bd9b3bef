package link

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/postroom/postroom/internal/mail"
)

func id(n uint64) mail.ID { return mail.ID(fmt.Sprintf("2026-05-30T14-03-11-123Z-%04d-0123abcd", n)) }

// TestJudge is the sequence by example.
func TestJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		had   []entry
		epoch string
		seq   uint64
		want  place
	}{
		{"the very first", nil, "e-1", 1, next},
		{"the first seen is not the first", nil, "e-1", 3, ahead},
		{"next", []entry{{Epoch: "e-1", Seq: 1, ID: id(1)}}, "e-1", 2, next},
		{"again", []entry{{Epoch: "e-1", Seq: 1, ID: id(1)}}, "e-1", 1, seen},
		{"a gap", []entry{{Epoch: "e-1", Seq: 1, ID: id(1)}}, "e-1", 3, ahead},
		{"behind a gap, again", []entry{{Epoch: "e-1", Seq: 3, ID: id(3)}}, "e-1", 3, seen},
		{"into the gap", []entry{{Epoch: "e-1", Seq: 2, ID: id(2)}}, "e-1", 1, next},
		{"a new epoch", []entry{{Epoch: "e-1", Seq: 9, ID: id(9)}}, "e-2", 1, next},
		{"the middle of a new epoch", []entry{{Epoch: "e-1", Seq: 1, ID: id(1)}}, "e-2", 2, ahead},
		{"an epoch that is over", []entry{{Epoch: "e-2", Seq: 1, ID: id(1)}}, "e-1", 7, stray},
		{"behind what was given up", []entry{{Epoch: "e-1", Skip: 4}}, "e-1", 5, next},
		{"what was given up", []entry{{Epoch: "e-1", Skip: 4}}, "e-1", 3, seen},
	} {
		var in inbound
		for _, e := range c.had {
			in.note(e)
		}
		if got := in.judge(c.epoch, c.seq); got != c.want {
			t.Errorf("%s: %v, not %v", c.name, got, c.want)
		}
	}
}

// TestInboundOrder: in whatever order and how often a sequence comes in, what is
// accepted by the rule "next only, hold the rest" is 1, 2, 3 … once each.
func TestInboundOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(1, 30).Draw(t, "n")
		var in inbound
		held := map[uint64]bool{}
		var accepted []uint64
		accept := func(seq uint64) {
			accepted = append(accepted, seq)
			in.note(entry{Epoch: "e-1", Seq: seq, ID: id(seq)})
		}
		come := func(seq uint64) {
			switch in.judge("e-1", seq) {
			case next:
				accept(seq)
			case ahead:
				held[seq] = true
			}
			for held[in.upto+1] {
				accept(in.upto + 1)
			}
		}
		for _, seq := range rapid.SliceOfN(rapid.Uint64Range(1, n), 0, 60).Draw(t, "arrivals") {
			come(seq)
			if m := in.missing("e-1", keysOf(held), 100); len(m) > 0 && m[0] != in.upto+1 {
				t.Fatalf("missing %v after %d", m, in.upto)
			}
		}
		for seq := range n { // what was lost comes again at last
			come(seq + 1)
		}
		for i, seq := range accepted {
			if seq != uint64(i)+1 {
				t.Fatalf("accepted %v", accepted)
			}
		}
		if in.upto != n || len(in.beyond) > 0 {
			t.Fatalf("%d of %d, beyond %v", in.upto, n, in.beyond)
		}
	})
}

func keysOf(m map[uint64]bool) (out []uint64) {
	for k := range m {
		out = append(out, k)
	}
	return out
}

// TestHear is what a far station's word about our sequence calls for.
func TestHear(t *testing.T) {
	t.Parallel()
	keep := func(mail.ID) bool { return true }
	for _, c := range []struct {
		name    string
		had     []entry
		says    Have
		restart bool
		recall  uint64
		known   bool
	}{
		{"all is well", []entry{{Epoch: "e-2"}, {Seq: 1, ID: id(1)}, {Have: 1}}, Have{Epoch: "e-2", Upto: 1}, false, 0, true},
		{"it has more", []entry{{Epoch: "e-2"}, {Seq: 2, ID: id(2)}, {Have: 1}}, Have{Epoch: "e-2", Upto: 2}, false, 0, true},
		{"it was set back", []entry{{Epoch: "e-2"}, {Seq: 9, ID: id(9)}, {Have: 9}}, Have{Epoch: "e-2", Upto: 4, At: 7}, false, 9, true},
		{"it said so long ago", []entry{{Epoch: "e-2"}, {Seq: 9, ID: id(9)}, {Have: 9, HaveAt: 7}}, Have{Epoch: "e-2", Upto: 4, At: 7}, false, 0, true},
		{"we were set back", []entry{{Epoch: "e-2"}, {Seq: 3, ID: id(3)}}, Have{Epoch: "e-2", Upto: 5}, true, 0, true},
		{"a number stands for two", []entry{{Epoch: "e-2"}, {Seq: 3, ID: id(3)}}, Have{Epoch: "e-2", Upto: 3, Clash: true}, true, 0, true},
		{"an epoch that we forgot", []entry{{Epoch: "e-2"}, {Seq: 3, ID: id(3)}}, Have{Epoch: "e-3", Upto: 1}, true, 0, true},
		{"we forgot everything", nil, Have{Epoch: "e-3", Upto: 1}, true, 0, true},
		{"an epoch that is over", []entry{{Epoch: "e-2"}}, Have{Epoch: "e-1", Upto: 9}, false, 0, false},
	} {
		var o outbound
		for _, e := range c.had {
			o.note(e, keep)
		}
		a, known := o.hear(c.says)
		if a.restart != c.restart || a.recall != c.recall || known != c.known {
			t.Errorf("%s: %+v %v", c.name, a, known)
		}
	}
}
