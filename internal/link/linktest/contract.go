package linktest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/link"
)

// Network is one team's wire under test.
type Network interface {
	// Wire connects a station that may use the wire; again for one that was closed.
	Wire(t *testing.T, station string) link.Wire
}

// Optional abilities of a Network.
type (
	// Cutter can cut a station off.
	Cutter interface {
		SetDown(t *testing.T, station string, down bool)
	}
	// Revoker can throw a station out.
	Revoker interface {
		Revoke(t *testing.T, station string)
	}
)

// patience is how long anything may take; a test that passes never waits for it.
const patience = 20 * time.Second

// Contract is what every wire keeps. open makes a network with nothing on it.
func Contract(t *testing.T, open func(t *testing.T) Network) {
	t.Run("one envelope", func(t *testing.T) { t.Parallel(); one(t, open(t)) })
	t.Run("order and number", func(t *testing.T) { t.Parallel(); many(t, open(t)) })
	t.Run("kept for who is not there", func(t *testing.T) { t.Parallel(); absent(t, open(t)) })
	t.Run("unanswered comes again", func(t *testing.T) { t.Parallel(); unanswered(t, open(t)) })
	t.Run("nak and term", func(t *testing.T) { t.Parallel(); nakTerm(t, open(t)) })
	t.Run("dedup", func(t *testing.T) { t.Parallel(); dedup(t, open(t)) })
	t.Run("large", func(t *testing.T) { t.Parallel(); large(t, open(t)) })
	t.Run("cards", func(t *testing.T) { t.Parallel(); cards(t, open(t)) })
	t.Run("cut off", func(t *testing.T) { t.Parallel(); cut(t, open(t)) })
	t.Run("revoked", func(t *testing.T) { t.Parallel(); revoked(t, open(t)) })
}

// got collects what a wire receives until the test ends.
type got struct {
	t  *testing.T
	ch chan link.Parcel
}

