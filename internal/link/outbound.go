package link

import (
	"github.com/postroom/postroom/internal/mail"
)

// outbound is the sequence of the mail to one far station. Its ledger is
// link/out/<station>.jsonl.
type outbound struct {
	epoch  string
	past   map[string]bool // all epochs that there were
	last   uint64
	have   uint64             // up to where the far station said it has all of this epoch
	haveAt int64              // when it said so
	seqs   map[mail.ID]uint64 // of what has not arrived
	sent   map[uint64]bool    // what the hub took, as read from the ledger
}

// note takes an entry of the ledger; keep says whose number is still wanted.
func (o *outbound) note(e entry, keep func(mail.ID) bool) {
	switch {
	case e.Epoch != "":
		o.epoch, o.last, o.have, o.seqs, o.sent = e.Epoch, 0, 0, map[mail.ID]uint64{}, map[uint64]bool{}
		if o.past == nil {
			o.past = map[string]bool{}
		}
		o.past[e.Epoch] = true
	case e.Sent > 0:
		o.sent[e.Sent] = true
	case e.Have > o.have:
		o.have, o.haveAt = e.Have, max(o.haveAt, e.HaveAt)
	case e.Seq > 0:
		o.last = max(o.last, e.Seq)
		if keep(e.ID) {
			o.seqs[e.ID] = e.Seq
		}
	}
}

// forget drops what the hub took of what has arrived.
func (o *outbound) forget() {
	wanted := map[uint64]bool{}
	for _, seq := range o.seqs {
		wanted[seq] = o.sent[seq]
	}
	o.sent = wanted
}

// Have is what a far station says of the sequence that it receives.
type Have struct {
	Epoch   string   `json:"epoch"`
	Upto    uint64   `json:"upto"`              // it has all up to here
	Missing []uint64 `json:"missing,omitempty"` // what it waits for
	Before  string   `json:"before,omitempty"`  // the epoch before this one
	At      int64    `json:"at"`                // Unix ms; grows from one to the next, since reports may come again
	// Clash: a number came again with another message, so the sender was set back.
	Clash bool `json:"clash,omitempty"`
}

// answer is what a Have calls for.
type answer struct {
	again   []uint64 // send these again
	recall  uint64   // the far station has lost all behind Upto, of which it had up to here
	restart bool     // this office was set back: a new epoch has to begin
	forgot  bool     // this office was set back to before it began the present one
}

// hear judges a Have. known is false for an epoch that is over.
func (o *outbound) hear(h Have) (a answer, known bool) {
	if h.Epoch > o.epoch { // one that this office forgot
		return answer{restart: true}, true
	}
	if h.Epoch != o.epoch || o.epoch == "" {
		return a, false
	}
	a.again = h.Missing
	a.forgot = h.Before != "" && !o.past[h.Before]
	switch {
	case h.Clash || h.Upto > o.last:
		a.restart = true
	case h.Upto < o.have && h.At > o.haveAt:
		a.recall = o.have
	}
	o.haveAt = max(o.haveAt, h.At)
	return a, true
}
