package link

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/station"
)

// heldDir has, by station, envelopes that came in behind a gap, as they came:
// <epoch>.<number>. They are this station's by then.
const heldDir = station.Dir + "/held"

// heldMost bounds how many are held of one station; more wait at the hub.
const heldMost = 2000

// heldBytes bounds the same by size.
const heldBytes = 64 << 20

// envelopeMax bounds an envelope, in bytes.
const envelopeMax = 2 << 20

func (p *peer) heldDir() string { return heldDir + "/" + p.Station }

func heldName(epoch string, seq uint64) string { return fmt.Sprintf("%s.%012d", epoch, seq) }

// hold keeps an envelope until what is missing before it is here.
func (e *engine) hold(p *peer, c *coming) error {
	if c.env.Epoch > p.heldOf && len(p.held) > 0 {
		if err := e.giveUp(p); err != nil { // the epoch before will not be completed
			return err
		}
	}
	if len(p.held) == 0 {
		p.heldOf, p.heldAt, p.heldSize = c.env.Epoch, e.mono(), 0
	}
	if p.held[c.env.Seq] != "" {
		return nil
	}
	if err := makeDirs(e.fs(), station.Dir, heldDir, p.heldDir()); err != nil {
		return err
	}
	name := heldName(c.env.Epoch, c.env.Seq)
	if err := replaceDurably(e.fs(), p.heldDir(), name, c.parcel.Data()); err != nil {
		return err
	}
	p.held[c.env.Seq] = name
	p.heldSize += len(c.parcel.Data())
	return nil
}

func (e *engine) loadHeld(p *peer) error {
	names, err := e.fs().ReadNames(p.heldDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, n := range names {
		epoch, number, ok := strings.Cut(n, ".")
		seq, perr := strconv.ParseUint(number, 10, 64)
		if !ok || perr != nil || spool.Hidden(n) {
			continue
		}
		if epoch > p.heldOf {
			p.heldOf, p.held = epoch, map[uint64]string{}
		}
		if epoch == p.heldOf {
			p.held[seq] = n
		}
	}
	p.heldAt = e.mono()
	return err
}

// release accepts what is held and due by now, and asks for what is missing.
func (e *engine) release(p *peer) {
	if len(p.held) > 0 && p.heldOf < p.in.epoch { // the next sequence began: what is missing of this one is not waited for
		if err := e.giveUp(p); err != nil {
			e.cannotStore(p, err)
			return
		}
	}
	for len(p.held) > 0 {
		due := uint64(1)
		if p.heldOf == p.in.epoch {
			due = p.in.upto + 1
		}
		maps.DeleteFunc(p.held, func(seq uint64, name string) bool { // it came another way
			old := seq < due
			if old {
				e.fs().Remove(p.heldDir() + "/" + name)
			}
			return old
		})
		var run []uint64
		for ; p.held[due] != "" && len(run) < 64; due++ {
			run = append(run, due)
		}
		if len(run) == 0 {
			if len(p.held) == 0 || e.mono().Sub(p.heldAt) <= e.times.Hold {
				break
			}
			if err := e.skip(p); err != nil {
				e.cannotStore(p, err)
				break
			}
			continue
		}
		if err := e.acceptHeld(p, run); err != nil {
			e.cannotStore(p, err)
			break
		}
		p.heldAt = e.mono()
	}
	if now := e.mono(); len(p.held) > 0 && now.Sub(p.heldAt) >= e.times.Ask && now.Sub(p.asked) >= 20*e.times.Ask {
		p.asked, p.sayHave = now, true
	}
}

// skip ends waiting for what is missing before the first that is held.
func (e *engine) skip(p *peer) error {
	first := slices.Min(slices.Collect(maps.Keys(p.held)))
	if err := p.inLog.append(entry{Epoch: p.heldOf, Skip: first - 1}); err != nil {
		return err
	}
	p.in.note(entry{Epoch: p.heldOf, Skip: first - 1})
	e.alarm(p.Station, fmt.Sprintf("mail of it is missing before number %d and did not come within %v: what came after it is delivered without it, and it will follow out of order", first, e.times.Hold))
	return nil
}

// giveUp accepts all that is held, in order.
func (e *engine) giveUp(p *peer) error {
	for len(p.held) > 0 {
		all := slices.Sorted(maps.Keys(p.held))
		if err := e.acceptHeld(p, all[:min(len(all), 64)]); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) acceptHeld(p *peer, seqs []uint64) error {
	var list []*coming
	for _, seq := range seqs {
		name := p.held[seq]
		data, _, err := spool.ReadFile(e.fs(), p.heldDir()+"/"+name, envelopeMax)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		env, err := open(data)
		if err != nil || env.Seq != seq { // its signature was checked when it came in
			e.alarm(p.Station, "an envelope that was held cannot be read any more: link/held/"+p.Station+"/"+name)
			delete(p.held, seq)
			continue
		}
		list = append(list, &coming{peer: p, env: env, held: name})
	}
	var failed error
	for _, c := range e.accept(list) {
		if c.err != nil {
			failed = c.err
			continue
		}
		delete(p.held, c.env.Seq)
		if err := e.fs().Remove(p.heldDir() + "/" + c.held); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return failed
}