func receive(t *testing.T, w link.Wire) *got {
	t.Helper()
	g := &got{t: t, ch: make(chan link.Parcel, 10000)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := w.Receive(ctx, func(ps []link.Parcel) {
			if len(ps) > 64 || len(ps) == 0 {
				t.Errorf("a batch of %d", len(ps))
			}
			for _, p := range ps {
				g.ch <- p
			}
		}); err != nil && ctx.Err() == nil {
			t.Errorf("receive: %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return g
}

func (g *got) next() link.Parcel {
	g.t.Helper()
	select {
	case p := <-g.ch:
		return p
	case <-time.After(patience):
		g.t.Fatal("nothing came")
		return nil
	}
}

// quiet checks that nothing comes for a while.
func (g *got) quiet(d time.Duration) {
	g.t.Helper()
	select {
	case p := <-g.ch:
		g.t.Fatalf("unexpected: %q", p.Data())
	case <-time.After(d):
	}
}

func publish(t *testing.T, w link.Wire, to, dedup, data string) {
	t.Helper()
	if err := <-w.Publish(to, link.Mail, dedup, []byte(data)); err != nil {
		t.Fatalf("publish %s: %v", dedup, err)
	}
}

func ack(t *testing.T, p link.Parcel) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.Ack(ctx); err != nil {
		t.Fatalf("ack: %v", err)
	}
}

func one(t *testing.T, n Network) {
	a, b := n.Wire(t, "a"), n.Wire(t, "b")
	in := receive(t, b)
	publish(t, a, "b", "m1", "hello")
	p := in.next()
	if string(p.Data()) != "hello" || p.From() != "a" {
		t.Errorf("%q from %q", p.Data(), p.From())
	}
	ack(t, p)
	if err := <-a.Publish("b", link.Receipt, "r1", []byte("receipt")); err != nil {
		t.Fatal(err)
	}
	if p := in.next(); string(p.Data()) != "receipt" {
		t.Errorf("%q", p.Data())
	} else {
		ack(t, p)
	}
}

func many(t *testing.T, n Network) {
	a, b := n.Wire(t, "a"), n.Wire(t, "b")
	const count = 500
	var pending []<-chan error
	for i := range count {
		pending = append(pending, a.Publish("b", link.Mail, fmt.Sprint("m", i), []byte(fmt.Sprint(i))))
	}
	for i, c := range pending {
		if err := <-c; err != nil {
			t.Fatalf("publish %d: %v", i, err)
		}
	}
	in := receive(t, b)
	for i := range count {
		p := in.next()
		if string(p.Data()) != fmt.Sprint(i) {
			t.Fatalf("%q came as number %d", p.Data(), i)
		}
		ack(t, p)
	}
}

func absent(t *testing.T, n Network) {
	b := n.Wire(t, "b") // joined once, then gone
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	publish(t, n.Wire(t, "a"), "b", "m1", "kept")
	p := receive(t, n.Wire(t, "b")).next()
	if string(p.Data()) != "kept" {
		t.Errorf("%q", p.Data())
	}
	ack(t, p)
}

func unanswered(t *testing.T, n Network) {
	a, b := n.Wire(t, "a"), n.Wire(t, "b")
	publish(t, a, "b", "m1", "again")
	ctx, cancel := context.WithCancel(context.Background())
	taken := make(chan struct{}, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.Receive(ctx, func([]link.Parcel) { taken <- struct{}{} })
	}()
	select {
	case <-taken:
	case <-time.After(patience):
		t.Fatal("nothing came")
	}
	cancel()
	<-done
	b.Close() // gives back what nobody answered
	p := receive(t, n.Wire(t, "b")).next()
	if string(p.Data()) != "again" {
		t.Errorf("%q", p.Data())
	}
	ack(t, p)
}

func nakTerm(t *testing.T, n Network) {
	a, b := n.Wire(t, "a"), n.Wire(t, "b")
	in := receive(t, b)
	publish(t, a, "b", "m1", "later")
	in.next().Nak(50 * time.Millisecond)
	publish(t, a, "b", "m2", "behind it")
	seen := map[string]int{}
	for len(seen) < 2 {
		p := in.next()
		seen[string(p.Data())]++
		if string(p.Data()) == "later" {
			p.Term("garbage")
		} else {
			ack(t, p)
		}
	}
	in.quiet(500 * time.Millisecond)
}

func dedup(t *testing.T, n Network) {
	a, b := n.Wire(t, "a"), n.Wire(t, "b")
	in := receive(t, b)
	publish(t, a, "b", "m1", "first")
	publish(t, a, "b", "m1", "second")
	publish(t, a, "b", "m1#2", "third")
	for _, want := range []string{"first", "third"} {
		p := in.next()
		if string(p.Data()) != want {
			t.Errorf("%q, not %q", p.Data(), want)
		}
		ack(t, p)
	}
	// One message for two stations, and another station's of the same name.
	c := n.Wire(t, "c")
	publish(t, a, "c", "m1", "for another")
	publish(t, b, "c", "m1", "from another")
	other := receive(t, c)
	for _, want := range []string{"for another", "from another"} {
		p := other.next()
		if string(p.Data()) != want {
			t.Errorf("%q, not %q", p.Data(), want)
		}
		ack(t, p)
	}
}

func large(t *testing.T, n Network) {
	a, b := n.Wire(t, "a"), n.Wire(t, "b")
	data := make([]byte, 1<<20+8<<10) // a message of the greatest size, in its envelope
	for i := range data {
		data[i] = byte(i * 7)
	}
	publish(t, a, "b", "m1", string(data))
	p := receive(t, b).next()
	if string(p.Data()) != string(data) {
		t.Error("a large envelope came out different")
	}
	ack(t, p)
}

func cards(t *testing.T, n Network) {
	ctx := context.Background()
	a, b := n.Wire(t, "a"), n.Wire(t, "b")
	for _, text := range []string{"card 1", "card 2"} {
		if err := a.PutCard(ctx, []byte(text)); err != nil {
			t.Fatal(err)
		}
		await(t, b, func() bool {
			all, err := b.Cards(ctx)
			return err == nil && string(all["a"].Data) == text && !all["a"].Revoked
		})
	}
}

// await waits until a wire's change makes it true.
func await(t *testing.T, w link.Wire, is func() bool) {
	t.Helper()
	late := time.After(patience)
	for !is() {
		select {
		case <-w.Changed():
		case <-time.After(50 * time.Millisecond): // a change may have been told before
		case <-late:
			t.Fatal("it never became so")
		}
	}
}

func cut(t *testing.T, n Network) {
	c, ok := n.(Cutter)
	if !ok {
		t.Skip("this wire cannot be cut off here")
	}
	a, b := n.Wire(t, "a"), n.Wire(t, "b")
	in := receive(t, b)
	c.SetDown(t, "a", true)
	await(t, a, func() bool { return !a.State().Up })
	if s := a.State(); s.Why == "" || s.Since.IsZero() {
		t.Errorf("down without a reason: %+v", s)
	}
	if err := <-a.Publish("b", link.Mail, "m1", []byte("cut")); err == nil {
		t.Error("published while cut off")
	}
	c.SetDown(t, "a", false)
	await(t, a, func() bool { return a.State().Up })
	publish(t, a, "b", "m1#2", "back")
	p := in.next()
	for string(p.Data()) == "cut" { // an error is no promise that it went nowhere
		ack(t, p)
		p = in.next()
	}
	if string(p.Data()) != "back" {
		t.Errorf("%q", p.Data())
	}
	ack(t, p)
}

func revoked(t *testing.T, n Network) {
	r, ok := n.(Revoker)
	if !ok {
		t.Skip("nobody can be revoked here")
	}
	a, b := n.Wire(t, "a"), n.Wire(t, "b")
	if err := a.PutCard(context.Background(), []byte("card")); err != nil {
		t.Fatal(err)
	}
	r.Revoke(t, "a")
	await(t, a, func() bool { return !a.State().Up })
	if err := <-a.Publish("b", link.Mail, "m1", []byte("out")); err == nil {
		t.Error("a revoked station published")
	}
	await(t, b, func() bool {
		all, err := b.Cards(context.Background())
		return err == nil && all["a"].Revoked
	})
	receive(t, b).quiet(200 * time.Millisecond)
}
